import { createHash } from 'node:crypto'
import type * as Isomorphic from 'isomorphic-git'
import type { Oid, Signature, Tag } from '../types.js'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

export interface StagedObject {
  oid: Oid
  type: ObjectType
  content: Buffer
}

/** Objects made but not yet in the repository: isomorphic-git frames and hashes them over a file system that exists in memory only. */
export class ObjectBuffer {
  readonly #objects = new Map<Oid, StagedObject>()
  readonly #overlay = overlay()

  get objects(): StagedObject[] {
    return [...this.#objects.values()]
  }

  async blob(content: Buffer): Promise<Oid> {
    const { hashBlob } = await encoder()
    const { oid } = await hashBlob({ object: content })
    return this.#add({ oid, type: 'blob', content })
  }

  /** `content` comes from encodeTree: isomorphic-git's own tree codec is not byte-exact. */
  tree(content: Buffer) {
    return this.#write('tree', content)
  }

  commit(commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string }) {
    const headers = [
      `tree ${commit.tree}`,
      ...commit.parents.map((parent) => `parent ${parent}`),
      `author ${person(commit.author)}`,
      `committer ${person(commit.committer)}`,
    ]
    return this.#write('commit', withMessage(headers, commit.message))
  }

  tag(tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string }) {
    const headers = [`object ${tag.target}`, `type ${tag.targetType}`, `tag ${tag.name}`, `tagger ${person(tag.tagger)}`]
    return this.#write('tag', withMessage(headers, tag.message.endsWith('\n') ? tag.message : `${tag.message}\n`))
  }

  async #write(type: ObjectType, content: Buffer): Promise<Oid> {
    if (content.length > LARGE) return this.#add({ oid: hash(type, content), type, content })
    const { writeObject } = await encoder()
    const oid = await writeObject({ fs: this.#overlay, gitdir: OVERLAY, type, object: content, format: 'content' })
    return this.#add({ oid, type, content })
  }

  #add(object: StagedObject): Oid {
    this.#objects.set(object.oid, object)
    return object.oid
  }
}

/** Above this isomorphic-git, which deflates in JavaScript whatever it writes, would hold the event loop too long (SEC-145). */
const LARGE = 65_536

function hash(type: ObjectType, content: Buffer): Oid {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
}

/** As Git does, drops what would break the header's format. */
function person({ name, email, seconds, offset }: Signature) {
  return `${plain(name)} <${plain(email)}> ${Math.max(0, Math.trunc(seconds))} ${/^[+-]\d{4}$/.test(offset) ? offset : '+0000'}`
}

function plain(text: string) {
  return text.replace(/[\0\n<>]/g, '').trim()
}

function withMessage(headers: string[], message: string) {
  return Buffer.from(`${headers.join('\n')}\n\n${message.replaceAll('\0', '')}`, 'utf8')
}

let loading: Promise<typeof Isomorphic> | undefined

/** Loads isomorphic-git on first use: importing it costs some 350 ms, which a start should not wait for. Call it once the service listens. */
export function encoder(): Promise<typeof Isomorphic> {
  loading ??= load()
  return loading
}

/** isomorphic-git asks at its first write whether there is a CompressionStream and, if so, uses it for good, at twice the cost of its own deflate. */
async function load() {
  const git = await import('isomorphic-git')
  const hidden = Object.getOwnPropertyDescriptor(globalThis, 'CompressionStream')
  if (hidden) Reflect.deleteProperty(globalThis, 'CompressionStream')
  try {
    await git.writeObject({ fs: overlay(), gitdir: OVERLAY, type: 'blob', object: Buffer.of(), format: 'content' })
  } finally {
    if (hidden) Object.defineProperty(globalThis, 'CompressionStream', hidden)
  }
  return git
}

const OVERLAY = '/stage'

/** A file system that holds one empty repository: objects may be written, all else is read-only, so isomorphic-git can never touch a ref. */
function overlay() {
  const written = new Set<string>()
  const missing = async (path: string): Promise<never> => {
    throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
  }
  const readOnly = async (path: string): Promise<never> => {
    throw Object.assign(new Error(`EROFS: ${path}`), { code: 'EROFS' })
  }
  const stat = async (path: string) => {
    if (path !== OVERLAY && !written.has(path)) await missing(path)
    return { isDirectory: () => path === OVERLAY, isFile: () => path !== OVERLAY, isSymbolicLink: () => false }
  }
  const writeFile = async (path: string) => {
    if (!path.startsWith(`${OVERLAY}/objects/`)) await readOnly(path)
    written.add(path)
  }
  const promises = {
    readFile: missing,
    readdir: async () => [],
    stat,
    lstat: stat,
    writeFile,
    mkdir: async () => {},
    rmdir: readOnly,
    unlink: readOnly,
    readlink: missing,
    symlink: readOnly,
  }
  return { promises } satisfies { promises: Record<string, unknown> }
}
