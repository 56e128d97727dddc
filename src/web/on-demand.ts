import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { noSuchRoute } from '../failures.js'

interface Scripts {
  folder: URL
  names: Set<string>
}

/** Serves the modules of one folder, which the build bundles and compresses, and which only pages that need them load. */
export class OnDemandScripts {
  readonly #folders: URL[]
  #scripts: Promise<Scripts | null> | undefined

  constructor(
    private readonly prefix: string,
    private readonly name: string,
  ) {
    this.#folders = [`./assets/${name}/`, `../../dist/assets/${name}/`].map((folder) => new URL(folder, import.meta.url))
  }

  /** The address of an entry; undefined where the service was not built. */
  async addressOf(entry: string): Promise<string | undefined> {
    const name = [...((await this.#find())?.names ?? [])].find((each) => each.startsWith(`${entry}-`))
    return name && `${this.prefix}/assets/${this.name}/${name}`
  }

  serve(app: FastifyInstance, headers: Record<string, string> = {}): void {
    app.get(`/assets/${this.name}/:name`, { config: { policy: 'anyone' } }, async (request, reply) => {
      const scripts = await this.#find()
      const { name } = request.params as { name: string }
      if (!scripts?.names.has(name)) throw noSuchRoute()
      const file = createReadStream(new URL(`${name}.gz`, scripts.folder))
      const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
      reply.headers({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
        ...headers,
        ...(isZipped && { 'content-encoding': 'gzip' }),
      })
      return reply.send(isZipped ? file : file.pipe(createGunzip()))
    })
  }

  #find(): Promise<Scripts | null> {
    this.#scripts ??= findScripts(this.#folders)
    return this.#scripts
  }
}

async function findScripts(folders: URL[]): Promise<Scripts | null> {
  for (const folder of folders) {
    const files = await readdir(folder).catch(() => [])
    const names = files.filter((name) => name.endsWith('.js.gz')).map((name) => name.slice(0, -'.gz'.length))
    if (names.length > 0) return { folder, names: new Set(names) }
  }
  return null
}
