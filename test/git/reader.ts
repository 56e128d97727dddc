import type { ObjectType } from '../../src/git/objects/cat-file.js'
import type { ReadObject } from '../../src/git/objects/changes.js'
import { gitEnvironment } from '../../src/git/process/environment.js'
import { runSync } from '../support/run-sync.js'

export const PERSON = { name: 'Ada', email: 'ada@example.org', seconds: 1_700_000_000, offset: '+0100' }

export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

/** Runs native git, the judge of what we write. */
export function git(cwd: string, args: string[], input?: string | Buffer, env: NodeJS.ProcessEnv = {}): string {
  return runSync('git', args, { cwd, input, env: { ...gitEnvironment(), ...IDENTITY, ...env } }).toString('latin1')
}

/**
 * Objects as native git reads them, for tests that write. The first read takes all there are, so that few processes
 * start; git cannot list all while a repack removes packs, and then each is read by itself.
 */
export function nativeReader(directory: string): ReadObject {
  let known: Map<string, { type: ObjectType; content: Buffer }> | undefined
  const read = (arguments_: string[], input?: string) => objectsIn(Buffer.from(git(directory, ['cat-file', ...arguments_], input), 'latin1'))
  const readAll = () => {
    try {
      return read(['--batch', '--batch-all-objects', '--unordered'])
    } catch {
      return new Map()
    }
  }
  return async (oid) => {
    known ??= readAll()
    if (!known.has(oid)) for (const [made, object] of read(['--batch'], `${oid}\n`)) known.set(made, object)
    return known.get(oid) ?? null
  }
}

/** What `cat-file --batch` prints. */
function objectsIn(out: Buffer) {
  const objects = new Map<string, { type: ObjectType; content: Buffer }>()
  for (let at = 0; at < out.length; ) {
    const end = out.indexOf(10, at)
    const [oid = '', type, size] = out.toString('latin1', at, end).split(' ')
    at = end + 1
    if (type === 'missing') continue
    objects.set(oid, { type: type as ObjectType, content: out.subarray(at, at + Number(size)) })
    at += Number(size) + 1
  }
  return objects
}
