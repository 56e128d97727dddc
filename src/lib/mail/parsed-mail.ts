import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Email } from 'postal-mime'

/** The longest time for one message, in milliseconds, and the memory, in MiB. */
const MAX_MS = 20_000
const MAX_MEMORY = 256
/** Parts within parts. */
const MAX_DEPTH = 20
const MAX_HEADER_BYTES = 512 * 1024

/** What the thread runs. */
const PROGRAM = `const { parentPort, workerData } = require('node:worker_threads')
const { default: PostalMime } = require(workerData.parser)
PostalMime.parse(workerData.source, workerData.options).then((mail) => parentPort.postMessage(mail))`

/** A message is no mail, or takes too long. */
export class UnreadableMail extends Error {
  override name = 'UnreadableMail'
}

/**
 * Parses the source of a mail in a thread of its own, so that a large or odd one holds up nothing and ends in time.
 * Throws an UnreadableMail.
 */
export function parseMail(source: Uint8Array): Promise<Email> {
  const parser = createRequire(import.meta.url).resolve('postal-mime')
  const options = { maxNestingDepth: MAX_DEPTH, maxHeadersSize: MAX_HEADER_BYTES }
  const worker = new Worker(PROGRAM, {
    eval: true,
    workerData: { parser, source, options },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY },
  })
  return new Promise<Email>((resolve, reject) => {
    const timer = setTimeout(() => reject(new UnreadableMail('it takes too long to read')), MAX_MS)
    worker.once('message', (mail: Email) => resolve(mail))
    worker.once('error', (error) => reject(new UnreadableMail('it cannot be read', { cause: error })))
    worker.once('exit', () => {
      clearTimeout(timer)
      reject(new UnreadableMail('it cannot be read'))
    })
  }).finally(() => worker.terminate())
}
