import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CatFile } from '../../src/git/objects/cat-file.js'
import { PackedRefsCache } from '../../src/git/refs/packed-refs.js'
import { RefStore } from '../../src/git/refs/ref-store.js'
import { answerLsRefs, readLsRefs } from '../../src/git/wire/ls-refs.js'
import { rounds } from '../support/rounds.js'
import { git, workshop } from './support.js'

const { pool, repository } = workshop()
const packed = new PackedRefsCache(1_000_000)
const opened: CatFile[] = []
afterAll(() => {
  for (const each of opened) each.retire()
})

const line = (text: string) => {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}
/** The body of a call of ls-refs; the arguments are in latin1. */
const bodyOf = (args: string[], capabilities = ['agent=git/2.39.5', 'object-format=sha1'], command = 'command=ls-refs') =>
  Buffer.concat([line(command), ...capabilities.map(line), Buffer.from('0001'), ...args.map(line), Buffer.from('0000')])

const HIDDEN = ['-c', 'transfer.hideRefs=refs/keep-around', '-c', 'transfer.hideRefs=refs/roost']
const gits = (directory: string, body: Buffer) =>
  git(directory, [...HIDDEN, 'upload-pack', '--stateless-rpc', '.'], body, { GIT_PROTOCOL: 'version=2' })

/** What the service answers; null: it leaves the answer to git. */
async function ours(directory: string, body: Buffer): Promise<string | null> {
  const objects = new CatFile(pool, directory)
  opened.push(objects)
  const { request: asked, body: whole } = await readLsRefs(Readable.from([body]))
  const answer = asked && (await answerLsRefs(new RefStore(directory, packed), asked, async (oid) => (await objects.peel(oid))?.oid ?? null))
  if (answer) return (await buffer(answer)).toString('latin1')
  expect(await buffer(whole)).toEqual(body)
  return null
}

const ALL = ['peel', 'symrefs', 'unborn']
const CLONE = [...ALL, 'ref-prefix HEAD', 'ref-prefix refs/heads/', 'ref-prefix refs/tags/']
const ofBranch = (name: string) => [
  ...ALL,
  ...['', 'refs/', 'refs/tags/', 'refs/heads/', 'refs/remotes/'].map((before) => `ref-prefix ${before}${name}`),
  `ref-prefix refs/remotes/${name}/HEAD`,
]
const QUESTIONS = [
  [],
  ALL,
  CLONE,
  ['peel'],
  ['symrefs'],
  ['unborn'],
  ofBranch('main'),
  ofBranch('a/b'),
  ofBranch('none'),
  ['ref-prefix H', 'symrefs'],
  ['ref-prefix HEADS'],
  ['ref-prefix refs/'],
  ['ref-prefix ref'],
  ['ref-prefix refs/heads/a', 'ref-prefix refs/heads/a/b'],
  ['ref-prefix refs/merge-requests/', 'ref-prefix refs/keep-around/'],
  ['ref-prefix refs/tags/v', 'peel'],
  ['ref-prefix ../', 'ref-prefix refs/heads/../', 'ref-prefix /'],
  ['ref-prefix refs/heads/\xc3\xbcn'],
  ['peel\n', 'ref-prefix refs/tags/\n'],
]

let filled: string
beforeAll(async () => {
  filled = await repository()
  const tree = git(filled, ['mktree'], '').trim()
  const commit = git(filled, ['commit-tree', '-m', 'x', tree]).trim()
  git(filled, ['tag', '-a', '-m', 'annotated', 'v2', commit])
  git(filled, ['tag', '-a', '-m', 'of a tag', 'v3', 'v2'])
  git(filled, ['tag', '-a', '-m', 'of a tree', 'v4', tree])
  git(filled, ['tag', 'plain-tree', tree])
  for (const ref of [
    'heads/main',
    'heads/a/b',
    'heads/ab',
    'heads/ünï',
    'tags/v1',
    'notes/commits',
    'merge-requests/1/head',
    'keep-around/x',
    'roost/y',
  ])
    git(filled, ['update-ref', `refs/${ref}`, commit])
})

describe('ls-refs of protocol 2 (GH-5, GH-8, SEC-86)', () => {
  const everywhere = async (directory: string) => {
    for (const args of QUESTIONS) {
      const body = bodyOf(args)
      expect([args, await ours(directory, body)]).toEqual([args, gits(directory, body)])
    }
  }

  it('answers byte for byte what git answers: of an empty repository, and of one with all kinds of refs', async () => {
    await everywhere(await repository('trunk'))
    await everywhere(filled)
    expect(await ours(filled, bodyOf(ALL))).not.toMatch(/keep-around|roost/)
  })

  it('the same once refs are packed, and moved or deleted afterwards', async () => {
    git(filled, ['pack-refs', '--all'])
    await everywhere(filled)
    git(filled, ['update-ref', 'refs/heads/a/b', git(filled, ['commit-tree', '-m', 'y', git(filled, ['mktree'], '').trim()]).trim()])
    git(filled, ['tag', '-f', '-a', '-m', 'moved', 'v1', 'main'])
    git(filled, ['update-ref', '-d', 'refs/heads/ab'])
    await everywhere(filled)
    const file = readFileSync(join(filled, 'packed-refs')).toString('latin1')
    writeFileSync(join(filled, 'packed-refs'), Buffer.from(file.replace('refs/tags/plain-tree', 'refs/tags/plain-\xe4'), 'latin1'))
    await everywhere(filled)
  })

  it('a HEAD without a branch, and one whose branch is not there', async () => {
    const directory = await repository()
    const commit = git(directory, ['commit-tree', '-m', 'x', git(directory, ['mktree'], '').trim()]).trim()
    git(directory, ['update-ref', 'refs/heads/other', commit])
    await everywhere(directory)
    git(directory, ['update-ref', '--no-deref', 'HEAD', commit])
    await everywhere(directory)
  })

  it('lists a ref whose object is missing, and leaves one that is damaged to git', async () => {
    const directory = await repository()
    const commit = git(directory, ['commit-tree', '-m', 'x', git(directory, ['mktree'], '').trim()]).trim()
    git(directory, ['update-ref', 'refs/heads/main', commit])
    writeFileSync(join(directory, 'refs/heads/broken'), `${'1'.repeat(40)}\n`)
    writeFileSync(join(directory, 'refs/tags/broken'), `${'1'.repeat(40)}\n`)
    await everywhere(directory)
    writeFileSync(join(directory, 'refs/heads/odd'), 'no object id\n')
    expect(await ours(directory, bodyOf([]))).toBeNull()
  })

  it('any prefixes, of a repository with names that begin alike', { tags: ['long'] }, async () => {
    const directory = await repository()
    const commit = git(directory, ['commit-tree', '-m', 'x', git(directory, ['mktree'], '').trim()]).trim()
    const parts = ['a', 'ab', 'b', 'a.b', 'a-b', 'heads', 'ü']
    const names = parts.flatMap((one) => parts.map((two) => `${one}-x/${two}`))
    git(directory, ['update-ref', '--stdin'], [...names, ...parts].map((name) => `create refs/heads/${name} ${commit}\n`).join(''))
    const prefix = fc
      .array(fc.constantFrom('refs/', 'refs/heads/', 'heads/', 'HEAD', 'a', 'ab', '-x/', '/', '.', '-', 'b', 'ü'), { maxLength: 4 })
      .map((pieces) => `ref-prefix ${Buffer.from(pieces.join('')).toString('latin1')}`)
    for (const pack of [false, true]) {
      if (pack) git(directory, ['pack-refs', '--all', '--no-prune'])
      if (pack) for (const name of names.slice(0, 20)) rmSync(join(directory, `refs/heads/${name}`))
      await fc.assert(
        fc.asyncProperty(fc.array(prefix, { minLength: 1, maxLength: 4 }), fc.boolean(), async (args, peel) => {
          const body = bodyOf(peel ? ['peel', ...args] : args)
          expect(await ours(directory, body)).toBe(gits(directory, body))
        }),
        { numRuns: rounds(20, 120) },
      )
    }
  })

  it('leaves to git what only git can answer, and passes on the whole body', async () => {
    const directory = await repository()
    const commit = git(directory, ['commit-tree', '-m', 'x', git(directory, ['mktree'], '').trim()]).trim()
    git(directory, ['update-ref', 'refs/heads/main', commit])
    for (const body of [
      bodyOf([], [], 'command=fetch'),
      bodyOf(['bogus']),
      bodyOf(['peel'], ['object-format=sha256']),
      bodyOf(['peel'], ['server-option=x']),
      bodyOf(['ref-prefix refs/heads/\xe4']),
      bodyOf(['peel']).subarray(0, -4),
      Buffer.concat([bodyOf(['peel']), Buffer.from('0000')]),
      Buffer.from('0000'),
      Buffer.from('zzzz'),
      Buffer.alloc(0),
      bodyOf(Array.from({ length: 100 }, (_, i) => `ref-prefix refs/heads/b${i}-`)),
      bodyOf(Array.from({ length: 5_000 }, (_, i) => `ref-prefix refs/heads/b${i}`)),
    ])
      expect(await ours(directory, body)).toBeNull()
    git(directory, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/main'])
    expect(await ours(directory, bodyOf(ALL))).toBeNull()
    git(directory, ['symbolic-ref', '--delete', 'refs/heads/alias'])
    writeFileSync(Buffer.from(join(directory, 'refs/heads/v\xe4'), 'latin1'), `${commit}\n`)
    expect(await ours(directory, bodyOf(ALL))).toBeNull()
  })

  it('reads a body in pieces of any size', async () => {
    const body = bodyOf(CLONE)
    for (const size of [1, 3, 20, 64]) {
      const pieces = new PassThrough()
      const reading = readLsRefs(pieces)
      for (let at = 0; at < body.length; at += size) {
        pieces.write(body.subarray(at, at + size))
        await new Promise(setImmediate)
      }
      pieces.end()
      expect((await reading).request).toEqual({ peel: true, symrefs: true, unborn: true, prefixes: ['HEAD', 'refs/heads/', 'refs/tags/'] })
    }
    const cut = new PassThrough()
    const reading = readLsRefs(cut)
    cut.write(body.subarray(0, 10))
    cut.destroy(new Error('gone'))
    expect((await reading).body.destroyed).toBe(true)
  })
})
