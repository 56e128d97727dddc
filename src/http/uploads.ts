import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { Failure, invalidInput, tooLarge } from '../failures.js'
import { checkText, emptyParameterBag, MAX_FIELDS, type ParameterBag, put } from './form.js'

/** A file from a multipart body. */
export interface Upload {
  filename: string
  data: Buffer
}

const MAX_FIELD_SIZE = 1024 * 1024
/** Maximum size of all fields of a body together, as for other bodies (SEC-71). */
const MAX_FIELDS_SIZE = 8 * 1024 * 1024
const MAX_FILES = 10
const MAX_PARTS = MAX_FIELDS + MAX_FILES

/** Fields arrive as streams like files, so that none is collected, decoded or parsed by the parser. */
const OPTIONS = {
  isPartAFile: () => true,
  limits: { parts: MAX_PARTS, files: MAX_PARTS, fileSize: Number.POSITIVE_INFINITY, headerPairs: 100 },
}

/**
 * Reads a multipart body part by part; files become Uploads among the parameters (SEC-75). `admitted` is awaited before
 * more of a part is read.
 */
export async function readMultipart(request: FastifyRequest, admitted: () => Promise<void>): Promise<ParameterBag> {
  const bag = emptyParameterBag()
  const seen = new Set<string>()
  let [fields, fieldsSize, files] = [0, 0, 0]
  const parts = request.parts(OPTIONS) as AsyncIterable<MultipartFile>
  for await (const part of refusingMalformed(parts)) {
    const isFile = part.filename !== undefined || part.mimetype === 'application/octet-stream'
    if (isFile ? ++files > MAX_FILES : ++fields > MAX_FIELDS) throw tooManyParts()
    const data = await contentOf(part, isFile ? Number.POSITIVE_INFINITY : MAX_FIELD_SIZE, admitted)
    if (!isFile) fieldsSize += data.length
    if (fieldsSize > MAX_FIELDS_SIZE) throw tooLarge()
    const name = nameOf(part, seen)
    put(bag, name, isFile ? { filename: checkText(part.filename ?? ''), data } : textOf(data))
  }
  return bag
}

async function contentOf({ file }: MultipartFile, limit: number, admitted: () => Promise<void>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of refusingMalformed<Buffer>(file)) {
    size += chunk.length
    if (size > limit) throw tooLarge()
    chunks.push(chunk)
    await admitted()
  }
  return Buffer.concat(chunks, size)
}

function nameOf({ fieldname: name }: MultipartFile, seen: Set<string>): string {
  if (!name) throw invalidInput('a part of the body has no name')
  // names with `[]` may repeat: lists, and also `actions[][action]`, which clients send (W-3, SEC-75)
  if (!name.includes('[]')) {
    if (seen.has(name)) throw invalidInput(`${checkText(name)} is given twice`)
    seen.add(name)
  }
  return checkText(name)
}

function textOf(data: Buffer): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
  } catch {
    throw invalidInput('a parameter is not valid UTF-8')
  }
  return checkText(text)
}

/** Passes on what the parser yields, with its errors as refusals. */
export async function* refusingMalformed<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as { code?: string }
    if (code === 'FST_PARTS_LIMIT' || code === 'FST_FILES_LIMIT') throw tooManyParts()
    throw invalidInput('message body does not match declared format')
  }
}

const tooManyParts = () => invalidInput('the body has too many parts, or one that is not accepted')
