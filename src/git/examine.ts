import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { syncDirectory } from '../lib/durable.js'
import type { ProcessPool } from './processes.js'
import type { Oid, Ref, RepositoryKey } from './types.js'

const DEADLINE = 1_800_000

/** What is wrong in one repository. */
export interface Examination {
  /** The commit-graph says something else than the commits, or cannot be read. */
  brokenGraph: boolean
  /** Refs whose object is not there. */
  brokenRefs: Pick<Ref, 'name' | 'oid'>[]
  /** What Git says of other objects that are missing or damaged; empty: all that refs reach is whole. */
  damage: string
}

/** Looks through a whole repository, without the commit-graph, which may be what is broken. */
export async function examine(pool: ProcessPool, directory: string): Promise<Examination> {
  const run = (args: string[], input?: string) =>
    pool.run(directory, ['-c', 'core.commitGraph=false', ...args], { deadline: DEADLINE, accept: [0, 1, 2, 4, 8, 16, 128], ...(input && { input }) })
  const graph = await pool.run(directory, ['commit-graph', 'verify', '--no-progress'], { deadline: DEADLINE, accept: [1, 128] })
  const listed = (await run(['for-each-ref', '--format=%(objectname) %(refname)'])).stdout.toString('utf8')
  const refs = listed
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ oid: line.slice(0, 40), name: line.slice(41) }))
  const there = await existing(
    pool,
    directory,
    refs.map(({ oid }) => oid),
  )
  const brokenRefs = refs.filter(({ oid }) => !there.has(oid))
  const sound = refs.filter(({ oid }) => there.has(oid)).map(({ oid }) => oid)
  // beside refs that lead nowhere fsck tells nothing else
  const walked = await run(['rev-list', '--objects', '--quiet', '--stdin'], `${sound.join('\n')}\n`)
  return { brokenGraph: graph.exitCode !== 0 || graph.stderr !== '', brokenRefs, damage: walked.exitCode === 0 ? '' : walked.stderr.trim() }
}

/** Of some objects those that are there. */
export async function existing(pool: ProcessPool, directory: string, oids: Oid[]): Promise<Set<Oid>> {
  if (oids.length === 0) return new Set()
  const { stdout } = await pool.run(directory, ['cat-file', '--batch-check=%(objectname)'], { input: `${oids.join('\n')}\n`, deadline: DEADLINE })
  return new Set(
    stdout
      .toString('latin1')
      .split('\n')
      .filter((line) => line.length === 40),
  )
}

/** Takes the commit-graph away; the next maintenance writes another. */
export async function dropCommitGraph(directory: string): Promise<void> {
  const info = join(directory, 'objects', 'info')
  for (const name of ['commit-graph', 'commit-graphs']) await rm(join(info, name), { recursive: true, force: true })
}

const YOUNG = 600_000
const age = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  )

/** Every repository in a storage that has been there for some time, whoever it belongs to. */
export async function* repositoriesIn(storage: string, root: string): AsyncGenerator<RepositoryKey> {
  for (const shard of await readdir(root).catch(() => [])) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await readdir(join(root, shard)).catch(() => [])) {
      const found = /^(\d{1,15})(\.wiki)?\.git$/.exec(name)
      if (found && (await age(join(root, shard, name))) > YOUNG) yield { storage, id: Number(found[1]), kind: found[2] ? 'wiki' : 'project' }
    }
  }
}

/** Moves a repository that nobody knows out of the way, where a person can look at it; returns where it is. */
export async function setAside(root: string, directory: string): Promise<string> {
  const place = join(root, 'lost+found')
  await mkdir(place, { recursive: true })
  const target = join(place, `${basename(directory, '.git')}-${Date.now()}.git`)
  await rename(directory, target)
  await syncDirectory(place)
  return target
}
