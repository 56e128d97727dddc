import { describe, expect, it } from 'vitest'
import { mergeInProcess } from '../../src/git/merge/merge-trees.js'
import { ObjectBuffer } from '../../src/git/objects/object-buffer.js'
import { gitEnvironment } from '../../src/git/process/environment.js'
import { aBareRepository, type TestCommit, type TestFile } from '../support/git.js'
import { random } from '../support/reader.js'
import { seeds } from '../support/rounds.js'
import { runSync } from '../support/run-sync.js'
import { git, nativeReader } from './reader.js'

type Files = Map<string, string>

const FOLDERS = ['', 'a/', 'a/x/', 'a/y/', 'b/', 'b/x/', 'c/']
const content = (word: string) => Array.from({ length: 12 }, (_, i) => `${word} line ${i}\n`).join('')

/** What a side may do: edits, additions, deletions, renames of files and whole folders, folders that become files and the other way round, modes. */
function change(files: Files, { below, chance }: ReturnType<typeof random>, word: string) {
  const paths = [...files.keys()]
  const path = paths[below(paths.length)]
  const folder = FOLDERS[below(FOLDERS.length)] as string
  const put = (to: string, text: string) => {
    for (const other of files.keys()) if (other.startsWith(`${to}/`) || to.startsWith(`${other}/`)) files.delete(other)
    files.set(to, text)
  }
  const kind = below(9)
  if (kind < 2 && path) files.set(path, `${files.get(path)}${word}\n`)
  else if (kind === 2) put(`${folder}${'klm'[below(3)]}`, content(`new ${below(2)}`))
  else if (kind === 3 && path && files.size > 2) files.delete(path)
  else if (kind === 4 && path) {
    const text = files.get(path) as string
    files.delete(path)
    put(`${folder}moved${below(3)}`, chance(0.5) ? text : `${text}${word}\n`)
  } else if (kind === 5 && folder !== '') {
    const to = FOLDERS[1 + below(FOLDERS.length - 1)] as string
    for (const old of paths.filter((name) => name.startsWith(folder))) {
      const text = files.get(old) as string
      files.delete(old)
      put(`${to}${old.slice(folder.length)}`, text)
    }
  } else if (kind === 6 && folder !== '') put(folder.slice(0, -1), 'a file where there may be a folder\n')
  else if (kind === 7 && path) files.set(path, `${files.get(path)}the same on both sides\n`)
  else if (kind === 8 && path) files.set(path, `+x${files.get(path)}`)
}

const stored = (text: string): TestFile => (text.startsWith('+x') ? { mode: '100755', content: text.replace(/^(\+x)+/, '') } : text)

function commitOf(before: Files, after: Files, rest: Partial<TestCommit> = {}): TestCommit {
  // what is gone goes first: a name may turn from folder to file
  const gone = [...before.keys()].filter((path) => !after.has(path)).map((path): [string, TestFile] => [path, null])
  const there = [...after].filter(([path, text]) => before.get(path) !== text).map(([path, text]): [string, TestFile] => [path, stored(text)])
  return { ...rest, files: [...gone, ...there] }
}

describe('mergeInProcess', () => {
  it.each(seeds(1, 3))(
    'where it has an answer, it is the one of git merge-tree, over 150 pairs of sides (%i) (MR-64, SEC-103)',
    { tags: ['long'] },
    async (seed) => {
      const bare = aBareRepository()
      try {
        const chances = random(seed)
        const readObject = nativeReader(bare.directory)
        const seen = { apart: 0, left: 0 }
        const commits: TestCommit[] = []
        for (let n = 0; n < 150; n++) {
          const start: Files = new Map()
          for (let i = 0; i < 9; i++) start.set(`${FOLDERS[i % FOLDERS.length]}${'fgh'[chances.below(3)]}${i}`, content(`file ${i}`))
          const at = commits.length
          commits.push({ ...commitOf(new Map(), start, { branch: `base${n}`, parents: [] }) })
          for (const side of ['ours', 'theirs']) {
            const files = new Map(start)
            for (let i = 1 + chances.below(3); i > 0; i--) change(files, chances, `${side} ${n} ${i}`)
            commits.push(commitOf(start, files, { branch: `${side}${n}`, parents: [at] }))
          }
        }
        const oids = bare.commits(...commits)
        const trees = git(bare.directory, ['rev-parse', ...oids.map((oid) => `${oid}^{tree}`)])
          .trim()
          .split('\n')
        for (let n = 0; n < 150; n++) {
          const [base, ours, theirs] = trees.slice(3 * n) as [string, string, string]
          const stage = new ObjectBuffer()
          const merged = await mergeInProcess(readObject, stage, base, ours, theirs)
          seen[merged === null ? 'left' : 'apart']++
          if (merged === null) continue
          const sides = oids.slice(3 * n + 1, 3 * n + 3)
          const out = runSync('git', ['merge-tree', '--write-tree', '--no-messages', ...sides], { cwd: bare.directory, env: gitEnvironment() })
          expect([n, out.toString().trim()]).toEqual([n, merged])
          // all that the tree needs is there or staged
          const known = new Set(stage.objects.map(({ oid }) => oid))
          expect(known.has(merged) || (await readObject(merged)) !== null).toBe(true)
        }
        expect(seen.apart).toBeGreaterThan(40)
        expect(seen.left).toBeGreaterThan(40)
      } finally {
        bare.remove()
      }
    },
  )

  it('leaves to git what git would write in another way: odd modes, an entry without anything in it', async () => {
    const bare = aBareRepository()
    try {
      const blob = git(bare.directory, ['hash-object', '-w', '--stdin'], 'x').trim()
      const empty = git(bare.directory, ['hash-object', '-t', 'tree', '-w', '--stdin'], '').trim()
      const treeOf = (entries: [mode: string, name: string, oid: string][]) => {
        const bytes = Buffer.concat(entries.flatMap(([mode, name, oid]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]))
        return git(bare.directory, ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], bytes).trim()
      }
      const plain: [string, string, string] = ['100644', 'z', blob]
      for (const odd of [
        ['100664', 'a', blob],
        ['40000', 'a', empty],
      ] as [string, string, string][]) {
        const sides = [
          [odd, plain],
          [odd, ['100755', 'z', blob]],
          [odd, ['100644', 'b', blob], plain],
        ].map((entries) => treeOf(entries as [string, string, string][])) as [string, string, string]
        expect(await mergeInProcess(nativeReader(bare.directory), new ObjectBuffer(), ...sides)).toBeNull()
      }
    } finally {
      bare.remove()
    }
  })
})
