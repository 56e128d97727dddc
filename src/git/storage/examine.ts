import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncDirectory } from '../../lib/files/durable.js'
import type { ProcessPool } from '../process/pool.js'
import { type Examination, type ExamineOptions, type Oid, type RepositoryKey, ZERO } from '../types.js'
import { toleratedFsckConfig } from '../wire/fsck-config.js'

const DEADLINE = 1_800_000

const MAX_OUTPUT_BYTES = 4 << 20

/** Checks a whole repository without using the commit-graph, which may itself be broken. */
export async function examine(pool: ProcessPool, directory: string, { full = false, signal }: ExamineOptions = {}): Promise<Examination> {
  const { broken, missing } = await checkPacks(directory)
  if (broken.length > 0) return packDamage('damaged or cut short', broken)
  const common = { deadline: DEADLINE, signal }
  const run = (args: string[], input?: string) =>
    pool.run(directory, ['-c', 'core.commitGraph=false', ...args], {
      ...common,
      maxBytes: MAX_OUTPUT_BYTES,
      accept: Array.from({ length: 256 }, (_, code) => code),
      ...(input && { input }),
    })
  const graph = await pool.run(directory, ['commit-graph', 'verify', '--no-progress'], {
    ...common,
    accept: [1, 128],
    maxErrorBytes: MAX_OUTPUT_BYTES,
  })
  const listed = await run(['for-each-ref', '--format=%(objectname) %(refname)'])
  const refs = listed.stdout
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ oid: line.slice(0, 40), name: line.slice(41) }))
  const unreadable = [...listed.stderr.matchAll(/^warning: ignoring broken ref (\S+)$/gm)].map((found) => ({ name: found[1] as string, oid: ZERO }))
  const present = await existingObjects(
    pool,
    directory,
    refs.map(({ oid }) => oid),
  )
  const brokenRefs = [...unreadable, ...refs.filter(({ oid }) => !present.has(oid))]
  const walk = async () => {
    // with refs to missing objects, fsck reports nothing else
    const intact = refs.filter(({ oid }) => present.has(oid)).map(({ oid }) => oid)
    const { exitCode, stderr } = await run(['rev-list', '--objects', '--quiet', '--stdin'], `${intact.join('\n')}\n`)
    return exitCode === 0 ? '' : stderr.trim()
  }
  const check = async () => {
    const { exitCode, stdout, stderr } = await run([
      ...toleratedFsckConfig('fsck'),
      ...['fsck', full ? '--full' : '--connectivity-only', '--no-dangling', '--no-progress'],
    ])
    const ofObjects = brokenRefs.length > 0 ? exitCode & (BAD_OBJECT | BAD_PACK) : exitCode
    return ofObjects === 0 ? '' : damageReport(stdout.toString('utf8'), stderr)
  }
  const findDamage = async () => (brokenRefs.length > 0 ? (await walk()) || (full ? await check() : '') : check())
  // maintenance may have replaced a pack, or a push moved a ref, during the check, so damage must be found twice
  const damage = (await findDamage()) && (await findDamage())
  if (missing.length > 0 && (damage || brokenRefs.length > 0)) return packDamage('missing', missing)
  return { brokenGraph: isBroken(graph), brokenRefs, brokenPacks: [], damage }
}

/** Nothing else is known of a repository whose packs are damaged. */
const packDamage = (how: string, packs: string[]): Examination => ({
  brokenGraph: false,
  brokenRefs: [],
  brokenPacks: packs,
  damage: `${how}: ${packs.join(', ')}`,
})

/** A commit-graph holds this many values of a date: from 1970 to 2514. */
const GRAPH_DATES = 2n ** 34n
const WRONG_DATE = /^commit date for commit [0-9a-f]{40} in commit-graph is (\d+) != (\d+)$/

/**
 * Whether `git commit-graph verify` found more than dates before 1970 or after 2514, of which each commit-graph holds
 * the lowest 34 bits (SEC-259).
 */
function isBroken({ exitCode, stderr }: { exitCode: number; stderr: string }): boolean {
  // the output may be cut within its last line
  const lines = stderr.split('\n').slice(0, -1)
  return lines.length === 0 ? exitCode !== 0 || stderr !== '' : lines.some((line) => !isOddDate(line))
}

function isOddDate(line: string): boolean {
  const [, stored, date] = WRONG_DATE.exec(line) ?? []
  return stored !== undefined && date !== undefined && BigInt(date) >= GRAPH_DATES && BigInt(date) % GRAPH_DATES === BigInt(stored)
}

const BAD_OBJECT = 1
const BAD_PACK = 4

/** The error lines of `git fsck`, those that name an object first. */
function damageReport(stdout: string, stderr: string): string {
  const lines = `${stdout}\n${stderr}`
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^(notice|warning|checking|verifying)\b|invalid sha1 pointer/i.test(line))
  const naming = lines.filter((line) => /^(missing|error in) /.test(line))
  return [...naming, ...lines.filter((line) => !naming.includes(line))].join('\n') || 'git fsck fails'
}

/**
 * Compares the end of each pack with its index. `missing`: an index has no pack. Git ignores such an index, and a repack
 * removes a pack before its index, so it means damage only if objects are missing.
 */
async function checkPacks(directory: string): Promise<{ broken: string[]; missing: string[] }> {
  const folder = join(directory, 'objects', 'pack')
  const names = await readdir(folder).catch(() => [] as string[])
  const isThere = async (name: string) => (await stat(join(folder, name)).catch(() => null)) !== null
  const broken: string[] = []
  const missing: string[] = []
  for (const name of names.filter((one) => /^pack-[0-9a-f]{40}\.idx$/.test(one))) {
    const pack = `${name.slice(0, -'.idx'.length)}.pack`
    const [index, end] = await Promise.all([lastBytes(join(folder, name), 40), lastBytes(join(folder, pack), 20)])
    if (index && end?.equals(index.subarray(0, 20))) continue
    if (await isThere(name)) ((await isThere(pack)) ? broken : missing).push(pack)
  }
  return { broken, missing }
}

async function lastBytes(path: string, length: number): Promise<Buffer | null> {
  const file = await open(path, 'r').catch(() => null)
  if (!file) return null
  try {
    const { size } = await file.stat()
    if (size < length) return null
    return (await file.read(Buffer.alloc(length), 0, length, size - length)).buffer
  } catch {
    return null
  } finally {
    await file.close()
  }
}

/**
 * Removes a ref's file that holds no object id, as a power loss may leave it; its value in packed-refs, if any, applies
 * again.
 */
export async function dropUnreadableRef(directory: string, name: string): Promise<void> {
  const path = join(directory, name)
  const text = await readFile(path, 'latin1').catch(() => null)
  if (text === null || /^(ref: |(?!0{40})[0-9a-f]{40}\s*$)/.test(text)) return
  await rm(path, { force: true })
  await syncDirectory(dirname(path))
}

export async function existingObjects(pool: ProcessPool, directory: string, oids: Oid[]): Promise<Set<Oid>> {
  if (oids.length === 0) return new Set()
  const { stdout } = await pool.run(directory, ['cat-file', '--batch-check=%(objectname)'], { input: `${oids.join('\n')}\n`, deadline: DEADLINE })
  return new Set(
    stdout
      .toString('latin1')
      .split('\n')
      .filter((line) => line.length === 40),
  )
}

/** Removes the commit-graph; the next maintenance writes a new one. */
export async function dropCommitGraph(directory: string): Promise<void> {
  const info = join(directory, 'objects', 'info')
  for (const name of ['commit-graph', 'commit-graphs']) await rm(join(info, name), { recursive: true, force: true })
}

const DEFAULT_MIN_AGE_MS = 600_000
const age = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  )

/** Every repository in a storage that has not changed for `minAgeMs`, whether or not it belongs to a project. */
export async function* repositoriesIn(storage: string, root: string, minAgeMs = DEFAULT_MIN_AGE_MS): AsyncGenerator<RepositoryKey> {
  for (const shard of await readdir(root).catch(() => [])) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for (const name of await readdir(join(root, shard)).catch(() => [])) {
      const found = /^(\d{1,15})(\.wiki)?\.git$/.exec(name)
      if (found && (await age(join(root, shard, name))) > minAgeMs) yield { storage, id: Number(found[1]), kind: found[2] ? 'wiki' : 'project' }
    }
  }
}

/** Moves a repository to `lost+found` for an administrator to examine; returns its new path. */
export async function quarantineRepository(root: string, directory: string): Promise<string> {
  const lostAndFound = join(root, 'lost+found')
  await mkdir(lostAndFound, { recursive: true })
  const target = join(lostAndFound, `${basename(directory, '.git')}-${Date.now()}.git`)
  await rename(directory, target)
  await syncDirectory(lostAndFound)
  return target
}

/** Removes repositories quarantined at least `minAgeMs` ago; returns their paths. */
export async function removeQuarantinedRepositories(root: string, minAgeMs: number): Promise<string[]> {
  const lostAndFound = join(root, 'lost+found')
  const removed: string[] = []
  for (const name of await readdir(lostAndFound).catch(() => [] as string[])) {
    const since = Number(/-(\d{13,})\.git$/.exec(name)?.[1])
    if (!(Date.now() - since > minAgeMs)) continue
    await rm(join(lostAndFound, name), { recursive: true, force: true })
    removed.push(join(lostAndFound, name))
  }
  return removed
}
