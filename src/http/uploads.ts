import type { IncomingHttpHeaders } from 'node:http'
import { Busboy, type BusboyHeaders } from '@fastify/busboy'
import { Failure, invalidInput, tooLarge } from '../failures.js'
import { checkText, emptyParameterBag, MAX_FIELDS, type ParameterBag, put } from './form.js'

/** A file from a multipart body. */
export interface Upload {
  filename: string
  data: Buffer
}

/** Maximum size of all fields of a body together, as for other forms (SEC-71). */
const MAX_FIELDS_SIZE = 8 * 1024 * 1024
const MAX_FILE_SIZE = 10 * 1024 * 1024
const MAX_FILES = 10

/** Parses a multipart body from its bytes as they arrive; files become Uploads among the parameters (SEC-75). */
export class MultipartReader {
  readonly #bag = emptyParameterBag()
  readonly #seen = new Set<string>()
  readonly #parser: InstanceType<typeof Busboy>
  readonly #parserError: Promise<void>
  #size = 0
  #started = false
  #failure: Failure | undefined

  /** `fileSize` is the maximum size of a file on routes that accept larger bodies. */
  constructor(headers: IncomingHttpHeaders, fileSize: number) {
    const limits = {
      fields: MAX_FIELDS,
      files: MAX_FILES,
      fieldSize: 1_048_576,
      fileSize: Math.max(MAX_FILE_SIZE, fileSize),
      parts: MAX_FIELDS + MAX_FILES,
      headerPairs: 100,
    }
    try {
      this.#parser = new Busboy({ headers: headers as BusboyHeaders, limits })
    } catch {
      throw malformed()
    }
    const fail = (failure: Failure) => {
      this.#failure ??= failure
    }
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      this.#parser.on(limit, () => fail(invalidInput('the body has too many parts, or one that is not accepted')))
    this.#parserError = new Promise((resolve) => {
      this.#parser.on('error', () => {
        fail(malformed())
        resolve()
      })
    })
    this.#parser.on('field', (name, value, _, truncated) => this.#attempt(() => this.#readField(name, value, truncated)))
    this.#parser.on('file', (name, stream, filename) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk))
      stream.on('limit', () => fail(tooLarge()))
      stream.on('error', () => fail(malformed()))
      stream.on('end', () => this.#attempt(() => this.#put(name, { filename: checkText(filename ?? ''), data: Buffer.concat(chunks) })))
    })
  }

  async push(bytes: Buffer): Promise<void> {
    this.#started = true
    await this.#step((done) => void this.#parser.write(bytes, done))
  }

  async end(): Promise<ParameterBag> {
    if (this.#started) await this.#step((done) => void this.#parser.once('finish', done).end())
    return this.#bag
  }

  /** Waits for a step of the parser, which never finishes after an error. */
  async #step(step: (done: () => void) => void): Promise<void> {
    await Promise.race([new Promise<void>(step), this.#parserError])
    if (this.#failure) throw this.#failure
  }

  #attempt(work: () => void): void {
    try {
      if (!this.#failure) work()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.#failure = error
    }
  }

  #readField(name: string, value: string, truncated: boolean): void {
    this.#size += value.length
    if (truncated || this.#size > MAX_FIELDS_SIZE) throw tooLarge()
    // the parser silently replaces invalid UTF-8 by U+FFFD (SEC-50)
    if (value.includes('\ufffd')) throw invalidInput('a parameter is not valid UTF-8')
    this.#put(name, checkText(value))
  }

  #put(name: string | undefined, value: string | Upload): void {
    if (!name) throw invalidInput('a part of the body has no name')
    // names with `[]` may repeat: lists, and also `actions[][action]`, which clients send (W-3, SEC-75)
    if (!name.includes('[]')) {
      if (this.#seen.has(name)) throw invalidInput(`${checkText(name)} is given twice`)
      this.#seen.add(name)
    }
    put(this.#bag, checkText(name), value)
  }
}

const malformed = () => invalidInput('message body does not match declared format')
