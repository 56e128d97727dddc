import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { type Examples, openapi, type Reference } from './openapi/document.js'
import { referencePage } from './reference/html.js'

/** The path of the reference page. */
const DOCS = '/api/docs'
const DOCUMENT = '/api/v4/openapi.json'

/** All assets come from this service; inline scripts and styles are forbidden (SEC-171). */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

/** The assets of the page, in a folder beside the program. */
const ASSETS = {
  'page.js': 'text/javascript',
  'operation.js': 'text/javascript',
  'schema.js': 'text/javascript',
  'call.js': 'text/javascript',
  'elements.js': 'text/javascript',
  'page.css': 'text/css',
}
const FOLDER = new URL('./reference/', import.meta.url)

const compress = promisify(gzip)

/** A text that is created on first use, so that the start does not wait for it, and cached plain and compressed. */
class LazyText {
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
    const acceptsGzip = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
    reply.headers({ 'content-type': type, vary: 'accept-encoding', ...(acceptsGzip && { 'content-encoding': 'gzip' }) })
    return reply.send(acceptsGzip ? zipped : plain)
  }

  async #bytes() {
    const plain = Buffer.from(await this.#make())
    return { plain, zipped: await compress(plain, { level: 9 }) }
  }
}

/** Serves the OpenAPI document and the reference page. */
export function referenceRoutes(app: FastifyInstance, ctx: Context, referenceOf: (examples: Examples) => Reference) {
  const { links, config: settings } = ctx
  const load = async () => {
    const examples = JSON.parse(await readFile(new URL('examples.json', FOLDER), 'utf8')) as Examples
    return openapi(referenceOf(examples), { version: settings.version, base: links.base })
  }
  const serve = (url: string, type: string, make: () => Promise<string>, headers: Record<string, string> = {}) => {
    const lazyText = new LazyText(make)
    app.get(url, { config: { policy: 'anyone' } }, (request, reply) => lazyText.send(request, reply.headers(headers), type))
  }
  serve(DOCUMENT, 'application/json', async () => JSON.stringify(await load()))
  const urls = { assets: `${links.prefix}${DOCS}`, document: `${links.prefix}${DOCUMENT}` }
  const page = async () => referencePage(await load(), urls)
  serve(DOCS, 'text/html; charset=utf-8', page, { 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' })
  for (const [name, type] of Object.entries(ASSETS)) serve(`${DOCS}/${name}`, `${type}; charset=utf-8`, () => readFile(new URL(name, FOLDER), 'utf8'))
}
