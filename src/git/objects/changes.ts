import { namesGitFile } from '../../lib/git-path.js'
import { bytesOfPath } from '../../lib/text/byte-path.js'
import type { Change, ChangeFault, Oid } from '../types.js'
import type { ObjectType } from './cat-file.js'
import type { ObjectBuffer } from './object-buffer.js'
import { decodeTree, encodeTree, isTree, type NamedEntry } from './tree-codec.js'

export type ReadObject = (oid: Oid) => Promise<{ type: ObjectType; content: Buffer } | null>

/**
 * A tree entry. A directory that was read has `directory` set, a changed file `content`; their `oid` is set only when
 * the tree is written.
 */
interface Entry extends NamedEntry {
  directory?: Directory
  content?: Buffer
}

interface Directory {
  entries: Map<string, Entry>
  /** The tree object that the directory was read from. */
  stored?: { oid: Oid; content: Buffer }
}

export type ChangedTree = { tree: Oid /** A file that Git itself reads was written, so its content has to be checked. */; special: boolean }

export type Refusal = { fault: ChangeFault; index: number; path: string }

/**
 * Applies changes in order to a tree in memory, and adds the new blobs and trees to the buffer. Reads and writes only
 * the affected directories; all other entries keep their bytes (C-19).
 */
export async function changeTree(root: Oid | null, changes: Change[], readObject: ReadObject, stage: ObjectBuffer): Promise<ChangedTree | Refusal> {
  const tree = new WorkingTree(readObject)
  await tree.open(root)
  let special = false
  for (const [index, change] of changes.entries()) {
    try {
      await tree.apply(change)
    } catch (error) {
      if (error instanceof Fault) return { fault: error.fault, index, path: error.path }
      throw error
    }
    if (change.action !== 'delete') special ||= change.path.split('/').some(namesGitFile)
  }
  return { tree: await tree.write(stage), special }
}

class Fault extends Error {
  constructor(
    readonly fault: ChangeFault,
    readonly path: string,
  ) {
    super(`${fault}: ${path}`)
  }
}

class WorkingTree {
  #root: Directory = { entries: new Map() }

  constructor(private readonly readObject: ReadObject) {}

  async open(root: Oid | null) {
    if (root) this.#root = await this.#read(root)
  }

  async apply(change: Change) {
    switch (change.action) {
      case 'create':
        return this.#add(change.path, { mode: change.executable ? '100755' : '100644', content: change.content }, change.overFiles)
      case 'update': {
        const { entry } = await this.#file(change.path)
        if (change.content) entry.content = change.content
        if (change.executable !== undefined && entry.mode !== '120000') entry.mode = change.executable ? '100755' : '100644'
        return
      }
      case 'delete':
        return this.#remove(change.path)
      case 'move': {
        const { entry } = change.content ? await this.#file(change.from) : await this.#leaf(change.from)
        const content = change.content ?? entry.content
        const file = { mode: entry.mode, oid: entry.oid, ...(content && { content }) }
        // below itself: it gives way first
        const isBelow = change.overFiles && change.path.startsWith(`${change.from}/`)
        if (isBelow) await this.#remove(change.from)
        await this.#add(change.path, file, change.overFiles)
        return isBelow ? undefined : this.#remove(change.from)
      }
      case 'replace': {
        const { entry } = await this.#leaf(change.path)
        Object.assign(entry, { mode: change.mode, oid: change.oid })
        return
      }
      case 'submodule': {
        const { entry } = await this.#found(change.path)
        if (entry.mode !== '160000') throw new Fault('missing', change.path)
        entry.oid = change.oid
      }
    }
  }

  write(stage: ObjectBuffer): Promise<Oid> {
    return this.#write(this.#root, stage)
  }

  async #write({ entries, stored }: Directory, stage: ObjectBuffer): Promise<Oid> {
    for (const entry of entries.values()) {
      if (entry.directory) entry.oid = await this.#write(entry.directory, stage)
      else if (entry.content) entry.oid = await stage.blob(entry.content)
    }
    const content = encodeTree([...entries.values()])
    return stored?.content.equals(content) ? stored.oid : stage.tree(content)
  }

  async #read(oid: Oid): Promise<Directory> {
    const object = await this.readObject(oid)
    if (object?.type !== 'tree') throw new Error(`tree ${oid} cannot be read`)
    const entries = new Map<string, Entry>()
    // a damaged tree may contain a name twice: the second entry gets a key that no path can have
    decodeTree(object.content).forEach((entry, i) => {
      entries.set(entries.has(entry.name) ? `${entry.name}\0${i}` : entry.name, entry)
    })
    return { entries, stored: { oid, content: object.content } }
  }

  async #add(path: string, file: { mode: string; oid?: Oid; content?: Buffer }, overFiles = false) {
    const { name, parents } = split(path)
    let directory = this.#root
    for (const part of parents) {
      let entry = directory.entries.get(part)
      if (!entry || (overFiles && isFile(entry))) {
        entry = { mode: '40000', name: part, oid: '', directory: { entries: new Map() } }
        directory.entries.set(part, entry)
      }
      directory = await this.#enter(entry, path)
    }
    if (directory.entries.has(name)) throw new Fault('exists', path)
    if (file.mode === '120000' && namesGitFile(name)) throw new Fault('invalid_path', path)
    directory.entries.set(name, { oid: '', ...file, name })
  }

  /** Removes a file or submodule, and every directory that becomes empty. */
  async #remove(path: string) {
    const { trail, name } = await this.#leaf(path)
    trail.at(-1)?.directory.entries.delete(name)
    for (let i = trail.length - 1; i > 0 && trail[i]?.directory.entries.size === 0; i--) {
      trail[i - 1]?.directory.entries.delete(trail[i]?.name as string)
    }
  }

  /** The entry of an existing file or link, and the directories from the root to it. */
  async #file(path: string) {
    const found = await this.#leaf(path)
    if (found.entry.mode === '160000') throw new Fault('missing', path)
    return found
  }

  /** Like `#file`, but also for a submodule. */
  async #leaf(path: string) {
    const found = await this.#found(path)
    if (isTree(found.entry.mode)) throw new Fault('missing', path)
    return found
  }

  /** Like `#file`, but for any entry. */
  async #found(path: string) {
    const { name, parents } = split(path)
    const trail = [{ name: '', directory: this.#root }]
    let directory = this.#root
    for (const part of parents) {
      const entry = directory.entries.get(part)
      if (!entry) throw new Fault('missing', path)
      directory = await this.#enter(entry, path)
      trail.push({ name: part, directory })
    }
    const entry = directory.entries.get(name)
    if (!entry) throw new Fault('missing', path)
    return { entry, trail, name }
  }

  async #enter(entry: Entry, path: string): Promise<Directory> {
    if (!isTree(entry.mode)) throw new Fault('invalid_path', path)
    entry.directory ??= await this.#read(entry.oid)
    return entry.directory
  }
}

/** A file, and neither a link nor a submodule. */
const isFile = ({ mode }: Entry) => mode === '100644' || mode === '100755'

function split(path: string) {
  const parents = path.split('/').map((part) => bytesOfPath(part).toString('latin1'))
  const name = parents.pop() as string
  return { parents, name }
}
