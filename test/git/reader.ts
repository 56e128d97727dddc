import { execFileSync } from 'node:child_process'
import type { ReadObject } from '../../src/git/objects/changes.js'
import type { ObjectType } from '../../src/git/objects/object-buffer.js'
import { gitEnvironment } from '../../src/git/process/pool.js'

export const PERSON = { name: 'Ada', email: 'ada@example.org', seconds: 1_700_000_000, offset: '+0100' }

export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

/** Runs native git, the judge of what we write. */
export function git(cwd: string, args: string[], input?: string | Buffer, env: NodeJS.ProcessEnv = {}): string {
  return execFileSync('git', args, {
    cwd,
    input,
    env: { ...gitEnvironment(), ...IDENTITY, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    maxBuffer: 1e9,
    encoding: 'latin1',
  })
}

/** Objects as native git reads them, for tests that write. */
export function nativeReader(directory: string): ReadObject {
  return async (oid) => {
    const out = Buffer.from(git(directory, ['cat-file', '--batch'], `${oid}\n`), 'latin1')
    const [, type, size] = out.toString('latin1', 0, out.indexOf(10)).split(' ')
    if (type === 'missing') return null
    const start = out.indexOf(10) + 1
    return { type: type as ObjectType, content: out.subarray(start, start + Number(size)) }
  }
}
