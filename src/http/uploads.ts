import type {} from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { Failure, invalidInput, tooLarge } from '../failures.js'
import { type Bag, checkText, emptyBag, put } from './form.js'

/** A file that came with a multipart body. */
export interface Upload {
  filename: string
  data: Buffer
}

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
  try {
    for await (const part of request.parts()) {
      const name = part.fieldname
      if (!name) throw invalidInput('a part of the body has no name')
      if (!name.endsWith('[]')) {
        if (seen.has(name)) throw invalidInput(`${checkText(name)} is given twice`)
        seen.add(name)
      }
      if (part.type === 'field') {
        if (part.fieldnameTruncated || part.valueTruncated) throw tooLarge()
        put(bag, checkText(name), checkText(String(part.value)))
      } else put(bag, checkText(name), { filename: checkText(part.filename ?? ''), data: await part.toBuffer() } satisfies Upload)
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    const code = (error as { code?: string }).code ?? ''
    if (code === 'FST_REQ_FILE_TOO_LARGE') throw tooLarge()
    if (code.startsWith('FST_')) throw invalidInput('the body has too many parts')
    throw invalidInput('message body does not match declared format')
  }
  return bag
}
