import { eq, getTableColumns, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { canMergeRequest, seesMergeRequest } from '../../../src/access/can.js'
import { getProjectFor } from '../../../src/access/rules.js'
import { awardEmoji, mergeRequests, milestones, projects } from '../../../src/db/schema/index.js'
import { Failure } from '../../../src/failures.js'
import { testApp } from '../../support/app.js'
import { aCast, type Cast } from '../../support/cast.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { random } from '../../support/reader.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()

let counter = 0
const aRequest = async (project: TestProject, sent: object = {}, caller: TestUser = project.creator) =>
  (
    await t
      .api('post', `${project.path}/merge_requests`, caller)
      .send({ title: 'A change', source_branch: 'feature', target_branch: `to-${counter++}`, ...sent })
      .expect(201)
  ).body
const stamp = (id: number, values: Partial<typeof mergeRequests.$inferInsert>) =>
  t.ctx.db.write.update(mergeRequests).set(values).where(eq(mergeRequests.id, id))
const iids = (list: { iid: number }[]) => list.map(({ iid }) => iid)
const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)

describe('GET /projects/:id/merge_requests', () => {
  let cast: Cast
  const list = async (query: string, caller: TestUser = cast.as.owner) => {
    const answer = await t.api('get', `${cast.project.path}/merge_requests?sort=asc&${query}`, caller).expect(200)
    if (!query.includes('page=')) expect(answer.headers['x-total']).toBe(String(answer.body.length))
    return iids(answer.body)
  }

  beforeAll(async () => {
    cast = await aCast(t.ctx, { visibility: 'public' })
    const { project, as } = cast
    const milestone = async (title: string, dates: object = {}) =>
      (
        await t
          .api('post', `${project.path}/milestones`, as.owner)
          .send({ title, ...dates })
          .expect(201)
      ).body.id
    const begun = await milestone('v1', { start_date: '2001-01-01' })
    const next = await milestone('next', { due_date: day(2), start_date: day(1) })
    const later = await milestone('later', { due_date: day(9) })
    const over = await milestone('over', { due_date: day(-1) })
    const closed = await milestone('closed', { due_date: day(1) })
    await t.ctx.db.write.update(milestones).set({ state: 'closed' }).where(eq(milestones.id, closed))
    const one = await aRequest(project, { title: 'Alpha beta', labels: 'bug,ui', milestone_id: begun }, as.owner)
    const two = await aRequest(project, { title: 'WIP: Gamma', description: 'alpha 100%', labels: 'bug', milestone_id: next }, as.owner)
    const three = await aRequest(project, { title: 'Delta', assignee_id: as.guest.id, source_branch: 'other', milestone_id: later }, as.owner)
    const four = await aRequest(project, { title: 'wip not', target_branch: 'stable', milestone_id: over }, as.developer)
    await aRequest(project, { title: 'Fifth', milestone_id: closed }, as.developer)
    const gone = await aRequest(project, { title: 'Gone alpha', labels: 'bug' }, as.owner)
    const at = (text: string) => ({ created_at: new Date(text), updated_at: new Date(text) })
    await stamp(one.id, at('2020-01-01'))
    await stamp(two.id, { ...at('2020-01-02'), state: 'closed' })
    await stamp(three.id, { ...at('2020-01-03'), state: 'merged' })
    await stamp(four.id, { ...at('2020-01-04'), reviewer_ids: [as.owner.id] })
    await stamp(gone.id, { deleted_at: new Date() })
    const now = new Date()
    const award = { project_id: project.id, awardable_type: 'MergeRequest' as const, created_at: now, updated_at: now }
    await t.ctx.db.write.insert(awardEmoji).values([
      { ...award, awardable_id: one.id, user_id: as.owner.id, name: 'star' },
      { ...award, awardable_id: two.id, user_id: as.owner.id, name: 'tada' },
      { ...award, awardable_id: three.id, user_id: as.guest.id, name: 'star' },
      { ...award, awardable_type: 'Issue', awardable_id: four.id, user_id: as.owner.id, name: 'star' },
    ])
  })

  it.each<[string, number[]]>([
    ['', [1, 2, 3, 4, 5]],
    ['state=all', [1, 2, 3, 4, 5]],
    ['state=opened', [1, 4, 5]],
    ['state=closed', [2]],
    ['state=merged', [3]],
    ['labels=bug', [1, 2]],
    ['labels=bug,ui', [1]],
    ['labels=bug,none', []],
    ['labels=none', []],
    ['labels=None', [3, 4, 5]],
    ['labels=No%20Label', [3, 4, 5]],
    ['labels=Any', [1, 2]],
    ['labels=', [1, 2, 3, 4, 5]],
    ['milestone=v1', [1]],
    ['milestone=V1', []],
    ['milestone=unknown', []],
    ['milestone=None', []],
    ['milestone=No%20Milestone', []],
    ['milestone=Any', [1, 2, 3, 4, 5]],
    ['milestone=%23upcoming', [2]],
    ['milestone=%23started', [1]],
    ['milestone=', [1, 2, 3, 4, 5]],
    ['scope=created-by-me', [1, 2, 3]],
    ['scope=created_by_me', [1, 2, 3]],
    ['scope=assigned-to-me', []],
    ['scope=all', [1, 2, 3, 4, 5]],
    ['assignee_id=None', [1, 2, 4, 5]],
    ['assignee_id=0', [1, 2, 4, 5]],
    ['assignee_id=Any', [3]],
    ['assignee_id=', [1, 2, 3, 4, 5]],
    ['author_id=2147483647', []],
    ['author_username=unknown', []],
    ['iids[]=1&iids[]=3&iids[]=99', [1, 3]],
    ['iids[]=99', []],
    ['iids=1,3', [1, 3]],
    ['search=ALPHA', [1, 2]],
    ['search=100%25', [2]],
    ['search=beta%20alpha', [1]],
    ['search=%20', [1, 2, 3, 4, 5]],
    ['my_reaction_emoji=star', [1]],
    ['my_reaction_emoji=None', [3, 4, 5]],
    ['my_reaction_emoji=Any', [1, 2]],
    ['my_reaction_emoji=', [1, 2, 3, 4, 5]],
    ['created_after=2020-01-02&created_before=2020-01-03T00:00:00Z', [2, 3]],
    ['updated_after=2020-01-03&updated_before=2020-01-04', [3, 4]],
    ['source_branch=other', [3]],
    ['source_branch=', [1, 2, 3, 4, 5]],
    ['target_branch=stable', [4]],
    ['wip=yes', [2, 4]],
    ['wip=no', [1, 3, 5]],
    ['per_page=2&page=2', [3, 4]],
    ['per_page=2&page=9', []],
  ])('%s (MR-14, MR-16, MR-17, MR-18, MR-19, MR-21, MR-58, X-2, X-3)', async (query, expected) => {
    expect(await list(query)).toEqual(expected)
  })

  it('by people (MR-14, MR-16, MR-19, X-3)', async () => {
    const { as } = cast
    expect(await list(`author_id=${as.developer.id}`)).toEqual([4, 5])
    expect(await list(`author_username=${as.developer.username.toUpperCase()}`)).toEqual([4, 5])
    expect(await list(`assignee_id=${as.guest.id}`)).toEqual([3])
    expect(await list(`assignee_username=${as.guest.username}`)).toEqual([3])
    expect(await list(`assignee_username[]=${as.guest.username}`)).toEqual([3])
    expect(await list(`assignee_username[]=${as.guest.username}&assignee_username[]=unknown`)).toEqual([3])
    expect(await list(`author_username[]=${as.developer.username}&author_username[]=unknown`)).toEqual([4, 5])
    expect(await list('scope=assigned_to_me', as.guest)).toEqual([3])
    expect(await list(`scope=created-by-me&author_id=${as.developer.id}`)).toEqual([])
    expect(await list('my_reaction_emoji=star', as.guest)).toEqual([3])
    expect(await list(`author_id=${as.owner.id}&labels=bug&state=opened`)).toEqual([1])
  })

  it.each<[string, number[]]>([
    ['search=alpha&in=title', [1]],
    ['search=alpha&in=description', [2]],
    ['search=alpha&in=title,description', [1, 2]],
    ['search=alpha&in=', [1, 2]],
    ['state=locked', []],
    ['not[labels]=ui', [2, 3, 4, 5]],
    ['not[labels]=Any', [3, 4, 5]],
    ['not[milestone]=v1', [2, 3, 4, 5]],
    ['not[milestone]=None', [1, 2, 3, 4, 5]],
    ['not[milestone]=%23started', [2, 3, 4, 5]],
    ['not[milestone]=%23upcoming', [1, 3, 4, 5]],
    ['not[assignee_id]=Any', [1, 2, 4, 5]],
    ['not[reviewer_id]=Any', [1, 2, 3, 5]],
    ['not[reviewer_id]=None', [4]],
    ['not[iids][]=1&not[iids][]=2', [3, 4, 5]],
    ['not[my_reaction_emoji]=star', [2, 3, 4, 5]],
    ['not[labels]=ui&not[milestone]=next&state=opened', [4, 5]],
    ['not[labels]=', [1, 2, 3, 4, 5]],
    ['non_archived=true', [1, 2, 3, 4, 5]],
    ['source_project_id=2147483647', []],
  ])('%s (MR-120, MR-121, MR-122)', async (query, expected) => {
    expect(await list(query)).toEqual(expected)
  })

  it('leaves out those of certain people (MR-121)', async () => {
    const { as } = cast
    expect(await list(`not[author_id]=${as.developer.id}`)).toEqual([1, 2, 3])
    expect(await list(`not[author_username]=${as.developer.username}`)).toEqual([1, 2, 3])
    expect(await list(`not[assignee_id]=${as.guest.id}`)).toEqual([1, 2, 4, 5])
    expect(await list(`not[assignee_username]=${as.guest.username}`)).toEqual([1, 2, 4, 5])
    expect(await list(`not[reviewer_id]=${as.owner.id}`)).toEqual([1, 2, 3, 5])
    expect(await list(`not[reviewer_username]=${as.owner.username.toUpperCase()}`)).toEqual([1, 2, 3, 5])
    expect(await list(`not[reviewer_username]=${as.guest.username}`)).toEqual([1, 2, 3, 4, 5])
  })

  it.each([
    ['state=open', 'state does not have a valid value'],
    ['state=', 'state does not have a valid value'],
    ['scope=mine', 'scope does not have a valid value'],
    ['order_by=weight', 'order_by does not have a valid value'],
    ['in=title,author', 'in does not have a valid value'],
    ['not[author_id]=x', 'not is invalid'],
    ['not[search]=x&not[state]=opened', 'not[search] is not supported, not[state] is not supported'],
    ['not=x', 'not is invalid'],
    ['sort=up', 'sort does not have a valid value'],
    ['view=full', 'view does not have a valid value'],
    ['wip=maybe', 'wip does not have a valid value'],
    ['author_id=x', 'author_id is invalid'],
    ['assignee_id=x', 'assignee_id is invalid'],
    ['created_after=x', 'created_after is invalid'],
    ['iids[]=x', 'iids is invalid'],
    ['labels[a]=b', 'labels is invalid'],
    [`search=${'x'.repeat(256)}`, 'search is too long (maximum is 255 characters)'],
    ['state=x&sort=y', 'state does not have a valid value, sort does not have a valid value'],
  ])('%s is refused for any caller (MR-15, SEC-55)', async (query, error) => {
    for (const caller of [cast.as.owner, cast.as.stranger])
      await t.api('get', `${cast.project.path}/merge_requests?${query}`, caller).expect(400, { error })
  })

  it('newest first, or by the last change (MR-20)', async () => {
    const { project, as } = cast
    const order = async (query: string) => iids((await t.api('get', `${project.path}/merge_requests?${query}`, as.owner).expect(200)).body)
    expect(await order('')).toEqual([5, 4, 3, 2, 1])
    expect(await order('order_by=updated_at&sort=asc')).toEqual([1, 2, 3, 4, 5])
  })

  it('by title, or by the time of the merge with those that are not merged last (MR-123)', async () => {
    const project = await aProject(t.ctx)
    const merged: Record<string, string> = { b: '2020-01-03', C: '2020-01-01', d: '2020-01-02' }
    for (const title of ['b', 'a', 'C', 'd']) {
      const { id } = await aRequest(project, { title })
      if (merged[title]) await stamp(id, { state: 'merged', merged_at: new Date(merged[title]) })
    }
    const titles = async (query: string) =>
      (await t.api('get', `${project.path}/merge_requests?${query}`, project.creator).expect(200)).body.map(({ title }: { title: string }) => title)
    expect(await titles('order_by=title&sort=asc')).toEqual(['a', 'b', 'C', 'd'])
    expect(await titles('order_by=title')).toEqual(['d', 'C', 'b', 'a'])
    expect(await titles('order_by=merged_at')).toEqual(['b', 'd', 'C', 'a'])
    expect(await titles('order_by=merged_at&sort=asc')).toEqual(['C', 'd', 'b', 'a'])
    expect(await titles('order_by=merged_at&state=merged&per_page=1&page=2')).toEqual(['d'])
    expect(await titles('order_by=title&search=%20')).toEqual(['d', 'C', 'b', 'a'])
    for (const title of ['more b', 'more a']) await aRequest(project, { title })
    expect(await titles('order_by=title&search=more&sort=asc')).toEqual(['more a', 'more b'])
    expect(await titles('order_by=merged_at&search=more&sort=asc')).toEqual(['more b', 'more a'])
  })

  it('reads pages far from both ends in the order of titles and merges (MR-123)', async () => {
    const project = await aProject(t.ctx)
    const { id } = await aRequest(project, { title: 'a' })
    const columns = Object.keys(getTableColumns(mergeRequests)).filter((name) => name !== 'id')
    const shown = (name: string) =>
      ({
        iid: 'n + 1',
        title: "lpad(n::text, 5, '0')",
        merged_at: "case when n % 2 = 0 then timestamptz '2020-01-01' + n * interval '1 minute' end",
        target_branch: "'b' || n",
      })[name] ?? `m.${name}`
    await t.ctx.db.write.execute(
      sql.raw(
        `insert into merge_requests (${columns.join(', ')}) select ${columns.map(shown).join(', ')} from merge_requests m, generate_series(1, 1300) n where m.id = ${id}`,
      ),
    )
    const all = async (query: string) => {
      const found: number[] = []
      for (let page = 1; page <= 14; page++)
        found.push(
          ...iids((await t.api('get', `${project.path}/merge_requests?${query}&per_page=100&page=${page}`, project.creator).expect(200)).body),
        )
      return found
    }
    for (const order of ['title', 'merged_at'])
      for (const sort of ['asc', 'desc']) {
        const found = await all(`order_by=${order}&sort=${sort}`)
        expect([order, sort, new Set(found).size]).toEqual([order, sort, 1301])
        const even = found.filter((iid) => iid % 2 === 1 && iid > 1)
        expect(even).toEqual([...even].sort((a, b) => (sort === 'asc' ? a - b : b - a)))
        if (order === 'merged_at') expect(found.slice(0, 650)).toEqual(even)
      }
  })

  it('from one source project only, also when that is gone (MR-122)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const { body: fork } = await t.api('post', `${project.path}/fork`, as.developer).expect(201)
    await t.ctx.jobs.drain()
    await aRequest(project, {}, as.owner)
    await t
      .api('post', `/projects/${fork.id}/merge_requests`, as.developer)
      .send({ title: 'From a fork', source_branch: 'feature', target_branch: 'main', target_project_id: project.id })
      .expect(201)
    const from = async (id: number) => iids((await t.api('get', `${project.path}/merge_requests?source_project_id=${id}`, as.owner).expect(200)).body)
    expect([await from(project.id), await from(fork.id)]).toEqual([[1], [2]])
    await t.ctx.db.write.update(mergeRequests).set({ source_project_id: null }).where(eq(mergeRequests.source_project_id, fork.id))
    expect(await from(fork.id)).toEqual([2])
  })

  it('view=simple has five fields, on each list (MR-12, D-21)', async () => {
    const { project, as } = cast
    const simple = {
      iid: 1,
      title: 'Alpha beta',
      description: '',
      state: 'opened',
      web_url: `http://roost.test/${project.fullPath}/merge_requests/1`,
    }
    for (const path of [`${project.path}/merge_requests`, '/merge_requests'])
      expect((await t.api('get', `${path}?view=simple&iids=1&sort=asc`, as.owner).expect(200)).body).toEqual([simple])
  })

  it('lists show all fields except those of the single view (MR-11, X-5, RX-11)', async () => {
    const { project, as } = cast
    const [listed] = (await t.api('get', `${project.path}/merge_requests?iids=1`, as.owner).expect(200)).body
    const { body: single } = await t.api('get', `${project.path}/merge_requests/1`, as.owner).expect(200)
    const { subscribed, pipeline, head_pipeline, diff_refs, merge_error, user, ...both } = single
    expect(listed).toEqual(both)
    expect(listed).toMatchObject({ reference: '!1', detailed_merge_status: expect.any(String) })
    expect(subscribed).toBe(true)
  })

  it.each([
    ['public', { anonymous: 401 }],
    ['private', { anonymous: 401, stranger: 404, guest: 403 }],
  ] as const)('1.10: who lists those of a %s project (MR-22, MR-13)', async (visibility, refused) => {
    const { project, as } = await aCast(t.ctx, { visibility })
    await aRequest(project, {}, as.owner)
    for (const [role, who] of Object.entries(as)) {
      const { status, body } = await t.api('get', `${project.path}/merge_requests`, who)
      const expected = (refused as Record<string, number>)[role] ?? 200
      expect([role, status, body.length]).toEqual([role, expected, expected === 200 ? 1 : undefined])
    }
  })

  it('403 where the feature is off (MR-22, G-68)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await t.ctx.db.write.update(projects).set({ merge_requests_access_level: 10 }).where(eq(projects.id, project.id))
    await t.api('get', `${project.path}/merge_requests`, as.stranger).expect(403)
    await t.api('get', `${project.path}/merge_requests`, as.guest).expect(200)
  })

  it('asks the database as often for many as for one, and opens no repository', async () => {
    const project = await aProject(t.ctx)
    const fill = async () => {
      const { body } = await t
        .api('post', `${project.path}/milestones`, project.creator)
        .send({ title: `m${Math.random()}` })
        .expect(201)
      await aRequest(project, { labels: 'a,b', milestone_id: body.id, assignee_id: project.creator.id })
    }
    const get = () => t.api('get', `${project.path}/merge_requests`, project.creator).expect(200)
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

describe('GET /merge_requests and GET /groups/:id/merge_requests', () => {
  it('what the caller made, unless they ask for more; authors and assignees combine with that (MR-14)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    await aRequest(project, { assignee_id: as.developer.id }, as.owner)
    await aRequest(project, {}, as.developer)
    const own = async (query: string, caller: TestUser) =>
      iids(
        (await t.api('get', `/merge_requests?per_page=100&${query}`, caller).expect(200)).body.filter(
          (each: { project_id: number }) => each.project_id === project.id,
        ),
      )
    expect(await own('', as.owner)).toEqual([1])
    expect(await own('', as.developer)).toEqual([2])
    expect(await own('scope=assigned-to-me', as.developer)).toEqual([1])
    expect(await own('scope=all', as.stranger)).toEqual([2, 1])
    expect(await own(`author_id=${as.owner.id}`, as.developer)).toEqual([])
    expect(await own(`author_id=${as.owner.id}&scope=all`, as.stranger)).toEqual([1])
    expect(await own(`author_id=${as.owner.id}&scope=assigned-to-me`, as.developer)).toEqual([1])
    expect(await own('iids[]=2&scope=all', as.stranger)).toEqual([2])
    await t.api('get', '/merge_requests?scope=all', null).expect(401)
    const { body } = await t.api('get', `/merge_requests?scope=all&author_id=${as.owner.id}`, as.stranger).expect(200)
    expect(body[0].references).toEqual({ short: '!1', relative: `${project.fullPath}!1`, full: `${project.fullPath}!1` })
  })

  it('the upcoming milestone is one of each project or of its group (MR-17)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const one = await aProject(t.ctx, { creator: owner, namespace_id: group.id })
    const other = await aProject(t.ctx, { creator: owner })
    const at = async (path: string, title: string, due_date: string) =>
      (await t.api('post', `${path}/milestones`, owner).send({ title, due_date }).expect(201)).body.id
    const soon = await at(group.path, 'soon', day(2))
    const late = await at(one.path, 'late', day(5))
    const only = await at(other.path, 'only', day(7))
    const first = await aRequest(one, { milestone_id: soon })
    await aRequest(one, { milestone_id: late })
    const third = await aRequest(other, { milestone_id: only })
    const { body } = await t.api('get', '/merge_requests?milestone=%23upcoming&sort=asc', owner).expect(200)
    expect(body.map(({ id }: { id: number }) => id)).toEqual([first.id, third.id])
  })

  it('of the group and its subgroups, as far as the caller may read them (OT-2)', async () => {
    const group = await aGroup(t.ctx)
    const { creator } = group
    const below = await aGroup(t.ctx, { creator, parent_id: group.id })
    const here = await aProject(t.ctx, { creator, namespace_id: group.id })
    const there = await aProject(t.ctx, { creator, namespace_id: below.id })
    const [guest, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
    for (const [{ id }, access_level] of [
      [guest, 10],
      [reporter, 20],
    ] as const)
      await t.api('post', `${there.path}/members`, creator).send({ user_id: id, access_level }).expect(201)
    await aRequest(here, { title: 'here' })
    await aRequest(there, { title: 'there' })
    const own = await aRequest(there, { title: 'tied' })
    await stamp(own.id, { assignee_ids: [creator.id, guest.id] })
    const at = async (path: string, caller: TestUser, query = '') =>
      (await t.api('get', `${path}/merge_requests?sort=asc${query}`, caller).expect(200)).body.map(({ title }: { title: string }) => title)
    expect(await at(group.path, creator)).toEqual(['here', 'there', 'tied'])
    expect(await at(group.path, creator, '&per_page=1&page=2')).toEqual(['there'])
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, here.id))
    expect(await at(group.path, creator, '&non_archived=true')).toEqual(['there', 'tied'])
    expect(await at(group.path, creator, '&non_archived=false')).toEqual(['here', 'there', 'tied'])
    expect(await at(below.path, reporter)).toEqual(['there', 'tied'])
    expect(await at(below.path, guest)).toEqual(['tied'])
    await t.api('get', `${group.path}/merge_requests`, reporter).expect(404, { message: '404 Group Not Found' })
    await t.api('get', `${group.path}/merge_requests`, null).expect(401)
  })

  it('of a milestone, as far as the caller may read them (MI-7)', async () => {
    const { project, as } = await aCast(t.ctx, { visibility: 'private' })
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, as.owner).send({ title: 'v1' }).expect(201)
    await aRequest(project, { milestone_id: milestone.id }, as.owner)
    await aRequest(project, {}, as.owner)
    const own = await aRequest(project, { milestone_id: milestone.id }, as.owner)
    await stamp(own.id, { author_id: as.guest.id })
    const of = async (caller: TestUser) =>
      iids((await t.api('get', `${project.path}/milestones/${milestone.id}/merge_requests`, caller).expect(200)).body)
    expect([await of(as.reporter), await of(as.guest)]).toEqual([[3, 1], [3]])
    await t.ctx.db.write.update(projects).set({ merge_requests_access_level: 0 }).where(eq(projects.id, project.id))
    expect(await of(as.owner)).toEqual([])
  })
})

describe('who sees which merge request', () => {
  it('1.10, SEC-33: lists of all, lists of one project and single answers agree with the decision (MR-13, AC-10)', { tags: ['long'] }, async () => {
    const { below, chance } = random(11)
    const pick = <T>(list: T[]) => list[below(list.length)] as T
    const admin = await anAdmin(t.ctx)
    const people: TestUser[] = [admin]
    for (let i = 0; i < rounds(4, 5); i++) people.push(await aUser(t.ctx, { external: i % 3 === 2 }))
    const [, ...ordinary] = people
    const made: TestProject[] = []
    for (let i = 0; i < rounds(6, 8); i++) {
      const project = await aProject(t.ctx, { creator: admin })
      await t.ctx.db.write
        .update(projects)
        .set({
          visibility: pick([0, 0, 10, 20]),
          merge_requests_access_level: pick([0, 10, 20, 20]),
          repository_access_level: pick([0, 10, 20, 20]),
          archived: chance(0.3),
        })
        .where(eq(projects.id, project.id))
      for (const person of ordinary)
        if (chance(0.5))
          await t
            .api('post', `${project.path}/members`, admin)
            .send({ user_id: person.id, access_level: pick([10, 10, 20, 30, 40]) })
            .expect(201)
      for (let iid = 1; iid <= 5; iid++) {
        const now = new Date()
        await t.ctx.db.write.insert(mergeRequests).values({
          project_id: project.id,
          source_project_id: project.id,
          original_source_project_id: project.id,
          source_branch: `b${iid}`,
          target_branch: 'main',
          iid,
          title: `request ${iid}`,
          author_id: pick(ordinary).id,
          assignee_ids: chance(0.5) ? [pick(ordinary).id, pick(ordinary).id] : [],
          merge_status: 'cannot_be_merged',
          deleted_at: chance(0.2) ? now : null,
          created_at: now,
          updated_at: now,
        })
      }
      made.push(project)
    }
    const rows = await t.ctx.db.write.select().from(mergeRequests)
    let seen = 0
    for (const person of people) {
      const listed = new Set<number>()
      for (let page = 1; page < 4; page++)
        for (const { id } of (await t.api('get', `/merge_requests?scope=all&per_page=100&page=${page}`, person).expect(200)).body) listed.add(id)
      for (const project of made) {
        const subject = await getProjectFor(t.ctx, { user: person.caller.user }, String(project.id)).catch((error: unknown) => {
          if (error instanceof Failure) return null
          throw error
        })
        const answer = await t.api('get', `${project.path}/merge_requests`, person)
        expect(answer.status).toBe(subject === null ? 404 : subject.can('read_merge_request') ? 200 : 403)
        const within = answer.status === 200 ? new Set(answer.body.map(({ id }: { id: number }) => id)) : null
        for (const row of rows.filter(({ project_id }) => project_id === project.id)) {
          const standing = subject && { ...subject, user: person.caller.user }
          const decided = standing !== null && row.deleted_at === null && seesMergeRequest(standing, row)
          if (decided) seen++
          expect(listed.has(row.id), `request ${row.id} in the list of all`).toBe(decided)
          if (within) expect(within.has(row.id), `request ${row.id} in its project's list`).toBe(decided)
          const single = await t.api('get', `${project.path}/merge_requests/${row.iid}`, person)
          expect(single.status === 200).toBe(decided)
          const may = standing !== null && row.deleted_at === null && canMergeRequest(standing, 'update_merge_request', row)
          const changed = await t.api('put', `${project.path}/merge_requests/${row.iid}`, person).send({ title: row.title })
          expect(changed.status === 200, `request ${row.id} changed by ${person.id}`).toBe(may)
        }
      }
    }
    expect(seen).toBeGreaterThan(rounds(20, 40))
  })
})
