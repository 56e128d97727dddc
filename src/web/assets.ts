import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { noSuchRoute } from '../failures.js'
import { Diagrams } from './diagrams.js'
import { OnDemandScripts } from './on-demand.js'

/** The addresses of the assets, which change with their contents. */
export interface AssetLinks {
  style: string
  script: string
  /** What the script loads when something is looked for. */
  finders: string
  /** What drags the cards of a board. */
  board: string
  icon: string
  /** What draws diagrams; undefined where the service was not built, as is the next. */
  diagrams: string | undefined
  /** The editor of files. */
  editor: string | undefined
}

interface Asset {
  address: string
  type: string
  plain: Buffer
  gzip: Buffer
  br: Buffer
}

/** In the source folder, or where the build has put them. */
const FOLDER = new URL('./assets/', import.meta.url)
const FILES = {
  style: ['styles/index.css', 'text/css; charset=utf-8'],
  script: ['script.js', 'text/javascript; charset=utf-8'],
  finders: ['finders.js', 'text/javascript; charset=utf-8'],
  board: ['board.js', 'text/javascript; charset=utf-8'],
  icon: ['icon.svg', 'image/svg+xml'],
} as const

/** A file; a stylesheet with those that it imports, in their order, in its place. */
async function contentOf(file: URL): Promise<Buffer> {
  const content = await readFile(file)
  if (!file.pathname.endsWith('.css')) return content
  const imported = [...content.toString().matchAll(/^@import "(.+)";$/gm)].map(([, name = '']) => readFile(new URL(name, file)))
  return imported.length > 0 ? Buffer.concat(await Promise.all(imported)) : content
}

const [zip, brotli] = [promisify(gzip), promisify(brotliCompress)]
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }

/** Reads and compresses the assets, once, when the first page is asked for. */
export class Assets {
  #loaded: Promise<Map<keyof typeof FILES, Asset>> | undefined
  readonly #diagrams: Diagrams
  readonly #editor: OnDemandScripts

  constructor(private readonly prefix: string) {
    this.#diagrams = new Diagrams(prefix)
    this.#editor = new OnDemandScripts(prefix, 'editor')
  }

  /** The addresses for a page. */
  async links(): Promise<AssetLinks> {
    const assets = await this.#load()
    const at = (name: keyof typeof FILES) => this.prefix + (assets.get(name)?.address ?? '')
    const [diagrams, editor] = await Promise.all([this.#diagrams.script(), this.#editor.addressOf('editor')])
    return { style: at('style'), script: at('script'), finders: at('finders'), board: at('board'), icon: at('icon'), diagrams, editor }
  }

  /** Serves them; browsers ask for each content once (WB-7). */
  serve(app: FastifyInstance): void {
    this.#diagrams.serve(app)
    this.#editor.serve(app)
    app.get('/assets/:name', { config: { policy: 'anyone' } }, async (request, reply) => {
      const wanted = `/assets/${(request.params as { name: string }).name}`
      const asset = [...(await this.#load()).values()].find(({ address }) => address === wanted)
      if (!asset) throw noSuchRoute()
      const accepts = String(request.headers['accept-encoding'] ?? '')
      const coding = /\bbr\b/.test(accepts) ? 'br' : /\bgzip\b/.test(accepts) ? 'gzip' : undefined
      reply.headers({ 'content-type': asset.type, 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' })
      if (coding) reply.header('content-encoding', coding)
      return reply.send(coding ? asset[coding] : asset.plain)
    })
  }

  #load(): Promise<Map<keyof typeof FILES, Asset>> {
    this.#loaded ??= this.#read().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  async #read() {
    const read = async ([name, [file, type]]: [string, readonly [string, string]]) => {
      const plain = await contentOf(new URL(file, FOLDER))
      const digest = createHash('sha256').update(plain).digest('hex').slice(0, 12)
      const asset = {
        address: `/assets/${name}-${digest}${extname(file)}`,
        type,
        plain,
        gzip: await zip(plain, { level: 9 }),
        br: await brotli(plain, BROTLI),
      }
      return [name as keyof typeof FILES, asset] as const
    }
    return new Map(await Promise.all(Object.entries(FILES).map(read)))
  }
}
