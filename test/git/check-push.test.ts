import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { checkObjects } from '../../src/git/wire/check-push.js'
import { aBareRepository, type TestRepository } from '../support/git.js'
import { testSpawner } from '../support/spawner.js'

const PERSON = 'Ada <ada@example.com> 1600000000 +0000'

/** Objects in their own repository, as if all of it had just been pushed. */
function pushed() {
  const bare = aBareRepository()
  const store = (type: string, content: string | Buffer) => {
    const object = Buffer.concat([Buffer.from(`${type} ${Buffer.byteLength(content)}\0`), Buffer.from(content)])
    const oid = createHash('sha1').update(object).digest('hex')
    mkdirSync(join(bare.directory, 'objects', oid.slice(0, 2)), { recursive: true })
    writeFileSync(join(bare.directory, 'objects', oid.slice(0, 2), oid.slice(2)), deflateSync(object, { level: 1 }))
    return oid
  }
  const blob = store('blob', 'x')
  const entry = (name: string, oid: string, mode: string) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')])
  const folder = (...entries: [string, string, mode?: string][]) =>
    store('tree', Buffer.concat(entries.map(([name, oid, mode = '40000']) => entry(name, oid, mode))))
  const file = (name: string) => folder([name, blob, '100644'])
  const commit = (tree: string, parents: string[] = [], message = 'x') =>
    store('commit', `tree ${tree}\n${parents.map((parent) => `parent ${parent}\n`).join('')}author ${PERSON}\ncommitter ${PERSON}\n\n${message}`)
  return { bare, store, folder, file, commit }
}

async function faultOf(bare: TestRepository) {
  const pool = new ProcessPool(POOL_LIMITS, testSpawner)
  let started = 0
  const start = pool.start.bind(pool)
  pool.start = (...args) => {
    started++
    return start(...args)
  }
  const env = { GIT_OBJECT_DIRECTORY: join(bare.directory, 'objects') }
  const { fault } = await checkObjects({ pool, directory: bare.directory, env, objectBytes: 2 ** 30, deadline: 60_000 })
  await pool.close()
  bare.remove()
  return { fault, started }
}

describe('refused objects of a push (SEC-88)', () => {
  it('commits with more than 1,000 parents, and not those with so many', async () => {
    const few = pushed()
    const root = few.commit(few.file('a'))
    few.commit(
      few.file('a'),
      Array.from({ length: 1_000 }, (_, i) => few.commit(few.file('a'), [root], `${i}`)),
    )
    expect((await faultOf(few.bare)).fault).toBeNull()
    const many = pushed()
    const first = many.commit(many.file('a'))
    many.commit(many.file('a'), Array(1_001).fill(first))
    expect((await faultOf(many.bare)).fault).toBe('A commit has more than 1000 parents.')
  })

  it('commits and tags of more than 10 MiB', async () => {
    const allowed = pushed()
    allowed.commit(allowed.file('a'), [], 'x'.repeat(10_000_000))
    expect((await faultOf(allowed.bare)).fault).toBeNull()
    const commit = pushed()
    commit.commit(commit.file('a'), [], 'x'.repeat(10 * 2 ** 20))
    expect((await faultOf(commit.bare)).fault).toBe('A commit is larger than 10485760 bytes.')
    const tag = pushed()
    const head = tag.commit(tag.file('a'))
    tag.store('tag', `object ${head}\ntype commit\ntag v1\ntagger ${PERSON}\n\n${'x'.repeat(10 * 2 ** 20)}`)
    expect((await faultOf(tag.bare)).fault).toBe('A tag is larger than 10485760 bytes.')
  })

  it('paths of more than 4,096 bytes, however the folders are spread over commits', async () => {
    const deep = (levels: number, name: number, commits = 1) => {
      const p = pushed()
      let tree = p.file('f'.repeat(name))
      for (let i = 1; i < levels; i++) {
        tree = p.folder(['d'.repeat(name), tree])
        // every commit alone brings little
        if (commits > 1 && i % Math.ceil(levels / commits) === 0) p.commit(tree)
      }
      p.commit(tree)
      return p.bare
    }
    expect((await faultOf(deep(17, 240))).fault).toBeNull() // 4,096 bytes
    expect((await faultOf(deep(17, 241))).fault).toBe('A path is longer than 4096 bytes.')
    expect((await faultOf(deep(3_000, 1, 30))).fault).toBe('A path is longer than 4096 bytes.')
    expect((await faultOf(deep(2, 4_000))).fault).toBe('A path is longer than 4096 bytes.')
    expect((await faultOf(deep(1, 20_000))).fault).toBe('A path is longer than 4096 bytes.')
  })

  it('with the same few processes however much there is, and long names that stand beside each other pass', async () => {
    const p = pushed()
    let head = p.commit(p.file('a'))
    for (let i = 0; i < 60; i++) head = p.commit(p.folder([`d${i}`, p.file(`${i}${'n'.repeat(200)}`)]), [head])
    const { fault, started } = await faultOf(p.bare)
    expect(fault).toBeNull()
    expect(started).toBe(2)
  })
})
