import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type supertest from 'supertest'
import type { Endpoint } from '../../src/http/endpoint.js'
import { answerSchema, entityOf } from '../../src/http/openapi/schemas.js'

/** The folder to which API responses are written, one per line, for `scripts/examples.mjs`. */
const folder = process.env['ROOST_TEST_ANSWERS']
const MAX_BODY = 64 * 1024

/** Records a response, as a candidate for the examples in the API reference. */
export function recordAnswer({ method, path, output }: Pick<Endpoint, 'method' | 'path' | 'output'>, response: supertest.Response): void {
  if (!folder) return
  const { _data: sent, url } = response.request as unknown as { _data?: unknown; url: string }
  const json = response.headers['content-type']?.startsWith('application/json') === true
  const body: unknown = json && response.text.length <= MAX_BODY ? response.body : undefined
  const entity = output ? entityOf(answerSchema(output, {})) : null
  const line = { operation: `${method} ${path}`, status: response.status, type: response.headers['content-type'], url, sent, body, entity }
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(line)}\n`)
}
