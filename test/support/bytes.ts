import type { Response } from 'supertest'

/** Reads a response of any content type as bytes: for `.buffer(true).parse(bytes)`. */
export function bytes(response: Response, done: (error: Error | null, body: Buffer) => void) {
  const stream = response as unknown as NodeJS.ReadableStream
  const chunks: Buffer[] = []
  // the client has set the encoding latin1: one byte per character
  stream.on('data', (chunk: Buffer | string) => chunks.push(Buffer.from(chunk as string, 'latin1')))
  stream.on('end', () => done(null, Buffer.concat(chunks)))
}
