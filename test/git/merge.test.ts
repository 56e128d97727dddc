import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { draftPick } from '../../src/git/merge/merge.js'
import type { PickResult } from '../../src/git/types.js'
import { aBareRepository, type TestCommit, type TestFile, type TestRepository } from '../support/git.js'
import { random } from '../support/reader.js'
import { rounds, seeds } from '../support/rounds.js'
import { git, nativeReader, PERSON } from './reader.js'
import { workshop } from './support.js'

const { pool, folder, repository } = workshop()

const pick = (directory: string, onto: string, commit: string, reverse = false, largest?: number): Promise<PickResult> =>
  draftPick(
    { directory, pool, readObject: nativeReader(directory) },
    { commit, onto, reverse, author: PERSON, committer: PERSON, message: 'a pick\n' },
    largest,
  )

/** The outcome in a word: the tree it came to, or why there is none. */
const outcome = (directory: string, result: PickResult, onto: string) =>
  'tree' in result ? result.tree : result.refusal === 'unchanged' ? git(directory, ['rev-parse', `${onto}^{tree}`]).trim() : 'conflict'

/** What native git makes of it in a work tree. */
async function nativePicks(bare: string) {
  const tree = join(await folder(), 'tree')
  git(bare, ['clone', '-q', '--shared', '--no-checkout', bare, tree])
  return (onto: string, commit: string, reverse: boolean) => {
    git(tree, ['reset', '-q', '--hard', onto])
    git(tree, ['clean', '-qdfx'])
    const mainline = git(tree, ['rev-list', '--parents', '-1', commit]).trim().split(' ').length > 2 ? ['-m', '1'] : []
    try {
      git(tree, [reverse ? 'revert' : 'cherry-pick', '-n', ...mainline, commit])
    } catch {
      return git(tree, ['ls-files', '-u']) === '' ? 'fault' : 'conflict'
    }
    return git(tree, ['write-tree']).trim()
  }
}

const text = (name: string, lines: number) => Array.from({ length: lines }, (_, i) => `${name} line ${i} of many\n`)

/** Two branches that go apart from one start, with all that happens to files: edits near each other, renames of files and folders, deletions, modes, links, submodules, bytes; and merges on the way. */
function diverged(seed: number, amount: number): { bare: TestRepository; main: string[]; topic: string[] } {
  const bare = aBareRepository()
  const { below, chance } = random(seed)
  type Files = Map<string, { mode: '100644' | '100755' | '120000' | '160000'; lines: string[] }>
  const start: Files = new Map()
  for (let i = 0; i < 10; i++) start.set(`dir${i % 3}/file${i}.txt`, { mode: '100644', lines: text(`f${i}`, 30) })
  start.set('link', { mode: '120000', lines: ['dir0/file0.txt'] })
  start.set('module', { mode: '160000', lines: ['a'.repeat(40)] })
  start.set('bytes', { mode: '100644', lines: ['\0\u0001', ...text('b', 20)] })
  start.set('end', { mode: '100644', lines: ['no newline at the end'] })
  const asFile = (entry: { mode: '100644' | '100755' | '120000' | '160000'; lines: string[] } | undefined): TestFile =>
    entry ? { mode: entry.mode, content: entry.lines.join('') } : null

  const commits: TestCommit[] = [{ files: Object.fromEntries([...start].map(([path, entry]) => [path, asFile(entry)])) }]
  const on = { main: [] as number[], topic: [] as number[] }
  for (const branch of ['main', 'topic'] as const) {
    const files: Files = new Map([...start].map(([path, { mode, lines }]) => [path, { mode, lines: [...lines] }]))
    for (let n = 0; n < amount; n++) {
      const before = new Map([...files].map(([path, entry]) => [path, JSON.stringify(entry)]))
      const paths = [...files.keys()]
      const path = paths[below(paths.length)] as string
      const entry = files.get(path) as { mode: '100644' | '100755' | '120000' | '160000'; lines: string[] }
      const kind = below(12)
      if (entry.mode === '160000') entry.lines = [String.fromCharCode(97 + below(6)).repeat(40)]
      else if (entry.mode === '120000') entry.lines = [`dir0/file${below(4)}.txt`]
      else if (kind < 5) entry.lines[below(entry.lines.length)] = `${branch} ${n} was here\n`
      else if (kind === 5) entry.lines.splice(below(entry.lines.length), chance(0.5) ? 1 : 0, `${branch} ${n} between\n`)
      else if (kind === 6) entry.mode = entry.mode === '100644' ? '100755' : '100644'
      else if (kind === 7 && files.size > 8) files.delete(path)
      else if (kind === 8) files.set(`dir${below(3)}/new${below(4)}.txt`, { mode: '100644', lines: text(`new ${below(2)}`, 12) })
      else if (kind === 9) {
        files.delete(path)
        if (chance(0.5)) entry.lines[0] = `${branch} ${n} renamed\n`
        files.set(`dir${below(3)}/moved${below(30)}.txt`, entry)
      } else if (kind === 10) {
        const from = `dir${below(3)}/`
        for (const old of paths.filter((name) => name.startsWith(from))) {
          files.set(`${from.slice(0, -1)}x/${old.slice(from.length)}`, files.get(old) as never)
          files.delete(old)
        }
      } else entry.lines.push(`${branch} ${n} at the end\n`)
      const changed = [...new Set([...before.keys(), ...files.keys()])].filter((name) => before.get(name) !== JSON.stringify(files.get(name)))
      const own = on[branch]
      const parents = [own.at(-1) ?? 0, ...(chance(0.15) && own.length > 4 ? [own[own.length - 3] as number] : [])]
      // what is gone goes first: a name may turn from folder to file
      const ordered = changed.sort((a, b) => Number(files.has(a)) - Number(files.has(b)))
      commits.push({ branch, parents, files: Object.fromEntries(ordered.map((name) => [name, asFile(files.get(name))])) })
      own.push(commits.length - 1)
    }
  }
  const oids = bare.commits(...commits)
  return { bare, main: on.main.map((at) => oids[at] as string), topic: on.topic.map((at) => oids[at] as string) }
}

describe('draftPick', () => {
  it.each(seeds(1, 2))(
    'has the result of git cherry-pick and git revert for commits of two branches (history %i) (C-50, SEC-103)',
    { tags: ['long'] },
    async (seed) => {
      const { bare, main, topic } = diverged(seed, rounds(20, 40))
      const { directory } = bare
      const native = await nativePicks(directory)
      const seen = { clean: 0, conflict: 0 }
      const compare = async (onto: string, commit: string, reverse: boolean) => {
        const ours = outcome(directory, await pick(directory, onto, commit, reverse), onto)
        const theirs = native(onto, commit, reverse)
        expect([commit, reverse, ours]).toEqual([commit, reverse, theirs])
        seen[ours === 'conflict' ? 'conflict' : 'clean']++
      }
      const head = main.at(-1) as string
      for (const commit of topic) await compare(head, commit, false)
      for (const commit of main.filter((_, i) => i % 3 === 0)) await compare(head, commit, true)
      expect(seen.clean).toBeGreaterThan(rounds(5, 10))
      expect(seen.conflict).toBeGreaterThan(rounds(2, 5))
      expect(git(directory, ['fsck', '--strict', '--full']).replace(/^(dangling|notice).*\n/gm, '')).toBe('')
      bare.remove()
    },
  )

  it('leaves the objects that the commit needs and nothing else behind (SEC-157, SEC-158)', async () => {
    const bare = aBareRepository()
    const lines = text('a', 20)
    const at = (i: number, word: string) => lines.map((line, n) => (n === i ? `${word}\n` : line)).join('')
    const [, onto, commit] = bare.commits(
      { files: { 'd/a': lines.join(''), 'e/b': 'b\n' } },
      { files: { 'd/a': at(2, 'ours') } },
      { branch: 'topic', parents: [0], files: { 'd/a': at(15, 'theirs') } },
    ) as [string, string, string]
    const count = () => bare.git('count-objects', '-v').replace(/^size.*\n/gm, '')
    const before = count()
    const [loose = 0] = /\d+/.exec(before)?.map(Number) ?? []
    const others = () => readdirSync(join(bare.directory, 'objects')).filter((name) => !/^[0-9a-f]{2}$/.test(name))
    const folders = others()
    const result = await pick(bare.directory, onto, commit)
    if (!('commit' in result)) throw new Error('a conflict')
    // a blob, two trees and the commit
    expect(count()).toBe(before.replace(`count: ${loose}`, `count: ${loose + 4}`))
    expect(others()).toEqual(folders)
    expect(bare.git('show', `${result.commit}:d/a`)).toBe(at(2, 'ours').replace('a line 15 of many', 'theirs'))
    expect(bare.git('rev-parse', `${result.commit}^`).trim()).toBe(onto)
    bare.git('update-ref', 'refs/heads/main', result.commit)
    expect(bare.git('fsck', '--strict', '--full', '--no-dangling')).toBe('')
    expect(count()).toContain('garbage: 0')
    bare.remove()
  })

  it('says apart a conflict and nothing to do, and writes nothing for either (SEC-103)', async () => {
    const bare = aBareRepository()
    const [root, ours, theirs] = bare.commits(
      { files: { a: 'a\n' } },
      { files: { a: 'ours\n' } },
      { branch: 'topic', parents: [0], files: { a: 'theirs\n' } },
    ) as [string, string, string]
    const all = () => readdirSync(join(bare.directory, 'objects'), { recursive: true })
    const before = all()
    expect(await pick(bare.directory, ours, theirs)).toEqual({ refusal: 'conflict' })
    expect(await pick(bare.directory, ours, ours)).toEqual({ refusal: 'unchanged' })
    expect(await pick(bare.directory, root, ours, true)).toEqual({ refusal: 'unchanged' })
    expect(all()).toEqual(before)
    bare.remove()
  })

  it('takes a root commit against nothing, down to an empty tree that passes every check', async () => {
    const bare = aBareRepository()
    const [root, other] = bare.commits({ files: { a: 'a\n' } }, { branch: 'other', parents: [], files: { b: 'b\n' } }) as [string, string]
    const both = await pick(bare.directory, root, other)
    if (!('commit' in both)) throw new Error('a conflict')
    expect(bare.git('ls-tree', '--name-only', both.commit)).toBe('a\nb\n')
    const none = await pick(bare.directory, root, root, true)
    if (!('commit' in none)) throw new Error('a conflict')
    bare.git('update-ref', 'refs/heads/none', none.commit)
    expect([none.tree, bare.git('fsck', '--strict', '--full', '--no-dangling')]).toEqual(['4b825dc642cb6eb9a060e54bf8d69288fbee4904', ''])
    bare.remove()
  })

  it('a file beyond what may be held in memory is a conflict, not a fault (SEC-147)', async () => {
    const bare = aBareRepository()
    const big = (word: string, end: string) =>
      Buffer.concat([Buffer.from(`${word}\n`), Buffer.alloc(3_000_000, `${'x'.repeat(99)}\n`), Buffer.from(end)])
    const [, ours, theirs] = bare.commits(
      { files: { big: big('a', 'b') } },
      { files: { big: big('ours', 'b') } },
      { branch: 'topic', parents: [0], files: { big: big('a', 'theirs'), small: 's' } },
    ) as [string, string, string]
    expect(await pick(bare.directory, ours, theirs, false, 2_000_000)).toEqual({ refusal: 'conflict' })
    expect(await pick(bare.directory, ours, theirs, false, 20_000_000)).toHaveProperty('commit')
    bare.remove()
  })

  it('names what cannot be read', async () => {
    const directory = await repository()
    await expect(pick(directory, 'a'.repeat(40), 'b'.repeat(40))).rejects.toThrow('cannot be read')
  })
})
