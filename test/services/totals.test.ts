import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../src/cli/create-context.js'
import { ListCache } from '../../src/services/core/list-cache.js'
import { listUsers } from '../../src/services/identity/user-list.js'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
/** The numbers of all rows that the tests below make. */
const IIDS = Array.from({ length: 30 }, (_, i) => `iids[]=${i + 1}`).join('&')
let admin: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  for (let i = 0; i < 5; i++) await aUser(t.ctx)
})

const total = async (query: string) => Number((await t.api('get', `/users?per_page=2${query}`, admin).expect(200)).headers['x-total'])
const counts = async (query: string) => (await t.queriesOf(() => total(query))).filter((text) => /^select count\(\*\),/.test(text)).length

describe('totals of lists (C-13, G-57)', () => {
  it('are counted once while nothing changes, for each filter', async () => {
    const before = await total('')
    expect(await counts('')).toBe(0)
    expect(await counts('&active=true')).toBe(1)
    expect(await counts('&active=true')).toBe(0)
    expect(await total('&page=2')).toBe(before)
    expect(await counts('&page=2')).toBe(0)
    // the other pages of the same list, but for one that is empty
    expect(await total('&page=999')).toBe(before)
    // not everything that is given is remembered: what is noted on people is no part of the version
    expect(await counts('&custom_attributes[a]=b')).toBe(0)
  })

  it('follow every change at once: creation, change, block', async () => {
    const all = await total('')
    const active = await total('&active=true')
    const user = await aUser(t.ctx)
    expect(await total('')).toBe(all + 1)
    await t.api('post', `/users/${user.id}/block`, admin).expect(201)
    expect(await total('&active=true')).toBe(active)
    await t.api('post', `/users/${user.id}/unblock`, admin).expect(201)
    expect(await total('&active=true')).toBe(active + 1)
    const external = await total('&external=true')
    await t.api('put', `/users/${user.id}`, admin).send({ external: true }).expect(200)
    expect(await total('&external=true')).toBe(external + 1)
  })

  it('follow changes that another process makes', async () => {
    const other = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, t.ctx.db, t.ctx.log)
    const elsewhere = async () => (await listUsers(other, admin.caller, { page: 1, per_page: 2, order_by: 'id', sort: 'desc' })).total
    const before = await elsewhere()
    expect(before).toBe(await total(''))
    await aUser(t.ctx)
    expect(await elsewhere()).toBe(before + 1)
    await other.close()
  })

  describe('follow rows that are changed by SQL alone', () => {
    const run = (text: string) => t.ctx.db.write.execute<{ id: string }>(sql.raw(text))
    const HEAD = `project_id, iid, title, author_id, assignee_ids, created_at, updated_at`
    let project: TestProject
    let ids: Record<string, string>

    beforeAll(async () => {
      project = await aProject(t.ctx, { creator: admin })
      const other = await aProject(t.ctx, { creator: admin })
      const insert = async (text: string) => (await run(`insert into ${text} returning id`)).rows[0]?.id ?? ''
      const milestone = await insert(`milestones (project_id, iid, title, created_at, updated_at) values (${project.id}, 1, 'm', now(), now())`)
      const label = await insert(`labels (project_id, title, color, created_at, updated_at) values (${project.id}, 'bug', '#000000', now(), now())`)
      const another = await insert(`labels (project_id, title, color, created_at, updated_at) values (${project.id}, 'ui', '#000000', now(), now())`)
      const row = `select ${project.id}, i, 'Change of a row', ${admin.id}, array[${admin.id}]::bigint[], now(), now()`
      await run(
        `insert into issues (${HEAD}, milestone_id, due_date, description) ${row}, ${milestone}, '2001-01-01', 'Why' from generate_series(1, 30) i`,
      )
      await run(`insert into merge_requests (${HEAD}, milestone_id, description, source_project_id, original_source_project_id, source_branch,
        target_branch, state) ${row}, ${milestone}, 'Why', ${project.id}, ${project.id}, 'topic', 'main', 'closed' from generate_series(1, 30) i`)
      await run(`insert into issue_labels (project_id, issue_id, label_id) select project_id, id, ${label} from issues`)
      await run(`insert into merge_request_labels (project_id, merge_request_id, label_id) select project_id, id, ${label} from merge_requests`)
      for (let i = 0; i < 6; i++) await aUser(t.ctx, { name: 'Some Body', external: true })
      ids = { project: `${project.id}`, other: `${other.id}`, milestone, label, another, admin: `${admin.id}` }
    })

    /** A change by SQL of the last row, and a list that is one shorter after it. */
    const SHARED: [string, string][] = [
      [`title = 'Nothing'`, 'search=row'],
      [`description = 'Nothing'`, 'search=why'],
      [`author_id = (select min(id) from users where id <> $admin)`, 'author_id=$admin'],
      ['assignee_ids = default', 'assignee_id=$admin'],
      ['milestone_id = null', 'milestone=Any'],
      [`created_at = '2001-01-01'`, 'created_after=2002-01-01T00:00:00Z'],
      ['iid = 900', IIDS],
      ['project_id = $other', ''],
    ]
    const CHANGES: Record<string, [string, string][]> = {
      issues: [
        ...SHARED,
        [`state = 'closed'`, 'state=opened'],
        ['confidential = true', 'confidential=false'],
        ['due_date = null', 'due_date=overdue'],
      ],
      merge_requests: [
        ...SHARED,
        [`state = 'merged'`, 'state=closed'],
        [`source_branch = 'x'`, 'source_branch=topic'],
        [`target_branch = 'x'`, 'target_branch=main'],
        [`title = 'WIP: row'`, 'wip=no'],
        ['reviewer_ids = array[$admin]::bigint[]', 'reviewer_id=None'],
        ['deleted_at = now()', ''],
      ],
      issue_labels: [['label_id = $another', 'labels=bug']],
      merge_request_labels: [['label_id = $another', 'labels=bug']],
    }
    const cases = Object.entries(CHANGES).flatMap(([table, changes]) => changes.map(([set, query]) => [table, set, query] as const))
    const filled = (text: string) => text.replace(/\$([a-z]+)/g, (_, name: string) => ids[name] ?? '')
    const listOf = (table: string) => (table.startsWith('issue') ? 'issues' : 'merge_requests')
    const count = async (table: string, query: string) =>
      Number((await t.api('get', `${project.path}/${listOf(table)}?per_page=1&scope=all&${filled(query)}`, admin).expect(200)).headers['x-total'])

    it.each(cases)('%s: %s', async (table, set, query) => {
      const before = await count(table, query)
      await run(
        filled(`update ${table} set ${set} where ctid = (select max(ctid) from ${table} where project_id = $project
        and ${table.endsWith('labels') ? 'label_id = $label' : `iid < 900 and title = 'Change of a row'`})`),
      )
      expect(await count(table, query)).toBe(before - 1)
    })

    it.each([
      ['issues', '', `(${HEAD}) values ($project, 901, 'New', $admin, default, now(), now())`],
      [
        'merge_requests',
        '',
        `(${HEAD}, original_source_project_id, source_branch, target_branch) values ($project, 901, 'New', $admin, default, now(), now(), $project, 'x', 'main')`,
      ],
      ['issue_labels', 'labels=bug', `(project_id, issue_id, label_id) select project_id, id, $label from issues where iid = 901`],
      [
        'merge_request_labels',
        'labels=bug',
        `(project_id, merge_request_id, label_id) select project_id, id, $label from merge_requests where iid = 901`,
      ],
      [
        'merge_request_approvals',
        'approved_by_ids=Any',
        `(project_id, merge_request_id, user_id, created_at) select project_id, id, $admin, now() from merge_requests where iid = 901`,
      ],
    ])('%s: a row that is added or removed', async (table, query, values) => {
      const before = await count(table, query)
      await run(filled(`insert into ${table} ${values}`))
      expect(await count(table, query)).toBe(before + 1)
      await run(filled(`delete from ${table} where ctid = (select min(ctid) from ${table} where project_id = $project)`))
      expect(await count(table, query)).toBe(before)
    })

    it.each([
      [`state = 'blocked'`, '&active=true'],
      [`kind = 'ghost'`, '&active=true'],
      ['external = false', '&external=true'],
      [`name = 'Unknown'`, '&search=Some%20Body'],
      [`created_at = '2001-01-01'`, '&created_after=2002-01-01T00:00:00Z'],
    ])('users: %s', async (set, query) => {
      const before = await total(query)
      await run(`update users set ${set} where id = (select max(id) from users where name = 'Some Body' and state = 'active' and kind = 'human')`)
      expect(await total(query)).toBe(before - 1)
    })

    it.each([
      ['email', 'search=mail-of-one-email'],
      ['username', 'search=name-of-one-username'],
    ])('users: %s', async (column, query) => {
      for (const n of ['a', 'b', 'c', 'd'])
        await aUser(t.ctx, { username: `name-of-one-${column}-${n}`, email: `mail-of-one-${column}-${n}@example.com` })
      const before = await total(`&${query}`)
      await run(`update users set ${column} = 'else@example.com' where username = 'name-of-one-${column}-a'`)
      expect(await total(`&${query}`)).toBe(before - 1)
    })
  })

  it('are bounded: what callers choose as filters cannot fill the memory (SEC-150)', async () => {
    const cache = new ListCache()
    let counted = 0
    const ask = (key: string) =>
      cache.page('users', key, [{ version: '1' }], { page: 1, per_page: 1 }, async () => {
        counted++
        return [{ total: 7, version: '1' }]
      })
    for (let i = 0; i < 2; i++) expect((await ask('first')).total).toBe(7)
    expect(counted).toBe(1)
    for (let i = 0; i < 500; i++) await ask(`${i} ${'x'.repeat(20_000)}`)
    await ask('first')
    expect(counted).toBe(502)
  })
})

describe('totals of labels (section 16)', () => {
  let project: TestProject
  let guest: TestUser
  const shown = async (caller: TestUser | null = admin) => {
    const [label] = (await t.api('get', `${project.path}/labels`, caller).expect(200)).body
    return [label.open_issues_count, label.closed_issues_count, label.open_merge_requests_count]
  }
  const counted = async (caller?: TestUser) => (await t.queriesOf(() => shown(caller))).filter((text) => text.includes('"issue_labels" join')).length
  const change = (text: string) => t.ctx.db.write.execute(sql.raw(text))

  beforeAll(async () => {
    guest = await aUser(t.ctx)
    project = await aProject(t.ctx, { creator: admin, visibility: 'public', guest })
    await t.api('post', `${project.path}/labels`, admin).send({ name: 'bug', color: '#ff0000' }).expect(201)
    const row = `${project.id}, i, 'x', ${admin.id}, now(), now()`
    await change(`insert into issues (project_id, iid, title, author_id, created_at, updated_at) select ${row} from generate_series(1, 4) i`)
    await change(`insert into merge_requests (project_id, iid, title, author_id, created_at, updated_at, source_project_id, original_source_project_id,
      source_branch, target_branch) select ${row}, ${project.id}, ${project.id}, 'topic' || i, 'main' from generate_series(1, 2) i`)
    for (const [of, kind] of [
      ['issue', 'issues'],
      ['merge_request', 'merge_requests'],
    ])
      await change(`insert into ${of}_labels (project_id, ${of}_id, label_id)
        select t.project_id, t.id, l.id from ${kind} t join labels l on l.project_id = t.project_id where t.project_id = ${project.id}`)
  })

  it('are counted once while nothing changes, for each sight', async () => {
    expect(await shown()).toEqual([4, 0, 2])
    expect(await counted()).toBe(0)
    expect(await counted(guest)).toBe(1)
    expect(await counted(guest)).toBe(0)
  })

  it('follow every change at once, for those who see it (SEC-35)', async () => {
    const of = `where project_id = ${project.id} and iid = 1`
    for (const [changed, all, open] of [
      [`update issues set state = 'closed' ${of}`, [3, 1, 2], [3, 1, 2]],
      [`update issues set confidential = true ${of}`, [3, 1, 2], [3, 0, 2]],
      [`update issues set assignee_ids = array[${guest.id}]::bigint[] ${of}`, [3, 1, 2], [3, 1, 2]],
      [`update merge_requests set state = 'merged' ${of}`, [3, 1, 1], [3, 1, 1]],
      [`update merge_requests set deleted_at = now() where project_id = ${project.id} and iid = 2`, [3, 1, 0], [3, 1, 0]],
      [`delete from issue_labels where issue_id = (select id from issues ${of})`, [3, 0, 0], [3, 0, 0]],
      [`delete from issues where project_id = ${project.id} and iid = 2`, [2, 0, 0], [2, 0, 0]],
    ] as const) {
      await change(changed)
      expect([changed, await shown(), await shown(guest)]).toEqual([changed, all, open])
    }
  })
})
