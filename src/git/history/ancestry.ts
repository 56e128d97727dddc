import { createHash } from 'node:crypto'
import { Turn } from '../../lib/async/yield.js'
import { isOid } from '../objects/cat-file.js'
import type { RefStore } from '../refs/ref-store.js'
import type { Oid } from '../types.js'
import { findUniqueMergeBase, History, reachableAmong } from './history.js'
import { literalPath } from './log.js'
import type { LogSource } from './log-source.js'

const answerBytes = () => 100

/** For each of `heads`, whether it is `into` or an ancestor of it; one walk finds all that are not cached. */
export async function mergedInto(source: LogSource, heads: Oid[], into: Oid): Promise<boolean[]> {
  const answers = new Map<Oid, boolean>()
  const unknown: Oid[] = []
  for (const head of new Set(heads)) {
    const known = await source.cache.getOrCompute<{ merged: boolean }>(source.directory, `merged ${head} ${into}`, answerBytes, async () => null)
    if (known) answers.set(head, known.merged)
    else unknown.push(head)
  }
  if (unknown.length > 0) {
    const history = new History(await source.cache.graph(source.directory), source)
    const top = await history.node(into)
    const nodes = new Map<Oid, number>()
    for (const head of unknown) {
      const node = await history.node(head)
      if (node >= 0) nodes.set(head, node)
    }
    const found = top < 0 ? new Set<number>() : await findReachable(history, [...nodes.values()], top)
    for (const head of unknown) {
      const node = nodes.get(head)
      const merged = node !== undefined && found.has(node)
      answers.set(head, merged)
      // a missing commit is not cached, because it may be pushed later
      if (node !== undefined && top >= 0)
        await source.cache.getOrCompute(source.directory, `merged ${head} ${into}`, answerBytes, async () => ({ merged }))
    }
  }
  return heads.map((head) => answers.get(head) ?? false)
}

/**
 * Without a commit-graph there are no generation numbers to bound the walk; for a single commit, the search for the
 * merge base is bounded by dates instead.
 */
async function findReachable(history: History, nodes: number[], into: number): Promise<Set<number>> {
  const [only, ...others] = nodes
  if (history.graph || only === undefined || others.length > 0) return reachableAmong(history, nodes, into)
  return new Set((await findUniqueMergeBase(history, only, into)) === only ? [only] : [])
}

/** The best common ancestor of two commits; null if there is none or more than one. Starts no process. */
export async function uniqueMergeBase(source: LogSource, ours: Oid, theirs: Oid): Promise<Oid | null> {
  const found = await cachedMergeBase(source, ours, theirs)
  return found === null || found === 'several' ? null : found
}

/** Null also if one of the commits does not exist. */
async function cachedMergeBase(source: LogSource, ours: Oid, theirs: Oid): Promise<Oid | 'several' | null> {
  const found = await source.cache.getOrCompute<{ base: Oid | 'several' | null }>(
    source.directory,
    `only base ${ours} ${theirs}`,
    answerBytes,
    async () => {
      const history = new History(await source.cache.graph(source.directory), source)
      const [left, right] = [await history.node(ours), await history.node(theirs)]
      if (left < 0 || right < 0) return null
      const base = await findUniqueMergeBase(history, left, right)
      return { base: typeof base === 'number' ? history.oid(base) : base }
    },
  )
  return found?.base ?? null
}

/** The best common ancestor of all commits; the first one if there are several. */
export async function mergeBase(source: LogSource, commits: Oid[]): Promise<Oid | null> {
  if (!commits.every(isOid)) return null
  if (commits.length === 2) {
    const base = await cachedMergeBase(source, ...(commits as [Oid, Oid]))
    if (base !== 'several') return base
  }
  const found = await source.cache.getOrCompute<{ base: Oid | null }>(source.directory, `base ${commits.join(' ')}`, answerBytes, async () => {
    const { stdout, exitCode } = await run(source, ['merge-base', ...(commits.length > 2 ? ['--octopus'] : []), ...commits], [1, 128])
    if (exitCode === 128) return null // one of the commits does not exist
    return { base: stdout.toString('latin1').split('\n', 1)[0] || null }
  })
  return found?.base ?? null
}

export async function aheadBehind(source: LogSource, a: Oid, b: Oid): Promise<{ ahead: number; behind: number }> {
  const none = { ahead: 0, behind: 0 }
  if (!isOid(a) || !isOid(b)) return none
  const found = await source.cache.getOrCompute(source.directory, `ahead ${a} ${b}`, answerBytes, async () => {
    const { stdout, exitCode } = await run(source, ['rev-list', '--left-right', '--count', `${a}...${b}`], [128])
    if (exitCode === 128) return null
    const [ahead = 0, behind = 0] = stdout.toString('latin1').split('\t').map(Number)
    return { ahead, behind }
  })
  return found ?? none
}

/** How often to retry when refs change during the search; after that the result is returned uncached. */
const MAX_ATTEMPTS = 3

/** Full names of the branches or tags that contain a commit; cached until one of the refs moves. */
export async function refsContaining(source: LogSource, refs: RefStore, commit: Oid, prefix: 'refs/heads/' | 'refs/tags/'): Promise<string[]> {
  if (!isOid(commit) || (!source.cachedCommit(commit) && (await source.objects.info(commit))?.type !== 'commit')) return []
  const find = async () => {
    const { stdout } = await run(source, ['for-each-ref', `--contains=${commit}`, '--format=%(refname)', prefix], [])
    return stdout.toString('utf8').split('\n').filter(Boolean)
  }
  const size = (names: string[]) => names.reduce((sum, name) => sum + 2 * name.length + 50, 100)
  for (let tried = 0; tried < MAX_ATTEMPTS; tried++) {
    const state = await fingerprintOf(refs, prefix)
    const found = await source.cache.getOrCompute(source.directory, `refs with ${commit} of ${state}`, size, async () => {
      const names = await find()
      return (await fingerprintOf(refs, prefix)) === state ? names : null
    })
    if (found) return [...found]
  }
  return find()
}

const HASH_CHUNK_CHARS = 16_384

/** A hash of the refs below a prefix and their values. */
async function fingerprintOf(refs: RefStore, prefix: string): Promise<string> {
  const hash = createHash('sha1').update(prefix)
  const turn = new Turn()
  let lines = ''
  for (const line of await refs.lines(prefix)) {
    lines += `${line}\n`
    if (lines.length < HASH_CHUNK_CHARS) continue
    hash.update(lines, 'latin1')
    lines = ''
    if (turn.over) await turn.end()
  }
  return hash.update(lines, 'latin1').digest('hex')
}

/**
 * The newest commit that changed each path, as `git log -1` finds it. Runs two processes at a time, because other
 * callers need the pool too.
 */
export async function lastCommits(source: LogSource, from: Oid, paths: string[]): Promise<(Oid | null)[]> {
  const found: (Oid | null)[] = new Array(paths.length).fill(null)
  let next = 0
  const work = async () => {
    for (let at = next++; at < paths.length; at = next++) found[at] = await lastCommit(source, from, paths[at] ?? '')
  }
  await Promise.all([work(), work()])
  return found
}

async function lastCommit(source: LogSource, from: Oid, path: string): Promise<Oid | null> {
  const plain = literalPath(path)
  if (plain === null || !isOid(from)) return null
  const last = await source.cache.getOrCompute<{ oid: Oid | null }>(source.directory, `last ${from} ${plain}`, answerBytes, async () => {
    const { stdout, exitCode } = await run(source, ['rev-list', '-1', from, '--', ...(plain === '' ? [] : [plain])], [128])
    return exitCode === 128 ? null : { oid: stdout.toString('latin1').trim() || null }
  })
  return last?.oid ?? null
}

const run = ({ pool, directory, env }: LogSource, args: string[], accept: number[]) => pool.run(directory, args, { accept, ...(env && { env }) })
