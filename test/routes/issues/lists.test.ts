import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { canIssue, seesIssue } from '../../../src/access/can.js'
import { getProjectFor } from '../../../src/access/rules.js'
import { issues, projects } from '../../../src/db/schema/index.js'
import { Failure } from '../../../src/failures.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast } from '../../support/cast.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { random } from '../../support/reader.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()

const anIssue = async (project: TestProject, sent: object = {}, caller: TestUser = project.creator) =>
  (
    await t
      .api('post', `${project.path}/issues`, caller)
      .send({ title: 'An issue', ...sent })
      .expect(201)
  ).body
const iids = (list: { iid: number }[]) => list.map(({ iid }) => iid)

describe('GET /projects/:id/issues', () => {
  let cast: Cast
  const list = async (query: string, caller: TestUser | null = cast.as.owner) => {
    const answer = await t.api('get', `${cast.project.path}/issues?sort=asc&${query}`, caller).expect(200)
    if (!query.includes('page=')) expect(answer.headers['x-total']).toBe(String(answer.body.length))
    return iids(answer.body)
  }

  beforeAll(async () => {
    cast = await aCast(t.ctx, { visibility: 'public' })
    const { project, as } = cast
    for (const title of ['v1', 'any']) await t.api('post', `${project.path}/milestones`, as.owner).send({ title }).expect(201)
    const { body: milestones } = await t.api('get', `${project.path}/milestones`, as.owner).expect(200)
    const milestoneOf = (title: string) => milestones.find((each: { title: string }) => each.title === title).id
    await anIssue(project, { title: 'Alpha beta', labels: 'bug,ui', created_at: '2020-01-01' }, as.owner)
    await anIssue(
      project,
      { title: 'Gamma', description: 'alpha 100%', labels: 'bug', milestone_id: milestoneOf('v1'), created_at: '2020-01-02' },
      as.owner,
    )
    await anIssue(project, { title: 'Delta', assignee_id: as.guest.id, due_date: '2001-01-01', created_at: '2020-01-03' }, as.owner)
    await anIssue(project, { title: 'Hidden', confidential: true, labels: 'bug', created_at: '2020-01-04' }, as.owner)
    await anIssue(project, { title: 'By the guest' }, as.guest)
    await t.api('put', `${project.path}/issues/2`, as.owner).send({ state_event: 'close' }).expect(200)
    await anIssue(project, { title: 'any one', milestone_id: milestoneOf('any'), due_date: new Date().toISOString().slice(0, 10) }, as.owner)
  })

  it.each<[string, number[]]>([
    ['', [1, 2, 3, 4, 5, 6]],
    ['state=opened', [1, 3, 4, 5, 6]],
    ['state=closed', [2]],
    ['labels=bug', [1, 2, 4]],
    ['labels=bug,ui', [1]],
    ['labels=bug,none', []],
    ['labels=None', [3, 5, 6]],
    ['labels=No%20Label', [3, 5, 6]],
    ['labels=Any', [1, 2, 4]],
    ['labels=', [1, 2, 3, 4, 5, 6]],
    ['milestone=v1', [2]],
    ['milestone=any', [6]],
    ['milestone=none', []],
    ['milestone=None', [1, 3, 4, 5]],
    ['milestone=No%20Milestone', [1, 3, 4, 5]],
    ['milestone=Any', [2, 6]],
    ['milestone=Any%20Milestone', [2, 6]],
    ['milestone=', [1, 2, 3, 4, 5, 6]],
    ['scope=created_by_me', [1, 2, 3, 4, 6]],
    ['scope=created-by-me', [1, 2, 3, 4, 6]],
    ['scope=assigned_to_me', []],
    ['assignee_id=None', [1, 2, 4, 5, 6]],
    ['assignee_id=0', [1, 2, 4, 5, 6]],
    ['assignee_id=Any', [3]],
    ['assignee_id=', [1, 2, 3, 4, 5, 6]],
    ['assignee_id=2147483648', [1, 2, 4, 5, 6]],
    ['author_id=2147483647', []],
    ['iids[]=1&iids[]=3&iids[]=99', [1, 3]],
    ['iids=1,3', [1, 3]],
    ['search=ALPHA', [1, 2]],
    ['search=alpha&in=title', [1]],
    ['search=alpha&in=description', [2]],
    ['search=100%25', [2]],
    ['search=beta%20alpha', [1]],
    ['search=%20', [1, 2, 3, 4, 5, 6]],
    ['my_reaction_emoji=star', []],
    ['my_reaction_emoji=Any', []],
    ['my_reaction_emoji=None', [1, 2, 3, 4, 5, 6]],
    ['created_after=2020-01-02&created_before=2020-01-03T00:00:00Z', [2, 3]],
    ['updated_before=2020-01-01T12:00:00Z', [1]],
    ['confidential=true', [4]],
    ['confidential=false', [1, 2, 3, 5, 6]],
    ['due_date=0', [1, 2, 4, 5]],
    ['due_date=overdue', [3]],
    ['due_date=week', [6]],
    ['due_date=month', [6]],
    ['not[labels]=bug', [3, 5, 6]],
    ['not[labels]=Any', [3, 5, 6]],
    ['not[labels]=None', [1, 2, 4]],
    ['not[milestone]=v1', [1, 3, 4, 5, 6]],
    ['not[milestone]=Any', [1, 3, 4, 5]],
    ['not[assignee_id]=Any', [1, 2, 4, 5, 6]],
    ['not[iids][]=1&not[iids][]=2', [3, 4, 5, 6]],
    ['not[my_reaction_emoji]=star', [1, 2, 3, 4, 5, 6]],
    ['not[my_reaction_emoji]=None', []],
    ['non_archived=true', [1, 2, 3, 4, 5, 6]],
    ['per_page=2&page=2', [3, 4]],
    ['per_page=2&page=9', []],
  ])('%s (IS-3)', async (query, expected) => {
    expect(await list(query)).toEqual(expected)
  })

  it('by people (IS-3)', async () => {
    const { as } = cast
    expect(await list(`author_id=${as.guest.id}`)).toEqual([5])
    expect(await list(`author_username=${as.guest.username.toUpperCase()}`)).toEqual([5])
    expect(await list(`author_username=unknown`)).toEqual([])
    expect(await list(`assignee_id=${as.guest.id}`)).toEqual([3])
    expect(await list(`assignee_username=${as.guest.username}`)).toEqual([3])
    expect(await list(`not[author_id]=${as.guest.id}`)).toEqual([1, 2, 3, 4, 6])
    // W-3: one or several
    for (const name of ['assignee_username', 'author_username']) expect(await list(`${name}[]=`)).toEqual(await list(''))
    expect(await list(`assignee_username[]=${as.guest.username}`)).toEqual([3])
    expect(await list(`assignee_username[]=${as.guest.username}&assignee_username[]=unknown`)).toEqual([3])
    expect(await list(`assignee_username=unknown, ${as.guest.username.toUpperCase()}`)).toEqual([3])
    expect(await list(`assignee_id[]=${as.guest.id}&assignee_id[]=${as.owner.id}`)).toEqual([3])
    expect(await list('assignee_id[]=None')).toEqual([1, 2, 4, 5, 6])
    expect(await list(`author_username[]=${as.guest.username}`)).toEqual([5])
    expect(await list(`author_id[]=${as.guest.id}&author_id[]=999999`)).toEqual([5])
    expect(await list(`author_username[]=${as.guest.username}&author_username[]=${as.owner.username}`)).toContain(5)
    expect(await list(`not[author_username][]=${as.guest.username}&not[author_username][]=unknown`)).toEqual([1, 2, 3, 4, 6])
    expect(await list(`not[author_id][]=${as.guest.id}&not[author_id][]=999999`)).toEqual([1, 2, 3, 4, 6])
    expect(await list(`not[assignee_id][]=${as.guest.id}&not[assignee_id][]=999999`)).toEqual([1, 2, 4, 5, 6])
    expect(await list(`not[assignee_username][]=${as.guest.username}&not[assignee_username][]=unknown`)).toEqual([1, 2, 4, 5, 6])
    expect(await list(`not[author_username]=${as.guest.username}`)).toEqual([1, 2, 3, 4, 6])
    expect(await list(`not[assignee_id]=${as.guest.id}`)).toEqual([1, 2, 4, 5, 6])
    expect(await list(`not[assignee_username]=${as.guest.username}`)).toEqual([1, 2, 4, 5, 6])
    expect(await list('scope=assigned-to-me', as.guest)).toEqual([3])
    expect(await list('scope=created_by_me', null)).toEqual([])
    expect(await list(`author_id=${as.owner.id}&labels=bug&state=opened`)).toEqual([1, 4])
  })

  it.each([
    ['state=open', 'state does not have a valid value'],
    ['scope=mine', 'scope does not have a valid value'],
    ['order_by=title', 'order_by does not have a valid value'],
    ['sort=up', 'sort does not have a valid value'],
    ['due_date=year', 'due_date does not have a valid value'],
    ['author_id=x', 'author_id is invalid'],
    ['assignee_id=x', 'assignee_id is invalid'],
    ['assignee_id[]=None&assignee_id[]=1', 'assignee_id is invalid'],
    ['author_id[]=1&author_id[]=x', 'author_id is invalid'],
    ['confidential=x', 'confidential is invalid'],
    ['created_after=x', 'created_after is invalid'],
    ['iids[]=x', 'iids is invalid'],
    ['in=title,body', 'in does not have a valid value'],
    ['labels[a]=b', 'labels is invalid'],
    ['not=x', 'not is invalid'],
    ['not[author_id]=x', 'not is invalid'],
    ['not[search]=x', 'not[search] is not supported'],
    [`search=${'x'.repeat(256)}`, 'search is too long (maximum is 255 characters)'],
  ])('%s is refused (W-20, SEC-55)', async (query, error) => {
    await t.api('get', `${cast.project.path}/issues?${query}`, cast.as.owner).expect(400, { error })
  })

  it('newest first, and by the last change (IS-3, W-41)', async () => {
    const { project, as } = cast
    const order = async (query: string) => iids((await t.api('get', `${project.path}/issues?${query}`, as.owner).expect(200)).body)
    expect((await order('')).slice(0, 2)).toEqual([6, 5])
    expect((await order('order_by=updated_at&sort=desc')).slice(-3)).toEqual([4, 3, 1])
  })

  it('counts and rows are those the caller sees (AC-14, SEC-33, SEC-35)', async () => {
    const { as } = cast
    for (const who of [null, as.stranger, as.guest]) {
      expect(await list('', who)).toEqual([1, 2, 3, 5, 6])
      expect(await list('labels=bug', who)).toEqual([1, 2])
      expect(await list('search=Hidden', who)).toEqual([])
    }
    for (const who of [as.reporter, as.admin]) expect(await list('', who)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('section 15: with_labels_details', async () => {
    const { body } = await t.api('get', `${cast.project.path}/issues?iids[]=1&with_labels_details=true`, cast.as.owner).expect(200)
    expect(body[0].labels).toMatchObject([
      { name: 'bug', color: '#428BCA', text_color: '#FFFFFF', description: null, description_html: '' },
      { name: 'ui' },
    ])
  })

  it('totals follow every change at once (S-6, SEC-53)', async () => {
    const project = await aProject(t.ctx)
    for (let i = 0; i < 4; i++) await anIssue(project, { labels: 'a' })
    const total = async (query: string) =>
      (await t.api('get', `${project.path}/issues?per_page=1&${query}`, project.creator).expect(200)).headers['x-total']
    for (const query of ['', 'labels=a', 'state=opened', 'state=closed']) await total(query)
    await anIssue(project)
    await t.api('put', `${project.path}/issues/1`, project.creator).send({ state_event: 'close', labels: '' }).expect(200)
    expect([await total(''), await total('labels=a'), await total('state=opened'), await total('state=closed')]).toEqual(['5', '3', '4', '1'])
    await t.api('put', `${project.path}/labels`, project.creator).send({ name: 'a', new_name: 'b' }).expect(200)
    expect([await total('labels=a'), await total('labels=b')]).toEqual(['0', '3'])
    await t.api('delete', `${project.path}/labels?name=b`, project.creator).expect(204)
    expect([await total('labels=b'), await total('labels=None')]).toEqual(['0', '5'])
    await t.api('delete', `${project.path}/issues/1`, project.creator).expect(204)
    expect(await total('')).toBe('4')
  })

  it('asks the database as often for many issues as for one', async () => {
    const project = await aProject(t.ctx)
    const fill = async () => {
      const { body } = await t
        .api('post', `${project.path}/milestones`, project.creator)
        .send({ title: `m${Math.random()}` })
        .expect(201)
      await anIssue(project, { labels: 'a,b', milestone_id: body.id, assignee_id: project.creator.id })
    }
    const get = () => t.api('get', `${project.path}/issues`, project.creator).expect(200)
    const counts = async () => {
      await t.ctx.jobs.drain()
      await get()
      return (await t.queriesOf(get)).length
    }
    await fill()
    const before = await counts()
    for (let i = 0; i < 6; i++) await fill()
    expect(await counts()).toBe(before)
  })
})

describe('GET /issues and GET /groups/:id/issues', () => {
  it('what the caller made, unless they ask for more; without a token only for all (IS-1)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await anIssue(project, {}, as.stranger)
    await anIssue(project, {}, as.owner)
    const own = async (query: string, caller: TestUser | null) =>
      (await t.api('get', `/issues?per_page=100&${query}`, caller).expect(200)).body
        .filter(({ project_id }: { project_id: number }) => project_id === project.id)
        .map(({ iid }: { iid: number }) => iid)
    expect(await own('', as.stranger)).toEqual([1])
    expect(await own('scope=all', as.stranger)).toEqual([2, 1])
    expect(await own('scope=all', null)).toEqual([2, 1])
    for (const query of ['', '?scope=created_by_me', '?scope=assigned_to_me']) await t.api('get', `/issues${query}`, null).expect(401)
    const { body } = await t.api('get', `/issues?scope=all&author_id=${as.stranger.id}`, null).expect(200)
    expect(body[0].references).toEqual({ short: '#1', relative: `${project.fullPath}#1`, full: `${project.fullPath}#1` })
  })

  it('of the group and its subgroups, as far as the caller sees them (IS-2)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const below = await aGroup(t.ctx, { creator, parent_id: group.id })
    const here = await aProject(t.ctx, { creator, namespace_id: group.id })
    const there = await aProject(t.ctx, { creator, namespace_id: below.id })
    const member = await aUser(t.ctx)
    await t.api('post', `${there.path}/members`, creator).send({ user_id: member.id, access_level: 10 }).expect(201)
    await anIssue(here, { title: 'here' })
    await anIssue(there, { title: 'there' })
    await anIssue(there, { title: 'hidden', confidential: true })
    const titles = async (caller: TestUser | null, query = '') =>
      (await t.api('get', `${group.path}/issues?sort=asc${query}`, caller).expect(200)).body.map(({ title }: { title: string }) => title)
    expect(await titles(creator)).toEqual(['here', 'there', 'hidden'])
    expect(await titles(creator, '&search=here&per_page=1&page=2')).toEqual(['there'])
    await t.api('get', `${group.path}/issues`, null).expect(404, { message: '404 Group Not Found' })
    await t.api('get', `${group.path}/issues`, member).expect(404)
    expect((await t.api('get', `${below.path}/issues`, member).expect(200)).body.map(({ title }: { title: string }) => title)).toEqual(['there'])
    const { body } = await t.api('get', `${group.path}/issues?search=here&in=title`, creator).expect(200)
    expect(body.map(({ references }: { references: { relative: string } }) => references.relative).sort()).toEqual(
      [`${here.fullPath.split('/').at(-1)}#1`, `${there.fullPath.slice(group.fullPath.length + 1)}#1`].sort(),
    )
  })
})

describe('lists of thousands of issues (G-57)', () => {
  let project: TestProject
  let admin: TestUser
  const answer = (query: string, caller: TestUser) => t.api('get', query, caller).expect(200)

  beforeAll(async () => {
    project = await aProject(t.ctx, { visibility: 'private' })
    admin = await anAdmin(t.ctx)
    await t.ctx.db.write.execute(sql`insert into issues (project_id, iid, title, author_id, created_at, updated_at)
      select ${project.id}::bigint, i, 'Many ' || i, ${project.creator.id}::bigint, now() - (i / 3) * interval '1 minute', now() from generate_series(1, 2510) i`)
  })

  it.each(['/issues?scope=all&', ''])('a page far from the start is the same wherever it is read from: %s', async (all) => {
    const list = all || `${project.path}/issues?`
    for (const sort of ['asc', 'desc']) {
      const found: number[] = []
      for (let page = 1; page <= 26; page++) {
        const { body, headers } = await answer(`${list}author_id=${project.creator.id}&sort=${sort}&per_page=100&page=${page}`, project.creator)
        expect(headers['x-total']).toBe('2510')
        found.push(...body.map(({ id }: { id: number }) => id))
      }
      const rows = await t.ctx.db.read.select().from(issues).where(eq(issues.project_id, project.id))
      const inOrder = rows.sort((a, b) => a.created_at.getTime() - b.created_at.getTime() || a.id - b.id).map(({ id }) => id)
      expect(found).toEqual(sort === 'asc' ? inOrder : inOrder.reverse())
    }
  })

  it('the total of all projects follows every change at once, made by the service or not', async () => {
    const other = await aUser(t.ctx)
    const total = async (caller: TestUser) => Number((await answer('/issues?scope=all', caller)).headers['x-total'])
    const [seen, all] = [await total(other), await total(admin)]
    await t.ctx.db.write.execute(sql`insert into iid_counters (project_id, kind, last) values (${project.id}, 'issue', 2510)`)
    await anIssue(project)
    expect([await total(other), await total(admin)]).toEqual([seen, all + 1])
    await t.ctx.db.write.update(projects).set({ visibility: 20 }).where(eq(projects.id, project.id))
    expect([await total(other), await total(admin)]).toEqual([seen + 2511, all + 1])
    await t.ctx.db.write.execute(sql`delete from issues where project_id = ${project.id} and iid = 7`)
    expect([await total(other), await total(admin)]).toEqual([seen + 2510, all])
    await t.ctx.db.write.update(projects).set({ issues_access_level: 10 }).where(eq(projects.id, project.id))
    expect([await total(other), await total(admin)]).toEqual([seen, all])
    await t.ctx.db.write.execute(sql`insert into members (user_id, project_id, access_level) values (${other.id}, ${project.id}, 20)`)
    expect([await total(other), await total(admin)]).toEqual([seen + 2510, all])
  })
})

describe('who sees which issue', () => {
  it('lists of all, lists of one project and single answers agree with the decision (AC-14, AC-10, SEC-35)', { tags: ['long'] }, async () => {
    const { below, chance } = random(7)
    const pick = <T>(list: T[]) => list[below(list.length)] as T
    const admin = await anAdmin(t.ctx)
    const people: (TestUser | null)[] = [null, admin]
    for (let i = 0; i < rounds(4, 5); i++) people.push(await aUser(t.ctx, { external: i % 3 === 2 }))
    const [, , ...ordinary] = people as TestUser[]
    const made: TestProject[] = []
    for (let i = 0; i < rounds(5, 6); i++) {
      const project = await aProject(t.ctx, { creator: admin })
      await t.ctx.db.write
        .update(projects)
        .set({ visibility: pick([0, 10, 20]), issues_access_level: pick([0, 10, 20, 20]), archived: chance(0.3) })
        .where(eq(projects.id, project.id))
      for (const person of ordinary)
        if (chance(0.4))
          await t
            .api('post', `${project.path}/members`, admin)
            .send({ user_id: person.id, access_level: pick([10, 20, 30, 40]) })
            .expect(201)
      for (let iid = 1; iid <= 5; iid++) {
        const now = new Date()
        const assignee_ids = chance(0.5) ? [pick(ordinary).id, pick(ordinary).id] : []
        await t.ctx.db.write.insert(issues).values({
          project_id: project.id,
          iid,
          title: `issue ${iid}`,
          author_id: pick(ordinary).id,
          assignee_ids,
          confidential: chance(0.6),
          created_at: now,
          updated_at: now,
        })
      }
      made.push(project)
    }
    const rows = await t.ctx.db.write.select().from(issues)
    let seen = 0
    for (const person of people) {
      const listed = new Set<number>()
      for (let page = 1; page < 9; page++)
        for (const { id } of (await t.api('get', `/issues?scope=all&per_page=100&page=${page}`, person).expect(200)).body) listed.add(id)
      for (const project of made) {
        const subject = await getProjectFor(t.ctx, { user: person?.caller.user ?? null }, String(project.id)).catch((error: unknown) => {
          if (error instanceof Failure) return null
          throw error
        })
        const answer = await t.api('get', `${project.path}/issues`, person)
        const within = new Set(answer.status === 200 ? answer.body.map(({ id }: { id: number }) => id) : [])
        for (const row of rows.filter(({ project_id }) => project_id === project.id)) {
          const standing = subject && { ...subject, user: person?.caller.user ?? null }
          const decided = standing !== null && seesIssue(standing, row)
          if (decided) seen++
          expect(listed.has(row.id), `issue ${row.id} in the list of all`).toBe(decided)
          expect(within.has(row.id), `issue ${row.id} in its project's list`).toBe(decided)
          const single = await t.api('get', `${project.path}/issues/${row.iid}`, person)
          expect(single.status === 200).toBe(decided)
          const may = standing !== null && canIssue(standing, 'update_issue', row)
          if (person) expect((await t.api('put', `${project.path}/issues/${row.iid}`, person).send({ title: row.title })).status === 200).toBe(may)
        }
      }
    }
    expect(seen).toBeGreaterThan(rounds(20, 40))
  })
})
