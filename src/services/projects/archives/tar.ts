import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import tar from 'tar-stream'
import { ArchiveFault } from '../../../db/copies/project-archive.js'
import { syncFile } from '../../../lib/files/durable.js'

/** A file of an archive. */
export interface Entry {
  name: string
  size: number
  open(): Readable | Promise<Readable>
}

/** Empty folders, and entries as an archive, one file after the other. */
export function packOf(folders: string[], entries: AsyncIterable<Entry>): AsyncIterable<unknown> {
  const pack = tar.pack()
  const fill = async () => {
    for (const name of folders) pack.entry({ name, type: 'directory', mode: 0o700 })
    for await (const { name, size, open } of entries) {
      if (pack.destroyed) return
      await pipeline(await open(), pack.entry({ name, size, mode: 0o600 }))
    }
    pack.finalize()
  }
  fill().catch((error: unknown) => pack.destroy(error as Error))
  return pack
}

/** Writes entries into a new compressed archive. */
export async function writeTar(file: string, entries: AsyncIterable<Entry>, signal: AbortSignal): Promise<void> {
  const pack = tar.pack()
  const fill = async () => {
    for await (const { name, size, open } of entries) {
      signal.throwIfAborted()
      await pipeline(await open(), pack.entry({ name, size, mode: 0o600 }))
    }
    pack.finalize()
  }
  const written = pipeline(pack, createGzip(), createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal })
  await Promise.all([written, fill().catch((error: unknown) => pack.destroy(error as Error))])
  await syncFile(file)
}

/** All files below a folder, as entries below `name`; empty: at the top. */
export async function* entriesOf(folder: string, name: string): AsyncGenerator<Entry> {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const above = name && `${name}/`
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* entriesOf(path, `${above}${entry.name}`)
    else if (entry.isFile()) yield { name: `${above}${entry.name}`, size: (await stat(path)).size, open: () => createReadStream(path) }
  }
}

/** What an archive may hold: the names of its files, as `entries` of an export writes them. */
const NAME =
  /^(?:version\.json|group\.jsonl|rows\/[a-z_]{1,60}\.jsonl|project\.bundle|wiki\.bundle|avatar\/[^/\0]{1,255}|lfs\/[0-9a-f]{64}|uploads\/[0-9a-f]{32})$/
const MAX_FILES = 1_000_000
/** How much larger than the archive its files may be, and what they may take in any case. */
const MAX_RATIO = 200
const MAX_SURPLUS = 256 * 1024 * 1024

/** Unpacks an archive into an empty folder; throws an ArchiveFault for one that is none, or is larger than it may be. */
export async function readTar(file: string, folder: string, signal: AbortSignal): Promise<void> {
  let left = MAX_SURPLUS + MAX_RATIO * (await stat(file)).size
  let files = 0
  const extract = tar.extract()
  const source = createReadStream(file)
  const unzipped = pipeline(source, createGunzip(), extract, { signal })
  // its error is thrown below, where the entries end
  unzipped.catch(() => undefined)
  try {
    for await (const entry of extract) {
      const { name, type, size = 0 } = entry.header
      left -= size
      if (type === 'file' && (++files > MAX_FILES || left < 0)) throw new ArchiveFault('the archive is too large')
      // what a later version adds is passed over
      if (type !== 'file' || !NAME.test(name) || name.includes('/..')) {
        entry.resume()
        continue
      }
      const target = join(folder, name)
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await pipeline(entry, createWriteStream(target, { flags: 'wx', mode: 0o600 }))
    }
    await unzipped
  } catch (error) {
    source.destroy()
    signal.throwIfAborted()
    if (error instanceof ArchiveFault) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
    throw new ArchiveFault('the file is not an archive')
  }
}
