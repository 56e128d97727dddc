import type { Response } from 'supertest'

/** Reads an answer as bytes, whatever its type: for `.buffer(true).parse(bytes)`. */
export function bytes(response: Response, done: (error: Error | null, body: Buffer) => void) {
  const stream = response as unknown as NodeJS.ReadableStream
  const chunks: Buffer[] = []
  // the client has set an encoding of one byte a character
  stream.on('data', (chunk: Buffer | string) => chunks.push(Buffer.from(chunk as string, 'latin1')))
  stream.on('end', () => done(null, Buffer.concat(chunks)))
}
