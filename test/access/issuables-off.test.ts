import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const WORD = 'zyzzyva'

let project: TestProject
const people = {} as Record<'stranger' | 'guest' | 'owner' | 'admin', TestUser>
let label: number
let milestone: number

beforeAll(async () => {
  Object.assign(people, { stranger: await aUser(t.ctx), guest: await aUser(t.ctx), owner: await aUser(t.ctx), admin: await anAdmin(t.ctx) })
  const { owner, guest } = people
  project = await aProject(t.ctx, { creator: owner, guest, visibility: 'public', files: { 'a.txt': 'a', 'README.md': `~${WORD} and %${WORD}` } })
  const say = async (path: string, body: object) =>
    (
      await t
        .api('post', project.path + path, owner)
        .send(body)
        .expect(201)
    ).body
  label = (await say('/labels', { name: WORD, color: '#112233' })).id
  milestone = (await say('/milestones', { title: WORD, description: WORD })).id
  await say('/releases', { tag_name: 'v1', ref: 'main', name: 'One', description: 'One', milestones: [WORD] })
  await t.ctx.jobs.drain()
})

const switched = (levels: object) => t.api('put', project.path, people.owner).send(levels).expect(200)

/** The statuses of the addresses of labels and milestones, and where else their name is found. */
async function found(who: TestUser): Promise<{ statuses: number[]; places: string[] }> {
  const statuses: number[] = []
  for (const path of ['/labels', `/labels/${label}`, '/milestones', `/milestones/${milestone}`, `/milestones/${milestone}/issues`])
    statuses.push((await t.api('get', project.path + path, who)).status)
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  for (const path of ['/labels', '/milestones', '/milestones/1']) statuses.push((await browser.open(`/${project.fullPath}/-${path}`)).status)
  const places: Record<string, string> = {}
  for (const path of [
    `/search?scope=milestones&search=${WORD}`,
    `${project.path}/search?scope=milestones&search=${WORD}`,
    `${project.path}/events`,
    `/users/${people.owner.id}/events`,
    `${project.path}/releases`,
  ])
    places[path.replace(/\d+/g, ':id')] = JSON.stringify((await t.api('get', path, who).expect(200)).body)
  const text = { text: `~${WORD} and %${WORD}`, project: project.fullPath, gfm: true }
  places['markdown'] = (await t.api('post', '/markdown', who).send(text).expect(201)).body.html.includes('gfm-') ? WORD : ''
  for (const path of ['~', '%']
    .map((sign) => `/-/autocomplete_sources?type=${encodeURIComponent(sign)}&term=`)
    .concat(['.atom', '/activity', '/-/releases']))
    places[path] = (await browser.open(`/${project.fullPath}${path}`)).html
  places['README'] = (await browser.open(`/${project.fullPath}`)).html.includes('class="gfm') ? WORD : ''
  return { statuses, places: Object.keys(places).filter((name) => places[name]?.includes(WORD)) }
}

describe('labels and milestones', () => {
  it('are off where both issues and merge requests are (AC-79)', async () => {
    const all = await found(people.stranger)
    expect(all.statuses).toEqual(Array(8).fill(200))
    expect(all.places).toHaveLength(12)
    for (const [levels, shut, open] of [
      [{ issues_access_level: 'disabled', merge_requests_access_level: 'disabled' }, ['stranger', 'guest', 'owner', 'admin'], []],
      [{ issues_access_level: 'private', merge_requests_access_level: 'private' }, ['stranger'], ['guest', 'owner', 'admin']],
      [{ issues_access_level: 'disabled', merge_requests_access_level: 'enabled' }, [], ['stranger', 'owner']],
      [{ issues_access_level: 'enabled', merge_requests_access_level: 'disabled' }, [], ['stranger', 'owner']],
    ] as const) {
      await switched(levels)
      for (const name of shut) {
        expect([levels, name, await found(people[name])]).toEqual([levels, name, { statuses: Array(8).fill(403), places: [] }])
        expect((await t.api('post', `${project.path}/labels`, people[name]).send({ name: 'x', color: '#000000' })).status).toBe(403)
        expect((await t.api('post', `${project.path}/milestones`, people[name]).send({ title: 'x' })).status).toBe(403)
        expect((await t.api('post', `${project.path}/labels/${label}/subscribe`, people[name])).status).toBe(403)
      }
      for (const name of open) expect([levels, name, await found(people[name])]).toEqual([levels, name, all])
    }
  })

  it('of a release stay where those who do not see them change it (AC-79, RL-3)', async () => {
    const { owner } = people
    const release = `${project.path}/releases/v1`
    await switched({ issues_access_level: 'disabled', merge_requests_access_level: 'disabled' })
    await t.api('put', release, owner).send({ name: 'Two', milestones: [] }).expect(200)
    await t
      .api('put', release, owner)
      .send({ milestones: [WORD] })
      .expect(400)
    await switched({ issues_access_level: 'enabled' })
    expect((await t.api('get', release, owner).expect(200)).body).toMatchObject({ name: 'Two', milestones: [{ title: WORD }] })
  })
})
