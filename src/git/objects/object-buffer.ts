import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Oid, Signature, Tag } from '../types.js'
import type { ObjectType } from './cat-file.js'

export interface StagedObject {
  oid: Oid
  type: ObjectType
  content: Buffer
}

/** Objects that are not written to the repository yet. */
export class ObjectBuffer {
  readonly #objects = new Map<Oid, StagedObject>()

  get objects(): StagedObject[] {
    return [...this.#objects.values()]
  }

  read(oid: Oid): StagedObject | undefined {
    return this.#objects.get(oid)
  }

  blob(content: Buffer): Promise<Oid> {
    return this.#add('blob', content)
  }

  /** `content` comes from encodeTree. */
  tree(content: Buffer): Promise<Oid> {
    return this.#add('tree', content)
  }

  commit(commit: { tree: Oid; parents: Oid[]; author: Signature; committer: Signature; message: string }) {
    const headers = [
      `tree ${commit.tree}`,
      ...commit.parents.map((parent) => `parent ${parent}`),
      `author ${signatureLine(commit.author)}`,
      `committer ${signatureLine(commit.committer)}`,
    ]
    return this.#add('commit', withMessage(headers, commit.message))
  }

  tag(tag: { name: string; target: Oid; targetType: Tag['targetType']; tagger: Signature; message: string }) {
    const headers = [`object ${tag.target}`, `type ${tag.targetType}`, `tag ${tag.name}`, `tagger ${signatureLine(tag.tagger)}`]
    return this.#add('tag', withMessage(headers, tag.message.endsWith('\n') ? tag.message : `${tag.message}\n`))
  }

  async #add(type: ObjectType, content: Buffer): Promise<Oid> {
    const oid = await objectId(type, content)
    this.#objects.set(oid, { oid, type, content })
    return oid
  }
}

/** Bytes hashed before yielding to the event loop, a few milliseconds (SEC-145). */
const HASH_SLICE_BYTES = 2 * 1024 * 1024

async function objectId(type: ObjectType, content: Buffer): Promise<Oid> {
  const hash = createHash('sha1').update(`${type} ${content.length}\0`)
  for (let at = 0; at < content.length; at += HASH_SLICE_BYTES) {
    if (at > 0) await setImmediate()
    hash.update(content.subarray(at, at + HASH_SLICE_BYTES))
  }
  return hash.digest('hex')
}

/** Formats a signature without characters that would break the header, as Git does. */
function signatureLine({ name, email, seconds, offset }: Signature) {
  return `${stripped(name)} <${stripped(email)}> ${Math.max(0, Math.trunc(seconds))} ${/^[+-]\d{4}$/.test(offset) ? offset : '+0000'}`
}

function stripped(text: string) {
  return text.replace(/[\0\n<>]/g, '').trim()
}

function withMessage(headers: string[], message: string) {
  return Buffer.from(`${headers.join('\n')}\n\n${message.replaceAll('\0', '')}`, 'utf8')
}
