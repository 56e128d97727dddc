import { copyFileSync, type Dirent, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { yieldToEventLoop } from '../lib/async/yield.js'

/** Entries of the folder of a world that no call changes, and those that can be regenerated. */
const UNCHANGING = new Set(['hooks', 'ssh', 'secret.key'])
const REGENERATED = ['archives']

const REPOSITORY = 'repositories/[0-9a-f]{2}/\\d+(\\.wiki)?\\.git'
const IS_REPOSITORY = new RegExp(`^${REPOSITORY}$`)
/** Files whose names follow from their bytes: objects of Git, packs, and objects of Git LFS. */
const CONTENT_ADDRESSED = new RegExp(`^(${REPOSITORY}/objects/([0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\\.(pack|idx|rev))|lfs/[0-9a-f/]{62})$`)
/** Files that may be written to in place; all others are replaced as a whole. */
const WRITTEN_IN_PLACE = new RegExp(`^(?!${REPOSITORY}/objects/)repositories/`)

/**
 * Named states of a folder, each in a folder of its own on the same file system. What is never written to in place is a
 * hard link, the rest a copy, so a state costs little more than names (docs/adr/0024). Nothing may be written
 * meanwhile.
 */
export class FolderSnapshots {
  /** Repositories that have been used since each state was kept or put back; all others are as they were then. */
  readonly #used = new Map<string, Set<string>>()
  readonly #folders = new Map<string, string>()
  #last = 0

  constructor(
    private readonly folder: string,
    /** The folder of the snapshots. */
    private readonly snapshotsFolder: string,
  ) {}

  /** Marks a repository as possibly changed. */
  markUsed(directory: string): void {
    for (const used of this.#used.values()) used.add(directory)
  }

  /** Saves the current state; replaces a snapshot of the same name. */
  async take(name: string): Promise<void> {
    const target = join(this.snapshotsFolder, String(++this.#last))
    await mkdir(target, { recursive: true, mode: 0o700 })
    await this.#sync(this.folder, target, null)
    await this.drop(name)
    this.#folders.set(name, target)
    this.#used.set(name, new Set())
  }

  /** Restores the folder. */
  async restore(name: string): Promise<void> {
    const target = this.#folders.get(name)
    const used = this.#used.get(name)
    if (target === undefined || !used) throw new Error(`there is no snapshot called ${name}`)
    for (const cached of REGENERATED) await rm(join(this.folder, cached), { recursive: true, force: true })
    await this.#sync(target, this.folder, used)
    // for the other states these repositories have changed now
    for (const [other, set] of this.#used) if (other !== name) for (const directory of used) set.add(directory)
    used.clear()
  }

  async drop(name: string): Promise<void> {
    const target = this.#folders.get(name)
    this.#folders.delete(name)
    this.#used.delete(name)
    if (target !== undefined) await rm(target, { recursive: true, force: true })
  }

  /** Makes `to` equal to `from`. `used`: the repositories that may differ; null: all. */
  async #sync(from: string, to: string, used: ReadonlySet<string> | null): Promise<void> {
    // `isNew`: just created, so it is empty
    const folders = [{ path: '', isNew: false }]
    for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
      const { path, isNew } = next
      const wanted = entriesOf(from, path)
      const present = new Map(isNew ? [] : entriesOf(to, path).map((entry) => [entry.name, entry]))
      for (const entry of wanted) {
        const below = path === '' ? entry.name : `${path}/${entry.name}`
        let existing = present.get(entry.name)
        present.delete(entry.name)
        if (existing && kindOf(existing) !== kindOf(entry)) {
          rmSync(join(to, below), { recursive: true })
          existing = undefined
        }
        if (!entry.isDirectory()) {
          if (existing && isSame(from, to, below)) continue
          if (existing) rmSync(join(to, below), { force: true })
          copyEntry(from, to, below, entry)
        } else if (!existing) {
          mkdirSync(join(to, below), { mode: lstatSync(join(from, below)).mode })
          folders.push({ path: below, isNew: true })
        } else if (!used || used.has(join(this.folder, below)) || !IS_REPOSITORY.test(below)) folders.push({ path: below, isNew: false })
      }
      for (const name of present.keys()) rmSync(join(to, path, name), { recursive: true, force: true })
      // let other worlds of this process run
      if (IS_REPOSITORY.test(path)) await yieldToEventLoop()
    }
  }
}

/** What is in a folder, without what is no part of a state. */
function entriesOf(root: string, path: string): Dirent[] {
  const entries = readdirSync(join(root, path), { withFileTypes: true })
  return path === '' ? entries.filter(({ name }) => !UNCHANGING.has(name) && !REGENERATED.includes(name)) : entries
}

const kindOf = (entry: Dirent) => (entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'file')

function isSame(from: string, to: string, path: string): boolean {
  if (CONTENT_ADDRESSED.test(path)) return true
  if (!WRITTEN_IN_PLACE.test(path)) return lstatSync(join(from, path)).ino === lstatSync(join(to, path)).ino
  return readFileSync(join(from, path)).equals(readFileSync(join(to, path)))
}

/** Copies or links an entry to a path that does not exist. */
function copyEntry(from: string, to: string, path: string, entry: Dirent): void {
  const [source, target] = [join(from, path), join(to, path)]
  if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
  else if (WRITTEN_IN_PLACE.test(path)) copyFileSync(source, target)
  else linkSync(source, target)
}
