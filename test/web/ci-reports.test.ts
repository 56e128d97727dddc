import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'
import { ScriptedRunner } from '../support/runner.js'
import { zipOf } from '../support/zip.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

async function withCi(yaml: string, files: Record<string, string> = {}) {
  const owner = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: owner, files: { '.gitlab-ci.yml': yaml, ...files } })
  await t.ctx.jobs.drain()
  const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id })
  return { owner, project, runner, at: `/${project.fullPath}/-` }
}

describe('artifacts', () => {
  it('are browsed by folder, and single files saved (CI-256, CI-133)', async () => {
    const { owner, runner, at } = await withCi('job: { script: x, artifacts: { paths: [out] } }')
    const job = await runner.takeNamed('job')
    const files = { 'out/a b.txt': 'hello\n', 'out/in/c.txt': 'c', '<b>.txt': 'b' }
    expect((await runner.upload(job, zipOf(files), '?artifact_type=archive&artifact_format=zip')).status).toBe(201)
    await runner.upload(job, Buffer.from('[]'), '?artifact_type=codequality&artifact_format=raw')
    const browser = await signedIn(owner)
    const page = await browser.open(`${at}/jobs/${job.id}`)
    expect(page.$('a[href$="file_type=codequality"]').text()).toBe('codequality')
    const names = (opened: typeof page) =>
      opened
        .$('.rows a')
        .toArray()
        .map((link) => opened.$(link).text())
    const top = await browser.open(page.$('a[href$="/artifacts/browse"]').attr('href') as string)
    expect([names(top), top.$('main b').length]).toEqual([['out', '<b>.txt'], 0])
    const out = await browser.open(top.$('.rows a').first().attr('href') as string)
    expect(names(out)).toEqual(['in', 'a b.txt'])
    const saved = await browser.open(out.$('.rows a').last().attr('href') as string)
    expect([saved.headers.get('content-type'), saved.headers.get('content-disposition')]).toEqual([
      'application/octet-stream',
      'attachment; filename="a_b.txt"',
    ])
    for (const path of ['browse/none', 'browse/..', 'raw/out', 'raw/none'])
      expect((await browser.open(`${at}/jobs/${job.id}/artifacts/${path}`)).status).toBe(404)
    expect((await browser.open(`${at}/jobs/${job.id}/artifacts/download?file_type=codequality`)).html).toBe('[]')
    expect((await browser.open(`${at}/jobs/${job.id}/artifacts/download?file_type=junit`)).status).toBe(404)
  })
})

describe('tests', () => {
  it('of a pipeline are on a page, those that failed first (CI-251)', async () => {
    const { owner, runner, at } = await withCi('job: { script: x, artifacts: { reports: { junit: j.xml } } }')
    const job = await runner.takeNamed('job')
    const report =
      '<testsuite><testcase name="fine" classname="A" time="1"/><testcase name="&lt;b>" classname="A"><failure>&lt;script></failure></testcase></testsuite>'
    await runner.upload(job, gzipSync(report), '?artifact_type=junit&artifact_format=gzip')
    const browser = await signedIn(owner)
    const pipelines = await browser.open(`${at}/jobs/${job.id}`)
    const pipeline = await browser.open(pipelines.$('a[href*="/-/pipelines/"]').first().attr('href') as string)
    const page = await browser.open(pipeline.$('.toolbar a').attr('href') as string)
    expect(page.text).toContain('2 tests in 1 s: 1 passed, 1 failed, 0 skipped')
    expect([page.$('.rows strong').first().text(), page.$('.rows pre').text(), page.$('main pre script').length]).toEqual(['<b>', '<script>', 0])
  })
})

describe('the changes of a merge request', () => {
  it('mark lines that tests ran, and those that they did not (CI-253)', async () => {
    const { owner, project, runner, at } = await withCi(
      'job: { script: x, artifacts: { reports: { coverage_report: { coverage_format: cobertura, path: c.xml } } } }',
      { 'src/a.js': 'one\n' },
    )
    await runner.takeNamed('job')
    await t.api('post', `${project.path}/repository/branches`, owner).send({ branch: 'topic', ref: 'main' }).expect(201)
    await t.ctx.jobs.drain()
    await runner.takeNamed('job')
    const change = { branch: 'topic', commit_message: 'more', content: 'one\ntwo\nthree\nfour\n' }
    await t.api('put', `${project.path}/repository/files/src%2Fa.js`, owner).send(change).expect(200)
    await t.ctx.jobs.drain()
    const request = (
      await t.api('post', `${project.path}/merge_requests`, owner).send({ title: 'One', source_branch: 'topic', target_branch: 'main' }).expect(201)
    ).body
    await t.ctx.jobs.drain()
    const job = await runner.takeNamed('job')
    const report = `<coverage><sources><source>/builds/${project.fullPath}/src</source></sources><packages><package><classes>
      <class filename="a.js"><lines><line number="1" hits="1"/><line number="2" hits="3"/><line number="3" hits="0"/></lines></class></classes></package></packages></coverage>`
    expect((await runner.upload(job, gzipSync(report), '?artifact_type=cobertura&artifact_format=gzip')).status).toBe(201)
    const browser = await signedIn(owner)
    for (const view of ['inline', 'parallel']) {
      const page = await browser.open(`${at}/merge_requests/${request.iid}/diffs?view=${view}`)
      const marked = (kind: string) =>
        page
          .$(`td.${kind}`)
          .toArray()
          .map((cell) => [page.$(cell).attr('data-number'), page.$(cell).attr('title')])
      expect(marked('covered')).toEqual([
        ['1', 'Tests ran this line 1 times'],
        ['2', 'Tests ran this line 3 times'],
      ])
      expect(marked('uncovered')).toEqual([['3', 'No test ran this line']])
    }
  })
})
