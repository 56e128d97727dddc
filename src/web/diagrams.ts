import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { noSuchRoute } from '../failures.js'

/** Where the build puts the scripts that draw diagrams, compressed: there are a hundred, of which a page loads some. */
const FOLDERS = ['./assets/diagrams/', '../../dist/assets/diagrams/'].map((folder) => new URL(folder, import.meta.url))

/**
 * What the frame of a diagram may do: run the scripts of this folder, and style what they draw. It has no origin, and so
 * neither the cookies nor the pages of the service; it reaches nothing (MD-23).
 */
const FRAME_POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

interface Scripts {
  folder: URL
  names: Set<string>
  page: string
  frame: string
}

/** Serves what draws the diagrams of texts in browsers, which only pages with a diagram load. */
export class Diagrams {
  #scripts: Promise<Scripts | null> | undefined

  constructor(private readonly prefix: string) {}

  /** The address of the script of such pages; undefined where the service was not built. */
  async script(): Promise<string | undefined> {
    const scripts = await this.#find()
    return scripts ? `${this.prefix}/assets/diagrams/${scripts.page}` : undefined
  }

  serve(app: FastifyInstance): void {
    const config = { policy: 'anyone' }
    app.get('/-/diagram', { config }, async (_, reply) => {
      const scripts = await this.#find()
      if (!scripts) throw noSuchRoute()
      reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': FRAME_POLICY, 'cache-control': 'no-cache' })
      return reply.send(
        `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Diagram</title><style>body{margin:0;text-align:center}svg{max-width:100%;height:auto}</style><script type="module" src="${this.prefix}/assets/diagrams/${scripts.frame}"></script></head><body></body></html>\n`,
      )
    })
    app.get('/assets/diagrams/:name', { config }, async (request, reply) => {
      const scripts = await this.#find()
      const { name } = request.params as { name: string }
      if (!scripts?.names.has(name)) throw noSuchRoute()
      const file = createReadStream(new URL(`${name}.gz`, scripts.folder))
      const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
      reply.headers({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
        // the frame has no origin
        'access-control-allow-origin': '*',
        ...(isZipped && { 'content-encoding': 'gzip' }),
      })
      return reply.send(isZipped ? file : file.pipe(createGunzip()))
    })
  }

  #find(): Promise<Scripts | null> {
    this.#scripts ??= findScripts()
    return this.#scripts
  }
}

async function findScripts(): Promise<Scripts | null> {
  for (const folder of FOLDERS) {
    const files = await readdir(folder).catch(() => [])
    const names = files.filter((name) => name.endsWith('.js.gz')).map((name) => name.slice(0, -'.gz'.length))
    const [page, frame] = ['page', 'frame'].map((entry) => names.find((name) => name.startsWith(`${entry}-`)))
    if (page !== undefined && frame !== undefined) return { folder, names: new Set(names), page, frame }
  }
  return null
}
