import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { projectVersionOf, versionOf } from '../../src/services/core/list-cache.js'
import { testApp } from '../support/app.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let owner: TestUser
let project: TestProject
const clients: pg.Client[] = []

beforeAll(async () => {
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner })
  await aGroup(t.ctx, { path: 'elsewhere' })
})
beforeEach(() => t.ctx.jobs.drain())
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})

async function connect() {
  const client = new pg.Client(t.databaseUrl)
  await client.connect()
  clients.push(client)
  return client
}

const INSERT = `insert into projects (namespace_id, name, path, visibility, storage, default_branch)
  select id, $1, $1, 0, 'default', 'main' from namespaces where path = 'elsewhere'`
const KINDS = ['users', 'projects', 'groups', 'issues', 'merge_requests'] as const

async function versions(): Promise<Record<(typeof KINDS)[number], string | null>> {
  const of = (kind: 'issues' | 'merge_requests') => projectVersionOf(kind, sql`${project.id}::bigint`)
  const [row] = await t.ctx.db.write
    .select({
      users: versionOf('users'),
      projects: versionOf('projects'),
      groups: versionOf('groups'),
      issues: of('issues'),
      merge_requests: of('merge_requests'),
    })
    .from(sql`(select 1) as one`)
  return row as Record<(typeof KINDS)[number], string | null>
}

/** The kinds of lists that have another version after the work. */
async function raisedBy(work: () => PromiseLike<unknown>) {
  const before = await versions()
  await work()
  const after = await versions()
  return KINDS.filter((kind) => before[kind] !== after[kind])
}

const run = (text: string) => t.ctx.db.write.execute(sql.raw(text))

describe('versions of lists (G-57)', () => {
  it('rise with a change of what lists filter by, and with no other', async () => {
    const issue = (await t.api('post', `${project.path}/issues`, owner).send({ title: 'One' }).expect(201)).body as { id: number }
    const own = `where id = ${project.id}`
    const cases: [string, string[]][] = [
      [`update projects set name = name || 'x' ${own}`, ['projects', 'groups']],
      [`update projects set name = name, path = path, visibility = visibility ${own}`, []],
      [`update projects set last_activity_at = now(), updated_at = now(), commit_count = 7, repository_size = 7, pushes_since_gc = 7 ${own}`, []],
      [`update projects set name = 'nothing' where false`, []],
      [`delete from members where false`, []],
      [`update users set last_activity_on = '2001-01-01', last_sign_in_at = now(), updated_at = now()`, []],
      [`update users set state = 'blocked' where id = ${owner.id}`, ['users']],
      [`update users set state = state`, []],
      [`update users set state = 'active' where id = ${owner.id}`, ['users']],
      [`insert into identities (user_id, provider, extern_uid) values (${owner.id}, 'one', 'two')`, ['users']],
      [`update namespaces set description = 'Another' `, []],
      [`update issues set updated_at = now() where id = ${issue.id}`, []],
      [`update issues set title = 'Two' where id = ${issue.id}`, ['issues']],
      [`delete from issues where id = ${issue.id}`, ['issues']],
    ]
    for (const [text, kinds] of cases) expect(await raisedBy(() => run(text)), text).toEqual(kinds)
  })

  it('increase once in a transaction, for any number of rows, and not in one that is rolled back', async () => {
    const client = await connect()
    const sum = async () => Number((await client.query(`select sum(version) as sum from list_versions where kind = 'projects'`)).rows[0].sum)
    const before = await sum()
    await client.query('begin')
    for (let i = 0; i < 3; i++) await client.query(INSERT, [`once${unique()}`])
    await client.query(`update projects set description = 'All of them'`)
    await client.query('commit')
    expect(await sum()).toBe(before + 1)
    await client.query('begin')
    await client.query(INSERT, [`never${unique()}`])
    await client.query('rollback')
    expect(await sum()).toBe(before + 1)
    await client.query('begin')
    await client.query('savepoint a')
    await client.query(INSERT, [`never${unique()}`])
    await client.query('rollback to a')
    expect(await sum()).toBe(before + 1)
    await client.query(INSERT, [`once${unique()}`])
    await client.query('commit')
    expect(await sum()).toBe(before + 2)
  })

  it('no writer waits for another: 16 open transactions have changed the same kinds, and calls succeed beside them', async () => {
    const open = await Promise.all(Array.from({ length: 16 }, connect))
    for (const client of open) {
      await client.query(`begin; set local lock_timeout = '5s'`)
      await client.query(INSERT, [`open${unique()}`])
    }
    expect(await raisedBy(() => t.api('post', '/projects', owner).send({ name: 'Beside' }).expect(201))).toEqual(['projects', 'groups'])
    for (const client of open) expect(await raisedBy(() => client.query('commit'))).toEqual(['projects', 'groups'])
    // rows are used again: there are no more than there were transactions at once
    for (let i = 0; i < 20; i++) await run(`update projects set description = '${i}'`)
    const { rows } = await run(`select count(*)::int as rows from list_versions where kind = 'projects'`)
    expect(Number(rows[0]?.['rows'])).toBeLessThan(20)
  })

  it('a version names one state, and only rises, while many write, commit and roll back', async () => {
    const writers = await Promise.all(Array.from({ length: 6 }, connect))
    const reader = await connect()
    const states = new Map<number, string>()
    let last = 0
    let writing = true
    const read = async () => {
      const { rows } = await reader.query(`select (select sum(version) from list_versions where kind = 'projects')::int as version,
        (select md5(string_agg(id || ' ' || name || ' ' || coalesce(description, ''), ',' order by id)) from projects) as state`)
      const { version, state } = rows[0] as { version: number; state: string }
      expect(version).toBeGreaterThanOrEqual(last)
      expect(states.get(version) ?? state).toBe(state)
      states.set(version, state)
      last = version
    }
    const write = async (client: pg.Client) => {
      for (let round = 0; round < 25; round++) {
        const n = unique()
        await client.query('begin')
        await client.query(INSERT, [`round${n}`])
        if (round % 3 === 0) await client.query(`update projects set description = $1 where path = $2`, [`d${n}`, `round${n}`])
        if (round % 2 === 0) await sleep(Math.random() * 3)
        if (round % 4 === 1) await client.query(`delete from projects where path = $1`, [`round${n}`])
        await client.query(round % 5 === 4 ? 'rollback' : 'commit')
      }
    }
    const reading = (async () => {
      while (writing) await read()
    })()
    await Promise.all(writers.map(write)).finally(() => {
      writing = false
    })
    await reading
    await read()
    expect(states.size).toBeGreaterThan(6)
  })
})
