import type * as yauzl from 'yauzl'
import type { Context } from '../../../context.js'
import { type Artifact, isSafe, opened } from './read.js'

/** Entries of an archive that are looked at, and that one page shows. */
const MAX_ENTRIES = 20_000
export const SHOWN_ENTRIES = 1_000

export interface ArchiveEntry {
  name: string
  /** Bytes of a file; null: a folder. */
  size: number | null
}

export interface ArchiveFolder {
  entries: ArchiveEntry[]
  /** There is more than is shown. */
  isCut: boolean
  /** It is no folder but a file, which is the only entry. */
  isFile: boolean
}

/** What is in a folder of an archive, folders first, or a file alone; null if there is neither (CI-256). */
export const folderOf = (ctx: Context, archive: Artifact, path: string): Promise<ArchiveFolder | null> =>
  opened<ArchiveFolder | null>(ctx, archive, (zip, done) => {
    const prefix = path === '' ? '' : `${path}/`
    const found = new Map<string, number | null>()
    let [read, isThere] = [0, path === '']
    const end = () => {
      const all = [...found].map(([name, size]) => ({ name, size }))
      all.sort((a, b) => Number(a.size !== null) - Number(b.size !== null) || (a.name < b.name ? -1 : 1))
      done(isThere ? { entries: all.slice(0, SHOWN_ENTRIES), isCut: all.length > SHOWN_ENTRIES || read > MAX_ENTRIES, isFile: false } : null)
    }
    zip.on('entry', ({ fileName, uncompressedSize }: yauzl.Entry) => {
      if (++read > MAX_ENTRIES) return end()
      if (isSafe(fileName) && fileName === path)
        return done({ entries: [{ name: path.split('/').at(-1) ?? path, size: uncompressedSize }], isCut: false, isFile: true })
      if (isSafe(fileName) && fileName.startsWith(prefix)) {
        isThere = true
        const rest = fileName.slice(prefix.length)
        const slash = rest.indexOf('/')
        const name = slash < 0 ? rest : rest.slice(0, slash)
        if (name !== '') found.set(name, slash < 0 ? uncompressedSize : null)
      }
      zip.readEntry()
    })
    zip.on('end', end)
    zip.readEntry()
  })
