import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readGraph } from '../../src/git/history/commit-graph.js'
import { ObjectCache } from '../../src/git/object-cache.js'
import type { TestCommit, TestRepository } from '../support/git.js'
import { random, testRepositories } from '../support/reader.js'
import { rounds, seeds } from '../support/rounds.js'

const t = testRepositories()

/** Merge-heavy, with many equal dates and some that run backwards. */
function tangled(seed: number, amount: number): TestCommit[] {
  const { below, chance } = random(seed)
  let date = 1_600_000_000
  return Array.from({ length: amount }, (_, i) => {
    if (chance(0.5)) date += below(3) * 60
    const near = () => Math.max(0, i - 1 - below(12))
    const parents = i === 0 || chance(0.01) ? [] : [...new Set(chance(0.4) ? [near(), near(), ...(chance(0.1) ? [near(), near()] : [])] : [near()])]
    return { parents, date: chance(0.05) ? date - below(5_000) : date, files: { [`f${below(20)}`]: `${i}` } }
  })
}

/** Some commits of a history, those before them having been made. */
const partOf = (history: TestCommit[], start: number, end: number, made: string[]): TestCommit[] =>
  history.slice(start, end).map((commit) => ({
    ...commit,
    parents: (commit.parents ?? []).map((parent) => (Number(parent) >= start ? Number(parent) - start : (made[Number(parent)] ?? ''))),
  }))

const lines = (text: string) => text.split('\n').filter(Boolean)

/** All best common ancestors, in git's order. */
function basesOf(repository: TestRepository, a: string, b: string): string[] {
  try {
    return lines(repository.git('merge-base', '--all', a, b))
  } catch {
    return []
  }
}

describe('log', () => {
  const states = [
    { state: 'no graph', graph: (_: string) => {} },
    { state: 'a single graph', graph: 'write --reachable' },
    { state: 'a split chain', graph: 'split' },
    { state: 'commits newer than the graph', graph: 'older' },
    { state: 'a split chain and newer commits', graph: 'older split' },
  ]
  it.each(states)('orders a tangled history as git does, with $state (C-9)', { tags: ['long'] }, async ({ graph }) => {
    for (const seed of seeds(1, 3)) {
      const repository = t.make()
      const history = tangled(seed, 400)
      const kind = typeof graph === 'string' ? graph : ''
      const write = (...more: string[]) => repository.git('commit-graph', 'write', '--reachable', ...more)
      const refs = (oids: string[]) => {
        const lines = oids.map((oid, i) => (i % 7 === 0 ? `update refs/heads/b${i} ${oid}\n` : ''))
        repository.gitBytes(['update-ref', '--stdin'], lines.join(''))
      }
      let oids: string[] = []
      const parts = kind.includes('split') ? [100, 250, 330] : [330]
      for (const [n, part] of [...parts, 400].entries()) {
        const start = oids.length
        const added = repository.commits(...partOf(history, start, part, oids))
        oids = [...oids, ...added]
        refs(added)
        if (kind.includes('split') && n < parts.length) write('--split=no-merge')
        else if (kind.startsWith('older') && n === 0) write()
      }
      if (kind.startsWith('write')) write()
      if (kind === 'split') write('--split=no-merge')

      const tip = oids.at(-1) as string
      const other = oids[200] as string
      const expected = lines(repository.git('rev-list', tip))
      const { commits, total } = await repository.reader.log({ from: [tip], skip: 0, limit: 1_000 })
      expect(commits.map(({ oid }) => oid)).toEqual(expected)
      expect(total).toBe(expected.length)
      const page = await repository.reader.log({ from: [tip], skip: 30, limit: 20 })
      expect(page.commits.map(({ oid }) => oid)).toEqual(expected.slice(30, 50))

      const without = await repository.reader.log({ from: [tip], exclude: [other], skip: 0, limit: 1_000 })
      expect(without.commits.map(({ oid }) => oid)).toEqual(lines(repository.git('rev-list', tip, `^${other}`)))
      const both = await repository.reader.log({ from: [tip, oids[390] as string], skip: 0, limit: 1_000 })
      expect(both.commits.map(({ oid }) => oid)).toEqual(lines(repository.git('rev-list', tip, oids[390] as string)))
      const first = await repository.reader.log({ from: [tip], firstParent: true, skip: 0, limit: 1_000 })
      expect(first.commits.map(({ oid }) => oid)).toEqual(lines(repository.git('rev-list', '--first-parent', tip)))

      for (const [a, b] of [
        [tip, other],
        [other, tip],
        [oids[380], oids[390]],
      ] as [string, string][]) {
        const ancestor = lines(repository.git('rev-list', b)).includes(a)
        expect(await repository.reader.isAncestor(a, b)).toBe(ancestor)
        const [ahead, behind] = repository.git('rev-list', '--left-right', '--count', `${a}...${b}`).trim().split('\t').map(Number)
        expect(await repository.reader.aheadBehind(a, b)).toEqual({ ahead, behind })
      }
      const { below } = random(seed)
      for (let n = 0; n < 8; n++) {
        const [a, b] = [oids[below(400)], oids[n % 3 === 0 ? below(400) : 300 + below(100)]] as [string, string]
        const bases = basesOf(repository, a, b)
        expect([a, b, await repository.reader.uniqueMergeBase(a, b)]).toEqual([a, b, bases.length === 1 ? bases[0] : null])
        expect([a, b, await repository.reader.mergeBase(a, b)]).toEqual([a, b, bases[0] ?? null])
      }
      const heads = oids.filter((_, i) => i % 40 === 0)
      const contained = new Set(lines(repository.git('rev-list', tip)))
      expect(await repository.reader.merged(heads, tip)).toEqual(heads.map((head) => contained.has(head)))
      expect(await repository.reader.merged(heads, tip)).toEqual(heads.map((head) => contained.has(head)))
    }
  })

  it('orders the history of each head by those of earlier ones that are remembered (C-9)', { tags: ['long'] }, async () => {
    for (const seed of seeds(2, 6))
      for (const graph of [false, true]) {
        const repository = t.make()
        const oids = repository.commits(...tangled(seed, 120))
        if (graph) {
          repository.gitBytes(
            ['update-ref', '--stdin'],
            oids
              .slice(0, 60)
              .map((oid, i) => `update refs/heads/b${i} ${oid}\n`)
              .join(''),
          )
          repository.git('commit-graph', 'write', '--reachable')
        }
        for (const head of oids.filter((_, i) => i > 20 && i % 3 === 0)) {
          const { commits, total } = await repository.reader.log({ from: [head], skip: 0, limit: 1_000 })
          const expected = lines(repository.git('rev-list', head))
          expect([seed, commits.map(({ oid }) => oid)]).toEqual([seed, expected])
          expect(total).toBe(expected.length)
        }
      }
  })

  it('counts exactly the commits between two dates, both included, wherever they stand (C-12, C-13)', async () => {
    const repository = t.make()
    const dates = [100, 900, 200, 500, 500, 50, 800, 500]
    const oids = repository.commits(...dates.map((date) => ({ date })))
    const tip = oids.at(-1) as string
    const { commits, total } = await repository.reader.log({ from: [tip], since: 200, until: 500, skip: 1, limit: 2 })
    expect(total).toBe(4)
    expect(commits.map(({ oid }) => oid)).toEqual([oids[4], oids[3]])
    expect((await repository.reader.log({ from: [tip], since: 901, skip: 0, limit: 9 })).total).toBe(0)
  })

  it('lists the commits of a folder, and those of a file along its renames (C-11)', async () => {
    const repository = t.make()
    const text = 'one\ntwo\nthree\nfour\nfive\n'
    const oids = repository.commits(
      { files: { 'old.txt': text, 'd/x': 'x' } },
      { files: { 'd/y': 'y' } },
      { files: { 'old.txt': null, 'new.txt': text } },
      { files: { 'new.txt': `${text}six\n` } },
      { files: { other: 'o' } },
    )
    const tip = oids.at(-1) as string
    const log = async (path: string) => (await repository.reader.log({ from: [tip], path, skip: 0, limit: 20 })).commits.map(({ oid }) => oid)
    expect(await log('new.txt')).toEqual([oids[3], oids[2], oids[0]])
    expect(await log('d')).toEqual([oids[1], oids[0]])
    expect(await log('d/')).toEqual([oids[1], oids[0]])
    expect(await log('')).toHaveLength(5)
    expect(await repository.reader.lastCommits(tip, ['new.txt', 'd', 'none', 'd/x', ''])).toEqual([oids[3], oids[1], null, oids[0], tip])
  })

  it('follows files through renames, copies, deletions and merges as git does (C-11)', { tags: ['long'] }, async () => {
    for (const seed of seeds(1, 3)) {
      const { below, chance } = random(seed)
      const repository = t.make()
      const names = ['a', 'b', 'c', 'd/a', 'd/b']
      const text = (n: number) => Array.from({ length: 30 }, (_, line) => `line ${line} ${line < n % 7 ? n : ''}`).join('\n')
      const content = new Map<string, string>([['a', text(1)]])
      const commits: TestCommit[] = tangled(seed, 150).map((commit, i) => {
        const [one, two] = [names[below(5)] as string, names[below(5)] as string]
        const known = content.get(one)
        const files: Record<string, string | null> = { [`other${below(9)}`]: `${i}` }
        if (known && one !== two && chance(0.3)) {
          files[two] = known
          if (chance(0.8)) files[one] = null
        } else files[one] = known && chance(0.2) ? null : known ? `${known}\n${i}` : text(i)
        for (const [name, now] of Object.entries(files)) now === null ? content.delete(name) : content.set(name, now)
        return { ...commit, files: i === 0 ? { a: text(1) } : files }
      })
      const oids = repository.commits(...commits)
      if (chance(0.5)) repository.git('commit-graph', 'write', '--reachable', '--changed-paths')
      for (const head of ([oids.at(-1), oids[120], oids[90]] as string[]).slice(0, rounds(1, 3)))
        for (const path of lines(repository.git('ls-tree', '-r', '--name-only', head))) {
          const { commits: found, total } = await repository.reader.log({ from: [head], path, skip: 0, limit: 1_000 })
          const expected = lines(repository.git('log', '--follow', '-M50%', '--format=%H', head, '--', path))
          expect([seed, path, found.map(({ oid }) => oid)]).toEqual([seed, path, expected])
          expect(total).toBe(expected.length)
        }
    }
  })

  it.each(['--output=made', '-h', '--', '*', ':(top)d', ':!d', ':/d', '[d]', '/d', '../d', 'd/../d', 'a\0b', 'd//x', '.'])(
    'takes %j as the name of a file that is not there (SEC-79, SEC-80)',
    async (path) => {
      const repository = t.make()
      const [tip = ''] = repository.commits({ files: { 'd/x': 'x' } })
      expect(await repository.reader.log({ from: [tip], path, skip: 0, limit: 20 })).toEqual({ commits: [], total: 0 })
      expect(await repository.reader.lastCommits(tip, [path])).toEqual([null])
      expect(await repository.reader.entry(tip, path)).toBeNull()
      expect(repository.faults).toEqual([])
    },
  )

  it('finds files whose names look like patterns or options (SEC-80)', async () => {
    const repository = t.make()
    const [tip = ''] = repository.commits({ files: { '*': 'x', '-x': 'y', ':(top)q': 'z', '--': 'a' } })
    for (const path of ['*', '-x', ':(top)q', '--']) expect((await repository.reader.log({ from: [tip], path, skip: 0, limit: 9 })).total).toBe(1)
  })

  it('sees new commits and a rewritten graph at once, and answers nothing for missing commits', async () => {
    const repository = t.make()
    const log = (oid: string) => repository.reader.log({ from: [oid], skip: 0, limit: 1 })
    const [one = ''] = repository.commits({})
    expect((await log(one)).total).toBe(1)
    repository.git('commit-graph', 'write', '--reachable')
    const [two = ''] = repository.commits({})
    expect((await log(two)).total).toBe(2)
    rmSync(join(repository.directory, 'objects/info/commit-graph'), { force: true })
    const [three = ''] = repository.commits({})
    expect((await log(three)).total).toBe(3)
    expect(await log('e'.repeat(40))).toEqual({ commits: [], total: 0 })
    expect(await repository.reader.isAncestor('e'.repeat(40), three)).toBe(false)
    expect(await repository.reader.mergeBase('e'.repeat(40), three)).toBeNull()
    expect(await repository.reader.mergeBase(one, three)).toBe(one)
    repository.git('tag', 'v1', one)
    repository.git('tag', 'tree', `${one}^{tree}`)
    expect(await repository.reader.refsContaining(one, 'refs/heads/')).toEqual(['refs/heads/main'])
    expect(await repository.reader.refsContaining(one, 'refs/tags/')).toEqual(['refs/tags/v1'])
    expect(await repository.reader.refsContaining('e'.repeat(40), 'refs/tags/')).toEqual([])
  })
})

/** How many processes the pool starts while something is done. */
async function startedBy(work: () => Promise<unknown>) {
  const { pool } = t.resources
  const { start } = pool
  let count = 0
  pool.start = (...args) => {
    count++
    return start.apply(pool, args)
  }
  await work().finally(() => {
    pool.start = start
  })
  return count
}

it('what contains a commit is asked of git once, and again when a ref has moved (RE-8)', async () => {
  const repository = t.make()
  const [one = '', two = ''] = repository.commits({}, {})
  repository.git('branch', 'old', one)
  const containing = (oid: string) => repository.reader.refsContaining(oid, 'refs/heads/')
  expect(await containing(one)).toEqual(['refs/heads/main', 'refs/heads/old'])
  expect(await containing(two)).toEqual(['refs/heads/main'])
  expect(await startedBy(async () => expect(await containing(two)).toEqual(['refs/heads/main']))).toBe(0)
  repository.git('branch', '-f', 'old', two)
  expect(await containing(two)).toEqual(['refs/heads/main', 'refs/heads/old'])
  repository.git('pack-refs', '--all')
  repository.git('branch', '-D', 'old')
  expect(await containing(two)).toEqual(['refs/heads/main'])
  const answer = await containing(one)
  answer.pop()
  expect(await containing(one)).toEqual(['refs/heads/main'])
})

it('of graphs that are larger than their limit, the last one is kept (SEC-150)', async () => {
  const memory = new ObjectCache(1_000)
  const [one, other] = [t.make(), t.make()]
  for (const repository of [one, other]) {
    repository.commits({})
    repository.git('commit-graph', 'write', '--reachable')
  }
  const read = (repository: TestRepository) => memory.graph(repository.directory)
  const graph = await read(one)
  expect(graph?.count).toBe(1)
  expect(await read(one)).toBe(graph)
  await read(other)
  expect(await read(one)).not.toBe(graph)
  one.commits({})
  one.git('commit-graph', 'write', '--reachable')
  expect((await read(one))?.count).toBe(2)
  memory.forget(one.directory)
  rmSync(join(one.directory, 'objects/info/commit-graph'))
  expect(await read(one)).toBeNull()
})

it('a graph that is read on top of an earlier one is the same as one that is read whole', async () => {
  const repository = t.make()
  const memory = new ObjectCache()
  const write = (...how: string[]) => repository.git('commit-graph', 'write', '--reachable', ...how)
  const history = tangled(3, 200)
  let oids: string[] = []
  for (const [end, how] of [
    [60, '--split=no-merge'],
    [100, '--split=no-merge'],
    [140, '--split=no-merge'],
    [170, '--split'],
    [185, '--split=no-merge'],
    [200, '--split=replace'],
  ] as const) {
    const start = oids.length
    const added = repository.commits(...partOf(history, start, end, oids))
    oids = [...oids, ...added]
    repository.gitBytes(['update-ref', '--stdin'], added.map((oid, i) => `update refs/heads/b${start + i} ${oid}\n`).join(''))
    write(how)
    const [kept, read] = [await memory.graph(repository.directory), await readGraph(repository.directory)]
    expect(kept?.count).toBe(end)
    expect(kept).toEqual(read)
  }
})

describe('a walk through commits that no graph has', () => {
  it.each([
    ['one commit has them all as parents', true],
    ['they are asked for side by side', false],
  ])('starts a bounded number of processes for many commits that share nothing, where %s (SEC-143)', { tags: ['long'] }, async (_, joined) => {
    const repository = t.make()
    const many = rounds(1_000, 5_000)
    const roots = Array.from({ length: many }, (_, i): TestCommit => ({ branch: `b${i}`, parents: [], message: `${joined} ${i}` }))
    const oids = repository.commits(...roots)
    const tree = repository.git('rev-parse', `${oids[0]}^{tree}`).trim()
    const raw = `tree ${tree}\n${oids.map((oid) => `parent ${oid}\n`).join('')}author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\njoin\n`
    const tip = repository.gitBytes(['hash-object', '-t', 'commit', '-w', '--stdin'], raw).toString().trim()
    let total = 0
    const started = await startedBy(async () => {
      const from = joined ? [tip] : oids
      total = (await repository.reader.log({ from, skip: 0, limit: 1 })).total
    })
    expect(total).toBe(joined ? many + 1 : many)
    expect(started).toBeLessThan(80)
    if (!joined) return
    expect(await startedBy(() => repository.reader.merged([oids[5] as string], tip))).toBeLessThan(80)
    expect(await repository.reader.countNew([oids[0] as string], tip, 20_000)).toBe(many)
  })
})
