import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { ciOf } from '../support/ci.js'
import { aUser, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { zipOf } from '../support/zip.js'

const t = testApp()
const { withCi, get } = ciOf(t)

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

const YAML = `
stages: [a, b]
unit: { stage: a, script: x, coverage: '/all (\\d+)/', rules: [{ if: $CI_MERGE_REQUEST_IID }] }
lint: { stage: b, script: x, rules: [{ if: $CI_MERGE_REQUEST_IID }] }
`

async function aRequest() {
  const { project, runner } = await withCi(YAML)
  const request = await aMergeRequest(t, { project })
  await t.ctx.jobs.drain()
  const [{ id }] = await get(project, `/merge_requests/${request.iid}/pipelines`)
  return { project, runner, request, id, at: `/${project.fullPath}/-/merge_requests/${request.iid}` }
}

it('a merge request lists its pipelines, and makes one (WB-720)', async () => {
  const { project, request, id, at } = await aRequest()
  const browser = await signedIn(project.creator)
  const page = await browser.open(`${at}/pipelines`)
  expect(page.$('nav.tabs [aria-current]').text()).toContain('Pipelines')
  expect(page.$(`main a[href="/${project.fullPath}/-/pipelines/${id}"]`).text()).toBe(`#${id}`)
  expect(page.$('main .rows .stage-dots').length).toBe(1)
  expect(page.text).toContain(`merge request !${request.iid}`)
  const made = await browser.submit(`${at}/pipelines`)
  expect(made.text).toContain('is made.')
  expect(await get(project, `/merge_requests/${request.iid}/pipelines`)).toHaveLength(2)
  const reporter = await aUser(t.ctx)
  await t.api('post', `${project.path}/members`, project.creator).send({ user_id: reporter.id, access_level: 20 }).expect(201)
  const reading = await (await signedIn(reporter)).open(`${at}/pipelines`)
  expect([reading.$('main .rows > li').length, reading.$(`form[action$="${at}/pipelines"]`).length]).toEqual([2, 0])
})

it('what stands in the way of a new pipeline is said on the page (WB-720, CI-212)', async () => {
  const { project } = await withCi('build: { script: x }')
  const request = await aMergeRequest(t, { project })
  await t.ctx.jobs.drain()
  const browser = await signedIn(project.creator)
  const at = `/${project.fullPath}/-/merge_requests/${request.iid}/pipelines`
  expect((await browser.open(at)).text).toContain(request.source)
  expect((await browser.submit(at)).text).toContain('No stages / jobs for this pipeline.')
})

it('pipelines say for which merge request they are, to those who may read it (WB-721)', async () => {
  const { project, request, id, at } = await aRequest()
  const browser = await signedIn(project.creator)
  const list = await browser.open(`/${project.fullPath}/-/pipelines`)
  expect(list.$(`main .rows a[href="${at}"]`).text()).toBe(`!${request.iid}`)
  const one = await browser.open(`/${project.fullPath}/-/pipelines/${id}`)
  expect(one.$(`main a[href="${at}"]`).text()).toBe(`!${request.iid}`)
  expect(one.text).toContain(request.source)
  const reporter = await aUser(t.ctx)
  await t.api('post', `${project.path}/members`, project.creator).send({ user_id: reporter.id, access_level: 20 }).expect(201)
  await t.api('put', project.path, project.creator).send({ merge_requests_access_level: 'disabled' }).expect(200)
  const hidden = await (await signedIn(reporter)).open(`/${project.fullPath}/-/pipelines`)
  expect(hidden.$(`main .rows a[href="${at}"]`).length).toBe(0)
  expect(hidden.text).toContain(`refs/merge-requests/${request.iid}/head`)
})

it('the box of the merge shows the head pipeline: stages, coverage, and failed jobs with the end of their logs (WB-722)', async () => {
  const { project, runner, id, at } = await aRequest()
  const browser = await signedIn(project.creator)
  const unit = await runner.takeNamed('unit')
  await runner.trace(unit, 0, `${Array.from({ length: 30 }, (_, i) => `line <${i}>`).join('\n')}\nall 87 \x1b[31mred\x1b[0m\n`)
  await runner.end(unit, 'failed', { failure_reason: 'script_failure' })
  await t.ctx.jobs.drain()
  const page = await browser.open(at)
  expect(page.$(`#merge a[href="/${project.fullPath}/-/pipelines/${id}"]`).text()).toBe(`The pipeline of the merge request #${id}`)
  expect(page.$('#merge .stage-dots > *').length).toBe(2)
  expect(page.$('#merge').text()).toContain('Coverage 87 %')
  expect(page.$('#merge .failed-job summary').text()).toBe('unit failed: script failure')
  const lines = page
    .$('#merge .failed-job .log-line')
    .toArray()
    .map((line) => page.$(line).text())
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([10, 'line <21>', 'all 87 red'])
  expect(page.$('#merge .failed-job a').attr('href')).toBe(`/${project.fullPath}/-/jobs/${unit.id}`)
})

it('the box of the merge links the artifacts that jobs expose, where there are some (CI-262)', async () => {
  const job = (name: string, paths: string) =>
    `${name}: { script: x, artifacts: { expose_as: The ${name}, paths: [${paths}] }, rules: [{ if: $CI_MERGE_REQUEST_IID }] }`
  const { project, runner } = await withCi(
    [job('file', 'out/a b.txt'), job('folder', './out/'), job('both', 'out, b.txt'), job('none', 'x')].join('\n'),
  )
  const request = await aMergeRequest(t, { project })
  await t.ctx.jobs.drain()
  const files = { 'out/a b.txt': 'hello', 'b.txt': 'b' }
  const ids: number[] = []
  for (const name of ['file', 'folder', 'both']) {
    const taken = await runner.takeNamed(name)
    ids.push(taken.id)
    await runner.upload(taken, zipOf(files), '?artifact_type=archive&artifact_format=zip')
    await runner.end(taken, 'success')
  }
  await t.ctx.jobs.drain()
  const browser = await signedIn(project.creator)
  const page = await browser.open(`/${project.fullPath}/-/merge_requests/${request.iid}`)
  const links = page.$('#merge a[href*="/artifacts/"]').toArray()
  const at = (id?: number) => `/${project.fullPath}/-/jobs/${id}/artifacts/browse`
  expect(links.map((link) => [page.$(link).text(), page.$(link).attr('href')])).toEqual([
    ['The file', `${at(ids[0])}/out/a%20b.txt`],
    ['The folder', `${at(ids[1])}/out`],
    ['The both', at(ids[2])],
  ])
  for (const [address, name] of [
    [`${at(ids[0])}/out/a%20b.txt`, 'a b.txt'],
    [`${at(ids[1])}/out`, 'a b.txt'],
  ] as const) {
    const opened = await browser.open(address)
    expect([opened.$('.rows a').text(), opened.$('.rows a').attr('href')]).toEqual([name, expect.stringContaining('/artifacts/raw/out/a%20b.txt')])
  }
})
