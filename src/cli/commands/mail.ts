import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import { StartFault } from '../../lib/start-fault.js'
import { withContext } from '../context.js'
import { print } from '../output.js'

/** Exit codes of sysexits.h, which mail servers know: the message is bad, or is to be tried again later. */
const EX_DATAERR = 65
const EX_TEMPFAIL = 75

export function mailCommand(program: Command): void {
  program
    .command('mail')
    .summary('take an answer to a mail from standard input')
    .description(
      'Read a mail from standard input and make a comment of it, for an alias of a mail server. The exit code is 75 if it is to be tried again later.',
    )
    .argument('[recipients...]', 'the addresses that the mail server has it for, in addition to those in its headers')
    .action(async (recipients: string[]) => {
      try {
        await withContext(readConfig(), async (ctx) => {
          const { MAX_MESSAGE_BYTES, receiveMail } = await import('../../services/mail/replies/receive.js')
          const source = await readInput(MAX_MESSAGE_BYTES)
          if (source === null) {
            process.exitCode = EX_DATAERR
            return print('the message is too large\n')
          }
          const outcome = await receiveMail(ctx, source, recipients)
          const [what, why] = Object.entries(outcome)[0] ?? []
          await print(`${what}: ${why ?? 'its commands were carried out'}\n`)
        })
      } catch (error) {
        process.exitCode = EX_TEMPFAIL
        process.stderr.write(`roost: ${error instanceof StartFault ? error.message : String(error)}\n`)
      }
    })
}

/** Standard input; null if there is more than the limit. */
async function readInput(limit: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
