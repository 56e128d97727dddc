import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { repositoryDirectory } from '../../../src/git/storage/create.js'
import type { TestApp } from '../app.js'
import { type Ended, run } from '../spawner.js'

const ENV = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/** Runs native git as a user would. */
export const gitRun = (cwd: string, ...args: string[]): Promise<Ended> => run('git', args, { cwd, env: { ...ENV, TMPDIR: process.env['TMPDIR'] } })

/** Runs git, throws if it fails, and returns its output without the final line break. */
export async function gitOut(cwd: string, ...args: string[]): Promise<string> {
  const { code, out, err } = await gitRun(cwd, ...args)
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${err}`)
  return out.trimEnd()
}

/** A Git client of the service: clones, commits and pushes. Its folders are removed after the test file. */
export function gitClient(t: TestApp) {
  const folders: string[] = []
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), 'roost-work-'))
    folders.push(path)
    return path
  }
  /** The URL of a project, with the credentials of the caller. */
  const url = (fullPath: string, caller?: { token: string } | null, name = 'git') =>
    `${caller ? t.url.replace('//', `//${encodeURIComponent(name)}:${encodeURIComponent(caller.token)}@`) : t.url}/${fullPath}.git`
  const clone = async (address: string, ...options: string[]) => {
    const parent = folder()
    const ended = await gitRun(
      parent,
      ...options.filter((o) => o.startsWith('protocol.')).flatMap((o) => ['-c', o]),
      'clone',
      '-q',
      ...options.filter((o) => !o.startsWith('protocol.')),
      address,
      'w',
    )
    return { ...ended, work: join(parent, 'w') }
  }
  /** Clones, throws if that fails, and returns the folder. */
  const cloned = async (address: string, ...options: string[]) => {
    const { code, err, work } = await clone(address, ...options)
    if (code !== 0) throw new Error(`git clone ended with ${code}: ${err}`)
    return work
  }
  return { folder, url, clone, cloned }
}

/** Commits a file in a work tree; returns the commit id. */
export async function commitIn(work: string, name: string, content = name): Promise<string> {
  writeFileSync(join(work, name), content)
  await gitOut(work, 'add', '--', name)
  await gitOut(work, 'commit', '-qm', name)
  return gitOut(work, 'rev-parse', 'HEAD')
}

/** The folder of a project's repository on disk. */
export const directoryOf = (t: TestApp, id: number, kind: 'project' | 'wiki' = 'project') =>
  repositoryDirectory(t.ctx.config.storages['default'] as string, { storage: 'default', id, kind })

/** The ids of git processes that run in a repository, except the long-lived ones that wait for the next request. */
export function gitProcessesIn(directory: string): string[] {
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false
    try {
      if (!readlinkSync(`/proc/${id}/cwd`).startsWith(directory)) return false
      return /upload-pack|receive-pack|pack-objects|index-pack|unpack-objects|pre-receive|rev-list/.test(
        readFileSync(`/proc/${id}/cmdline`, 'latin1'),
      )
    } catch {
      return false
    }
  })
}

/** A pack without objects. */
export const EMPTY_PACK = (() => {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  return Buffer.concat([head, createHash('sha1').update(head).digest()])
})()

/** Encodes a line as a pkt-line. */
export const packet = (text: string | Buffer) => {
  const body = Buffer.from(text)
  return Buffer.concat([Buffer.from((body.length + 4).toString(16).padStart(4, '0')), body])
}
