import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { LEVELS } from '../../src/access/can.js'
import { pipelineSchedules } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { ciOf } from '../support/ci.js'
import { aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const { withCi, get, addMember } = ciOf(t)

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

/** Somebody with this level in the project. */
async function aMember(project: TestProject, level: number): Promise<TestUser> {
  const user = await aUser(t.ctx)
  await addMember(project, user, level)
  return user
}

const make = async (project: TestProject, given: object = {}, who = project.creator) =>
  (
    await t
      .api('post', `${project.path}/pipeline_schedules`, who)
      .send({ description: 'nightly', ref: 'main', cron: '0 1 * * *', ...given })
      .expect(201)
  ).body

/** What each row offers: its buttons, and its links that are shown as such. */
const offers = ({ $ }: Opened) =>
  $('main .rows > li')
    .toArray()
    .map((row) =>
      $(row)
        .find('.actions :is(button, a)')
        .toArray()
        .map((each) => $(each).text())
        .join(', '),
    )

const YAML = 'test: { script: x }\nlater: { script: x, when: manual }'

describe('the pages of schedules', () => {
  it('make, run, change and delete one (WB-740, WB-741)', async () => {
    const { project } = await withCi(YAML)
    const at = `/${project.fullPath}/-/pipeline_schedules`
    const browser = await signedIn(project.creator)
    await browser.open(`/${project.fullPath}/-/pipelines`)
    expect((await browser.follow('Schedules')).text).toContain('There is no schedule yet')
    const empty = await browser.follow('New schedule')
    expect(empty.$('[name="schedule[ref]"]').val()).toBe('main')
    const line = (place: number, key: string, value: string) => ({
      [`schedule[variables][${place}][key]`]: key,
      [`schedule[variables][${place}][value]`]: value,
    })
    const given = {
      'schedule[description]': 'each night',
      'schedule[cron]': '0 4 * * *',
      'schedule[cron_timezone]': 'UTC',
      ...line(0, 'DEEP', 'yes'),
    }
    const faulty = await browser.submit(at, { ...given, 'schedule[cron]': 'never', 'schedule[cron_timezone]': 'Mars' })
    expect([faulty.status, faulty.$('.fault').text()]).toEqual([422, expect.stringMatching(/When is invalid syntax.*Time zone is not known/)])
    expect(faulty.$('[name="schedule[variables][0][key]"]').val()).toBe('DEEP')
    expect((await browser.submit(at, { ...given, ...line(1, 'a b', '') })).$('.flash.alert').text()).toContain('Variables have a key')
    expect((await browser.submit(at, { ...given, ...line(1, 'DEEP', '') })).$('.flash.alert').text()).toContain('duplicate values (DEEP)')
    const made = await browser.submit(at, { ...given, ...line(1, '', '') })
    expect([made.at, offers(made)]).toEqual([at, ['Run now, Edit, Delete']])
    expect(made.$('main .rows').text()).toMatch(/each night *main · 0 4 \* \* \* UTC · next run .* · /)

    const [{ id }] = await get(project, '/pipeline_schedules')
    expect((await get(project, `/pipeline_schedules/${id}`)).variables).toEqual([{ key: 'DEEP', value: 'yes', variable_type: 'env_var' }])
    expect((await browser.submit('Run now')).text).toContain('The schedule runs')
    await t.ctx.jobs.drain()
    const [pipeline] = await get(project, `/pipeline_schedules/${id}/pipelines`)
    const ran = await browser.open(at)
    expect(ran.$(`main .rows a[href$="/-/pipelines/${pipeline.id}"]`).text()).toBe(`#${pipeline.id}`)

    await browser.open(`${at}/${id}/edit`)
    expect((await browser.submit(`${at}/${id}`, { 'schedule[cron]': '61 * * * *' })).$('.fault').text()).toContain('When is invalid syntax')
    const edited = await browser.open(`${at}/${id}/edit`)
    const fields = edited.$(`form[action="${at}/${id}"]`).serializeArray()
    const values: Record<string, string> = Object.fromEntries(fields.map(({ name, value }) => [name, value]))
    expect(values['schedule[active]']).toBe('1')
    // a box that is not checked is not sent
    const { 'schedule[active]': _, ...unchecked } = values
    const changed = await browser.post(`${at}/${id}`, { ...unchecked, 'schedule[cron_timezone]': 'Asia/Tokyo' })
    expect(changed.$('main .rows').text()).toMatch(/each night inactive *main · 0 4 \* \* \* Asia\/Tokyo · /)
    expect([await browser.open(`${at}?scope=active`), await browser.open(`${at}?scope=inactive`)].map((page) => offers(page).length)).toEqual([0, 1])
    expect((await browser.submit('Delete')).text).toContain('The schedule is deleted')
    expect(await get(project, '/pipeline_schedules')).toEqual([])
  })

  it('show, change and delete its variables one at a time (WB-741)', async () => {
    const { project } = await withCi(YAML)
    const { id } = await make(project)
    const at = `/${project.fullPath}/-/pipeline_schedules/${id}`
    const browser = await signedIn(project.creator)
    await browser.open(`${at}/edit`)
    const variable = { 'variable[key]': 'A', 'variable[value]': 'secret text', 'variable[variable_type]': 'file' }
    expect((await browser.submit(`${at}/variables`, { ...variable, 'variable[key]': 'a b' })).$('.fault').text()).toContain('Key can contain only')
    const added = await browser.submit(`${at}/variables`, variable)
    expect([added.at, added.html.includes('secret text')]).toEqual([`${at}/edit`, false])
    expect((await browser.submit(`${at}/variables`, variable)).$('.fault').text()).toContain('Key has already been taken')
    await browser.open(`${at}/edit`)
    const shown = await browser.follow('Show')
    expect([shown.headers.get('cache-control'), shown.$('textarea').text()]).toEqual(['no-store', 'secret text'])
    await browser.submit('Save changes', { 'variable[value]': 'other', 'variable[variable_type]': 'env_var' })
    expect((await get(project, `/pipeline_schedules/${id}`)).variables).toEqual([{ key: 'A', value: 'other', variable_type: 'env_var' }])
    await browser.open(`${at}/edit`)
    expect((await browser.submit('Delete')).text).toContain('There are no variables.')
  })

  it('offer what the reader may do (WB-740, CI-223)', async () => {
    const { project } = await withCi(YAML)
    const [reporter, developer, maintainer] = [
      await aMember(project, LEVELS.reporter),
      await aMember(project, LEVELS.developer),
      await aMember(project, LEVELS.maintainer),
    ]
    await t.api('post', `${project.path}/repository/branches?branch=topic&ref=main`, project.creator).expect(201)
    await make(project, { description: 'of main' })
    const { id } = await make(project, { description: 'of topic', ref: 'topic' }, developer)
    const at = `/${project.fullPath}/-/pipeline_schedules`
    const seen = async (who: TestUser) => offers(await (await signedIn(who)).open(at))
    expect(await seen(reporter)).toEqual(['', ''])
    // developers run nothing on the protected branch
    expect(await seen(developer)).toEqual(['', 'Run now, Edit, Delete'])
    expect(await seen(maintainer)).toEqual(['Run now, Take ownership, Delete', 'Run now, Take ownership, Delete'])
    const browser = await signedIn(maintainer)
    for (const path of ['/edit', '/variables/A']) expect((await browser.open(`${at}/${id}${path}`)).status).toBe(path === '/edit' ? 403 : 404)
    await browser.open(at)
    expect((await browser.submit(`${at}/${id}/take_ownership`)).text).toContain('The schedule is yours')
    expect(await seen(maintainer)).toEqual(['Run now, Take ownership, Delete', 'Run now, Edit, Delete'])
    expect((await (await signedIn(developer)).open(`${at}/${id}/edit`)).status).toBe(403)
  })

  it('say why one made no pipeline, at a constant number of queries (WB-740, CI-226)', async () => {
    const { project } = await withCi(YAML)
    const { id } = await make(project, { ref: 'gone' })
    await t.api('post', `${project.path}/pipeline_schedules/${id}/play`, project.creator).expect(201)
    await t.ctx.jobs.drain()
    await t.ctx.db.write.update(pipelineSchedules).set({ owner_id: null }).where(eq(pipelineSchedules.id, id))
    const browser = await signedIn(project.creator)
    const at = `/${project.fullPath}/-/pipeline_schedules`
    const page = await browser.open(at)
    expect(page.$('main .rows .fault').text()).toBe('Made no pipeline the last time: Reference not found')
    expect(page.$('main .rows').text()).toContain('no owner')
    const count = async () => (await t.queriesOf(() => browser.open(at))).length
    const one = await count()
    for (let n = 0; n < 5; n++) await make(project)
    expect(await count()).toBe(one)
  })
})

describe('the page of triggers', () => {
  it('lists, makes and revokes tokens, whole for those whose they are (WB-742)', async () => {
    const { project } = await withCi(YAML)
    const at = `/${project.fullPath}/-/triggers`
    const browser = await signedIn(project.creator)
    await browser.open(at)
    const made = await browser.submit(at, { 'trigger[description]': 'deployer' })
    const [{ id, token }] = await get(project, '/triggers')
    expect([made.headers.get('cache-control'), made.$('main .copied input').val()]).toEqual(['no-store', token])
    expect(made.text).toMatch(/deployer .*never used/)
    expect(made.$('main pre').first().text()).toBe(
      `curl -X POST -F token=$TOKEN -F ref=main -F "variables[NAME]=value" ${t.ctx.config.baseUrl}/api/v4/projects/${project.id}/trigger/pipeline`,
    )
    await t.api('post', `${project.path}/trigger/pipeline`).send({ token, ref: 'main' }).expect(201)
    const other = await signedIn(await aMember(project, LEVELS.maintainer))
    const theirs = await other.open(at)
    expect([theirs.$('main .rows code').text(), theirs.html.includes(token)]).toEqual([`${token.slice(0, 4)}…`, false])
    expect(theirs.text).toContain('last used')
    expect((await other.submit(`${at}/${id}`)).text).toContain('The trigger is revoked')
    expect(await get(project, '/triggers')).toEqual([])
    const developer = await signedIn(await aMember(project, LEVELS.developer))
    expect((await developer.open(at)).status).toBe(403)
  })
})

describe('what runs jobs of a protected branch', () => {
  it('is offered to those alone who may run them (WB-743, CI-228)', async () => {
    const env = `go: { script: x, environment: { name: prod, on_stop: end } }
end: { script: y, when: manual, environment: { name: prod, action: stop } }
bad: { script: x }`
    const { project, runner } = await withCi(env)
    await runner.end(await runner.takeNamed('go'), 'success')
    await runner.end(await runner.takeNamed('bad'), 'failed')
    const [[{ id }], jobs, [environment]] = [await get(project, '/pipelines'), await get(project, '/jobs'), await get(project, '/environments')]
    const job = jobs.find(({ name }: { name: string }) => name === 'bad')
    const pages = [`pipelines/${id}`, `jobs/${job.id}`, 'environments', `environments/${environment.id}`]
    const buttons = async (who: TestUser) => {
      const browser = await signedIn(who)
      const found: Record<string, string[]> = {}
      for (const path of pages) {
        const { $ } = await browser.open(`/${project.fullPath}/-/${path}`)
        found[path.replace(/\d+/, ':id')] = $('main form.action button')
          .toArray()
          .map((each) => $(each).text())
      }
      return found
    }
    const developer = await aMember(project, LEVELS.developer)
    const mine = await buttons(project.creator)
    expect(mine).toEqual({
      'pipelines/:id': expect.arrayContaining(['Retry failed jobs', 'Start', 'Retry']),
      'jobs/:id': ['Retry', 'Erase log and artifacts'],
      environments: ['Stop'],
      'environments/:id': ['Stop'],
    })
    expect(await buttons(developer)).toEqual({ 'pipelines/:id': [], 'jobs/:id': [], environments: [], 'environments/:id': [] })
    await t.api('post', `${project.path}/environments/${environment.id}/stop`, developer).expect(403)
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    expect(await buttons(developer)).toEqual(mine)
  })

  it('costs a list of environments a constant number of queries (WB-743)', async () => {
    const { project, runner } = await withCi('go: { script: x, environment: { name: a } }')
    await runner.end(await runner.takeNamed('go'), 'success')
    const browser = await signedIn(project.creator)
    const count = async () => (await t.queriesOf(() => browser.open(`/${project.fullPath}/-/environments`))).length
    await count()
    const one = await count()
    for (const name of ['b', 'c', 'd']) await t.api('post', `${project.path}/environments`, project.creator).send({ name }).expect(201)
    expect(await count()).toBe(one)
  })
})
