import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestUser } from '../support/factories.js'
import { ScriptedRunner } from '../support/runner.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

/** A project whose first push has a configuration, with a runner for it, and its people. */
async function withCi(yaml: string) {
  const [owner, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: owner, reporter: guest, visibility: 'public', files: { '.gitlab-ci.yml': yaml } })
  await t.ctx.jobs.drain()
  const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id }, { description: 'scripted' })
  return { project, runner, owner, guest, at: `/${project.fullPath}/-` }
}

const buttons = ({ $ }: Opened, within = 'main') =>
  $(`${within} form.action button`)
    .toArray()
    .map((one) => $(one).text())
const lines = ({ $ }: Opened) =>
  $('.log-line[id]')
    .toArray()
    .map((one) => `${$(one).attr('id')} ${$(one).children('span').text()}`)

const STAGES = `
stages: [build, test]
compile: { stage: build, script: make }
lint: { stage: test, script: lint, allow_failure: true }
ask: { stage: test, script: ask, when: manual }
`
const E = '\x1b'

describe('the page of a job', () => {
  it('has its log in colours, with sections, lines to link to and nothing of a log that runs (WB-700, WB-701)', async () => {
    const { runner, guest, at } = await withCi(STAGES)
    const job = await runner.takeNamed('compile')
    const browser = await signedIn(guest)
    const waiting = await browser.open(`${at}/jobs/${job.id}`)
    expect(waiting.text).toContain('The runner has sent nothing yet.')
    // what it does not have is not named
    expect(waiting.$('.facts').text()).not.toMatch(/Artifacts|Reports|Tags/)
    expect([waiting.$('#job').attr('data-refresh'), buttons(waiting)]).toEqual([`${at}/jobs/${job.id}`, []])
    const log = [
      `${E}[0Ksection_start:1700000000:prepare_executor[collapsed=true]\r${E}[0K${E}[36;1mPreparing${E}[0;m\n`,
      `using <script>alert(1)</script>\n`,
      `${E}[0Ksection_end:1700000075:prepare_executor\r${E}[0K${E}[0Ksection_start:1700000075:step\r${E}[0KRunning\n`,
      `10 %\r50 %\r100 %\r\n`,
      `${E}[31mred ${E}[38;5;46mgreen ${E}[48;2;255;0;0mground${E}[0m${E}]8;;javascript:alert(1)${E}\\link${E}]8;;${E}\\ end${E}[2K\n`,
      `${E}[1mbold\n`,
    ].join('')
    expect((await runner.trace(job, 0, log)).status).toBe(202)
    const page = await browser.open(`${at}/jobs/${job.id}`)
    expect(lines(page)).toEqual([
      'L1 Preparing',
      'L2 using <script>alert(1)</script>',
      'L3 Running',
      'L4 100 %',
      'L5 red green groundlink end',
      'L6 bold',
    ])
    expect(page.$('#L2 script, .log [style], .log [href^=javascript]').length).toBe(0)
    expect(
      page
        .$('details.section')
        .toArray()
        .map((one) => [page.$(one).attr('open') !== undefined, page.$(one).find('summary').text()]),
    ).toEqual([
      [false, '1Preparing1 min 15 s'],
      [true, '3Running'],
    ])
    const classes = (line: string) =>
      page
        .$(`${line} > span span`)
        .toArray()
        .map((one) => [page.$(one).attr('class'), page.$(one).text()])
    expect(classes('#L5')).toEqual([
      ['ansi-red-fg', 'red '],
      ['ansi-green-fg', 'green '],
      ['ansi-green-fg ansi-red-bg', 'ground'],
    ])
    expect(classes('#L6')).toEqual([['ansi-bold', 'bold']])
    expect(page.$('#L4 a').attr('href')).toBe('#L4')
    expect(page.$('.facts').text()).toMatch(/Stagebuild.*Runner#\d+ scripted/)
    expect(page.$('noscript').html()).toContain('http-equiv="refresh"')
    const raw = await browser.open(`${at}/jobs/${job.id}/raw`)
    expect([raw.headers.get('content-type'), raw.headers.get('x-content-type-options')]).toEqual(['text/plain; charset=utf-8', 'nosniff'])
    expect(raw.html).toBe(log)
    await runner.end(job, 'failed', { failure_reason: 'script_failure', exit_code: 1 })
    const ended = await browser.open(`${at}/jobs/${job.id}`)
    expect([ended.$('#job').attr('data-refresh'), ended.$('noscript meta').length]).toEqual([undefined, 0])
    expect(ended.$('.facts').text()).toContain('script failure')
  })

  it('has the end alone of a long log, and reads hostile ones (WB-701)', async () => {
    const { runner, guest, at } = await withCi('a: { script: a }\nb: { script: b }')
    const browser = await signedIn(guest)
    const long = await runner.takeNamed('a')
    await runner.trace(long, 0, 'äöü of a line\n'.repeat(40_000))
    const page = await browser.open(`${at}/jobs/${long.id}`)
    expect([page.$('.log-line').length, page.$('#L1 > span').text(), page.$('.box .note').text()]).toEqual([
      10_000,
      'äöü of a line',
      expect.stringContaining('Only the end of the log'),
    ])
    const hostile = await runner.takeNamed('b')
    const nested = Array.from({ length: 300 }, (_, i) => `section_start:1:s${i}\r${i}\n`).join('')
    const text = `${nested}section_end:0:s3\rafter\n${E}]0;never ends\n${E}[${'1;'.repeat(10_000)}m x\n${E}[\n\0${E}\nsection_end:1:none\r\n`
    await runner.trace(hostile, 0, text)
    const read = await browser.open(`${at}/jobs/${hostile.id}`)
    expect([read.status, read.$('details.section').length]).toEqual([200, 10])
    expect(lines(read).slice(300)).toEqual(['L301 after', 'L302 ', 'L303  x', 'L304 ', 'L305 '])
  })

  it('has what the reader may do, as its state allows (WB-700)', async () => {
    const { project, runner, owner, guest, at } = await withCi(STAGES)
    const [mine, theirs] = [await signedIn(owner), await signedIn(guest)]
    const job = await runner.takeNamed('compile')
    await runner.trace(job, 0, 'some text\n')
    const address = `${at}/jobs/${job.id}`
    expect(buttons(await mine.open(address))).toEqual(['Cancel'])
    const canceled = await mine.submit('Cancel')
    expect([canceled.at, canceled.text.includes('The job is canceled.'), buttons(canceled)]).toEqual([
      address,
      true,
      ['Retry', 'Erase log and artifacts'],
    ])
    expect(buttons(await theirs.open(address))).toEqual([])
    const token = String((await theirs.open('/-/profile')).$('[name=authenticity_token]').val())
    for (const action of ['cancel', 'retry', 'play', 'erase'])
      expect((await theirs.post(`${address}/${action}`, { authenticity_token: token })).status).toBe(403)
    const erased = await mine.submit('Erase log and artifacts')
    expect([erased.text.includes('The log and artifacts were erased.'), buttons(erased)]).toEqual([true, ['Retry']])
    const retried = await mine.submit('Retry')
    expect([retried.at === address, retried.text.includes('This job waits for a runner.')]).toEqual([false, true])
    expect((await mine.open(address)).text).toContain('This job was retried')
    const again = await runner.takeNamed('compile')
    const zip = Buffer.from('UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==', 'base64')
    expect((await runner.upload(again, zip)).status).toBe(201)
    await runner.end(again, 'success')
    const done = await mine.open(`${at}/jobs/${again.id}`)
    const download = done.$('.facts a[href$="/artifacts/download"]').attr('href') as string
    expect((await mine.open(download)).headers.get('content-disposition')).toBe('attachment; filename="artifacts.zip"')
    const { body } = await t.api('get', `${project.path}/jobs?scope=manual`, owner).expect(200)
    expect(buttons(await mine.open(`${at}/jobs/${body[0].id}`))).toEqual(['Start'])
    expect((await mine.submit('Start')).text).toContain('This job waits for a runner.')
    // the page of a job that another has started meanwhile
    expect(
      (await mine.post(`${at}/jobs/${body[0].id}/play`, { authenticity_token: String(mine.page?.$('[name=authenticity_token]').first().val()) }))
        .text,
    ).toContain('Unplayable Job')
  })
})

describe('the page of a pipeline', () => {
  it('has its jobs by stage, statuses last, and what can be done with them (WB-702)', async () => {
    const { project, runner, owner, guest, at } = await withCi(STAGES)
    const browser = await signedIn(owner)
    const [{ id, sha }] = (await t.api('get', `${project.path}/pipelines`, owner).expect(200)).body
    await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ ref: 'main', state: 'success', name: 'other', pipeline_id: id }).expect(201)
    await runner.end(await runner.takeNamed('compile'), 'failed', { failure_reason: 'script_failure' })
    const address = `${at}/pipelines/${id}`
    const shown = (page: Opened) =>
      page
        .$('.stages > section')
        .toArray()
        .map((stage) => [
          page.$(stage).find('h2').text(),
          ...page
            .$(stage)
            .find('.rows > li')
            .toArray()
            .map((job) => `${page.$(job).find('strong').text()} ${page.$(job).find('.badge').text()} ${page.$(job).find('button').text()}`),
        ])
    const page = await browser.open(address)
    expect(shown(page)).toEqual([
      ['build', 'compile failed Retry'],
      ['test', 'lint skipped ', 'ask skipped '],
      ['external', 'other passed '],
    ])
    expect(page.$('.facts').text()).toMatch(/Branchmain.*Made bypush/)
    expect(buttons(page, '.heading')).toEqual(['Retry failed jobs'])
    expect(buttons(await (await signedIn(guest)).open(address))).toEqual([])
    const retried = await browser.submit('Retry failed jobs')
    expect([retried.at, shown(retried)[0]]).toEqual([address, ['build', 'compile pending Cancel']])
    expect(buttons(retried, '.heading')).toEqual(['Cancel pipeline'])
    await runner.end(await runner.takeNamed('compile'), 'success')
    await browser.open(address)
    const played = await browser.submit('Start')
    expect([played.at, shown(played)[1]]).toEqual([address, ['test', 'lint pending Cancel', 'ask pending Cancel']])
    const canceled = await browser.submit('Cancel pipeline')
    expect(shown(canceled)[1]).toEqual(['test', 'lint canceled Retry', 'ask canceled Retry'])
  })

  it('says what is wrong with the configuration (WB-702)', async () => {
    const { owner, project, at } = await withCi('job: { script: a, "<b>": 1 }')
    const [{ id }] = (await t.api('get', `${project.path}/pipelines`, owner).expect(200)).body
    const page = await (await signedIn(owner)).open(`${at}/pipelines/${id}`)
    expect([page.$('.flash.alert').text().includes('jobs:job config contains unknown keys: <b>'), page.text.includes('has no jobs')]).toEqual([
      true,
      true,
    ])
  })
})

describe('the list of pipelines', () => {
  it('has the state of each stage, and leads those who may to a new one (WB-703, WB-704)', async () => {
    const { project, runner, owner, guest, at } = await withCi(`
stages: [build, test]
compile: { stage: build, script: make }
lint: { stage: test, script: lint, allow_failure: true }
by hand: { stage: test, script: x, rules: [{ if: '$CI_PIPELINE_SOURCE == "web" && $WHAT == "all of it"' }] }
`)
    await runner.end(await runner.takeNamed('compile'), 'success')
    await runner.end(await runner.takeNamed('lint'), 'failed', { failure_reason: 'script_failure' })
    const browser = await signedIn(owner)
    const list = await browser.open(`${at}/pipelines`)
    expect(
      list
        .$('.stage-dots .state')
        .toArray()
        .map((one) => list.$(one).attr('title')),
    ).toEqual(['build: passed', 'test: passed'])
    expect((await (await signedIn(guest)).open(`${at}/pipelines`)).text).not.toContain('Run pipeline')
    const form = await browser.follow('Run pipeline')
    expect(form.$('[name="pipeline[ref]"]').val()).toBe('main')
    const refused = await browser.submit('Run pipeline', {
      'pipeline[ref]': 'gone',
      'pipeline[variables][0][key]': 'A',
      'pipeline[variables][0][value]': 'one',
    })
    expect([refused.status, refused.text.includes('Reference not found'), refused.$('[name="pipeline[variables][0][value]"]').val()]).toEqual([
      422,
      true,
      'one',
    ])
    const twice = await browser.submit('Run pipeline', { 'pipeline[ref]': 'main', 'pipeline[variables][1][key]': 'A' })
    expect([twice.status, twice.text.includes('Variables have duplicate values (A)')]).toEqual([422, true])
    const wrong = await browser.submit('Run pipeline', { 'pipeline[variables][1][key]': 'A-B' })
    expect([wrong.status, wrong.text.includes('Variables have a key that is not made of letters')]).toEqual([422, true])
    const made = await browser.submit('Run pipeline', { 'pipeline[variables][1][key]': 'WHAT', 'pipeline[variables][1][value]': 'all of it' })
    expect([made.text.includes('The pipeline is made.'), made.$('.stages strong').text(), made.$('.facts').text().includes('Made byweb')]).toEqual([
      true,
      'compilelintby hand',
      true,
    ])
    // only those who may read them see what it was made with (CI-227)
    expect(made.$('details .facts').text()).toBe('AoneWHATall of it')
    expect((await (await signedIn(guest)).open(made.at)).$('details .facts').length).toBe(0)
    const job = await runner.takeNamed('compile')
    expect(job.variables.filter(({ key }) => key === 'A' || key === 'WHAT').map(({ key, value }) => `${key}=${value}`)).toEqual([
      'A=one',
      'WHAT=all of it',
    ])
    await t
      .api('post', `${project.path}/pipeline`, owner)
      .send({
        ref: 'main',
        variables: [
          { key: 'A', value: '1' },
          { key: 'A', value: '2' },
        ],
      })
      .expect(400)
  })
})

describe('runners', () => {
  it('are made, shown, paused and removed by those who may, each in its place (WB-705)', async () => {
    const { owner, guest, project, runner, at } = await withCi('job: { script: x }')
    const shared = await ScriptedRunner.make(t.ctx, t.url, {}, { description: 'of all' })
    const browser = await signedIn(owner)
    await runner.takeNamed('job')
    const list = await browser.open(`${at}/runners`)
    const rows = ({ $ }: Opened) =>
      $('.rows > li')
        .toArray()
        .map((row) => `${$(row).find('strong').text()} ${$(row).find('.badge').text()} ${$(row).find('button').text()}`)
    expect(rows(list)).toEqual([`#${shared.id} of all never seen `, `#${runner.id} scripted online PauseRemove`])
    expect(list.text).toContain('version 15.3.0')
    const refused = await browser.submit('New runner', { 'runner[description]': 'mine', 'runner[run_untagged]': '0' })
    expect([refused.status, refused.text.includes('can not be empty')]).toEqual([422, true])
    const made = await browser.submit('New runner', { 'runner[description]': 'mine', 'runner[tag_list]': 'a, <b>', 'runner[protected]': '1' })
    const command = String(made.$('#register').val())
    expect(command).toMatch(/^gitlab-runner register --non-interactive --url http:\/\/\S+ --token glrt-\S+ --executor shell$/)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const token = /glrt-\S+/.exec(command)?.[0]
    expect((await t.api('post', '/runners/verify').send({ token })).status).toBe(200)
    const after = await browser.open(`${at}/runners`)
    expect([after.text.includes('only protected branches'), after.html.includes(String(token))]).toEqual([true, false])
    const [mine] = (await t.api('get', `${project.path}/runners`, owner).expect(200)).body
    await browser.submit(`${at}/runners/${mine.id}/pause`)
    expect(rows(browser.page as Opened)).toContain(`#${mine.id} mine pauseda<b> ResumeRemove`)
    await browser.submit(`${at}/runners/${mine.id}/resume`)
    const form = { authenticity_token: String(browser.page?.$('[name=authenticity_token]').first().val()) }
    expect((await browser.post(`${at}/runners/${shared.id}/pause`, form)).status).toBe(403)
    await browser.open(`${at}/runners`)
    await browser.submit(`${at}/runners/${mine.id}`)
    expect(rows(browser.page as Opened)).toHaveLength(2)
    // another project of theirs does not change it
    const other = await aProject(t.ctx, { creator: owner })
    expect((await browser.post(`/${other.fullPath}/-/runners/${runner.id}/pause`, form)).status).toBe(404)
    const theirs = await signedIn(guest)
    expect((await theirs.open(`${at}/runners`)).status).toBe(403)
    expect((await theirs.open('/admin/runners')).status).toBe(404)
  })

  it('of groups are for owners, of the service for administrators (WB-705)', async () => {
    const [owner, admin] = [await aUser(t.ctx), await aUser(t.ctx, { admin: true })]
    const group = await aGroup(t.ctx, { creator: owner })
    const browser = await signedIn(owner)
    await browser.open(`/groups/${group.fullPath}/-/runners`)
    expect((await browser.submit('New runner', { 'runner[description]': 'of the group' })).$('#register').length).toBe(1)
    expect((await browser.follow('All runners')).text).toContain('of the group')
    const theirs = await signedIn(admin)
    expect((await theirs.open('/admin/runners')).text).toContain('of the group')
    expect((await theirs.submit('New runner', { 'runner[description]': 'of all' })).$('#register').length).toBe(1)
  })
})

describe('the configuration', () => {
  it('is checked where it is edited, without being saved, and says its jobs or faults (WB-750)', async () => {
    const { project, owner, at } = await withCi(STAGES)
    const browser = await signedIn(owner)
    const editor = await browser.open(`${at}/ci/editor`)
    expect(editor.at).toBe(`${at}/edit/main/.gitlab-ci.yml`)
    const good = await browser.submit('Commit changes', { show: 'check' })
    expect(good.$('section[aria-label=Check]').text()).toContain('valid')
    expect(
      good
        .$('section[aria-label=Check] .rows strong')
        .toArray()
        .map((job) => good.$(job).text()),
    ).toEqual(['compile', 'lint', 'ask'])
    const bad = await browser.submit('Commit changes', { show: 'check', content: 'compile: { stage: none, script: make }\n' })
    expect(bad.$('section[aria-label=Check] .faults').text()).toContain('compile job: chosen stage none does not exist')
    expect(bad.$('#content').val()).toContain('stage: none')
    const { body } = await t.api('get', `${project.path}/repository/commits`, owner).expect(200)
    expect(body).toHaveLength(1)
    await browser.open(`${at}/edit/main/README.md`)
    expect(browser.page?.$('button:contains("Check")').length).toBe(0)
  })

  it('of the default branch has a page for all who may read the code (WB-750)', async () => {
    const { guest, at } = await withCi(`${STAGES}\n.base: { script: x }\nmore: { extends: .base }`)
    const browser = await signedIn(guest)
    const page = await browser.open(`${at}/ci/editor`)
    expect([page.at, page.$('section[aria-label=Check] .rows > li').length, page.$('a.primary').length]).toEqual([`${at}/ci/lint`, 4, 0])
    expect(page.$('details pre').text()).toContain('extends')
    const empty = await aProject(t.ctx, { visibility: 'public', files: { a: 'a' } })
    const none = await browser.open(`/${empty.fullPath}/-/ci/lint`)
    expect([none.status, none.$('p.empty').text()]).toEqual([200, expect.stringContaining('There is no .gitlab-ci.yml')])
    const bare = await aProject(t.ctx, { visibility: 'public' })
    expect((await browser.open(`/${bare.fullPath}/-/ci/lint`)).status).toBe(200)
    const owned = await signedIn(empty.creator)
    const made = await owned.open(`/${empty.fullPath}/-/ci/editor`)
    expect([made.at, made.$('[name=file_name]').val()]).toEqual([`/${empty.fullPath}/-/new/main?file_name=.gitlab-ci.yml`, '.gitlab-ci.yml'])
    expect((await owned.submit('Commit file', { show: 'check', content: 'a: { script: b }' })).$('section[aria-label=Check] strong').text()).toBe('a')
  })
})
