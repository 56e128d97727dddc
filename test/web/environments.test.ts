import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { ciOf } from '../support/ci.js'
import { aUser, type TestUser } from '../support/factories.js'

const t = testApp()
const { withCi, push, get } = ciOf(t)

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

const YAML = `
stages: [a, b]
go: { stage: a, script: x, environment: { name: review/$CI_COMMIT_REF_SLUG, url: "https://$CI_COMMIT_REF_SLUG.example.com", on_stop: end } }
end: { stage: b, script: y, when: manual, environment: { name: review/$CI_COMMIT_REF_SLUG, action: stop } }
`

it('the environments of a project are listed with what was deployed last, and stopped (CI-312)', async () => {
  const { project, runner } = await withCi(YAML)
  await runner.end(await runner.takeNamed('go'), 'success')
  const at = `/${project.fullPath}/-/environments`
  const reporter = await aUser(t.ctx)
  await t.api('post', `${project.path}/members`, project.creator).send({ user_id: reporter.id, access_level: 20 }).expect(201)
  const reading = await (await signedIn(reporter)).open(at)
  expect(reading.text).toContain('review/main')
  expect([reading.$('main .actions a').attr('href'), reading.$('main form.action').length]).toEqual(['https://main.example.com', 0])
  const browser = await signedIn(project.creator)
  const [{ id }] = await get(project, '/environments')
  const one = await browser.open(`${at}/${id}`)
  expect(one.text).toContain('#1')
  expect(one.$(`main a[href$="/-/jobs/${(await get(project, '/jobs'))[0].id}"], main a[href*="/-/jobs/"]`).length).toBeGreaterThan(0)
  await browser.open(at)
  const stopped = await browser.submit(`${at}/${id}/stop`)
  expect(stopped.text).toContain('The job that stops the environment is started.')
  expect((await get(project, `/environments/${id}`)).state).toBe('stopping')
})

it('a merge request leads to what its branch was deployed to (CI-312)', async () => {
  const { project, runner } = await withCi(YAML)
  await push(project, { b: 'b' }, 'b', 'topic')
  await runner.takeNamed('go')
  await runner.end(await runner.takeNamed('go'), 'success')
  const { body } = await t
    .api('post', `${project.path}/merge_requests`, project.creator)
    .send({ source_branch: 'topic', target_branch: 'main', title: 'Topic' })
    .expect(201)
  const page = await (await signedIn(project.creator)).open(`/${project.fullPath}/-/merge_requests/${body.iid}`)
  expect(page.$('#merge a[href="https://topic.example.com"]').text()).toBe('View app review/topic')
})

it('a pipeline links those that it has triggered, and these lead back (CI-312)', async () => {
  const { project } = await withCi('go: { trigger: { include: child.yml } }\nwait: { script: x, needs: [go] }', { 'child.yml': 'sub: { script: y }' })
  const [{ id }] = await get(project, '/pipelines')
  const [{ downstream_pipeline: child }] = await get(project, `/pipelines/${id}/bridges`)
  const browser = await signedIn(project.creator)
  const at = (pipeline: number) => `/${project.fullPath}/-/pipelines/${pipeline}`
  const page = await browser.open(at(id))
  expect(page.$(`a[href="${at(child.id)}"]`).text()).toBe(`Child pipeline #${child.id}`)
  expect(page.text).toContain('needs go')
  const lower = await browser.open(at(child.id))
  expect(lower.$(`main a[href="${at(id)}"]`).text()).toBe(`Pipeline #${id}`)
})
