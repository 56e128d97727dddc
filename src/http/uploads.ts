import type {} from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { Failure, invalidInput, tooLarge } from '../failures.js'
import { type Bag, checkText, emptyBag, put } from './form.js'

/** A file that came with a multipart body. */
export interface Upload {
  filename: string
  data: Buffer
}

/** Bytes of all fields of a body together, as in other forms (SEC-71). */
const MAX_FIELDS_SIZE = 8 * 1024 * 1024

export const MULTIPART_LIMITS = {
  fields: 1_000,
  files: 10,
  fieldSize: 1_048_576,
  fileSize: 10_485_760,
  parts: 1_010,
  fieldNameSize: 256,
  headerPairs: 100,
}

/** A multipart body → parameters; files stand among them as Uploads (SEC-75). */
export async function readMultipart(request: FastifyRequest): Promise<Bag> {
  const bag = emptyBag()
  const seen = new Set<string>()
  let size = 0
  try {
    // what takes larger bodies takes larger files
    const fileSize = Math.max(MULTIPART_LIMITS.fileSize, request.routeOptions.bodyLimit)
    for await (const part of request.parts({ limits: { ...MULTIPART_LIMITS, fileSize } })) {
      const name = part.fieldname
      if (!name) throw invalidInput('a part of the body has no name')
      // SEC-75 speaks of names that end in `[]`; W-3 also repeats `actions[][action]`, which clients send
      if (!name.includes('[]')) {
        if (seen.has(name)) throw invalidInput(`${checkText(name)} is given twice`)
        seen.add(name)
      }
      if (part.type === 'field') {
        const value = typeof part.value === 'string' ? part.value : JSON.stringify(part.value)
        size += value.length
        if (part.fieldnameTruncated || part.valueTruncated || size > MAX_FIELDS_SIZE) throw tooLarge()
        // the parser writes U+FFFD for what is no UTF-8 and does not tell (SEC-50)
        if (value.includes('\ufffd')) throw invalidInput('a parameter is not valid UTF-8')
        put(bag, checkText(name), checkText(value))
      } else put(bag, checkText(name), { filename: checkText(part.filename ?? ''), data: await part.toBuffer() } satisfies Upload)
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const code = (error as { code?: string }).code ?? ''
    if (code === 'FST_REQ_FILE_TOO_LARGE') throw tooLarge()
    if (code.startsWith('FST_')) throw invalidInput('the body has too many parts, or one that is not accepted')
    throw invalidInput('message body does not match declared format')
  }
  return bag
}
