import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { type Examples, openapi, type Reference } from './openapi/document.js'
import { referencePage } from './reference/html.js'

/** The path of the page. */
const DOCS = '/api/docs'
const DOCUMENT = '/api/v4/openapi.json'

/** Everything is loaded from here; no inline script or style is used (SEC-171). */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

/** What the page loads beside the document; the files lie beside the program. */
const ASSETS = { 'page.js': 'text/javascript', 'operation.js': 'text/javascript', 'schema.js': 'text/javascript', 'call.js': 'text/javascript', 'elements.js': 'text/javascript', 'page.css': 'text/css' } // biome-ignore format: a list
const FOLDER = new URL('./reference/', import.meta.url)

const compress = promisify(gzip)

/** A text that is made when it is first asked for, so that a start does not wait for it, and kept in both forms. */
class Kept {
  readonly #make: () => Promise<string>
  #made: Promise<{ plain: Buffer; zipped: Buffer }> | undefined

  constructor(make: () => Promise<string>) {
    this.#make = make
  }

  async send({ headers }: FastifyRequest, reply: FastifyReply, type: string) {
    this.#made ??= this.#bytes().catch((error: unknown) => {
      this.#made = undefined
      throw error
    })
    const { plain, zipped } = await this.#made
    const small = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
    reply.headers({ 'content-type': type, vary: 'accept-encoding', ...(small && { 'content-encoding': 'gzip' }) })
    return reply.send(small ? zipped : plain)
  }

  async #bytes() {
    const plain = Buffer.from(await this.#make())
    return { plain, zipped: await compress(plain, { level: 9 }) }
  }
}

/** The OpenAPI document and a page to read it on. */
export function referenceRoutes(app: FastifyInstance, ctx: Context, referenceOf: (examples: Examples) => Reference) {
  const { links, config: settings } = ctx
  const load = async () => {
    const examples = JSON.parse(await readFile(new URL('examples.json', FOLDER), 'utf8')) as Examples
    return openapi(referenceOf(examples), { version: settings.version, base: links.base })
  }
  const serve = (url: string, type: string, make: () => Promise<string>, headers: Record<string, string> = {}) => {
    const kept = new Kept(make)
    app.get(url, { config: { policy: 'anyone' } }, (request, reply) => kept.send(request, reply.headers(headers), type))
  }
  serve(DOCUMENT, 'application/json', async () => JSON.stringify(await load()))
  const places = { assets: `${links.prefix}${DOCS}`, document: `${links.prefix}${DOCUMENT}` }
  const page = async () => referencePage(await load(), places)
  serve(DOCS, 'text/html; charset=utf-8', page, { 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' })
  for (const [name, type] of Object.entries(ASSETS)) serve(`${DOCS}/${name}`, `${type}; charset=utf-8`, () => readFile(new URL(name, FOLDER), 'utf8'))
}
