import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject } from '../../support/factories.js'

const t = testApp()
let project: TestProject
const FILE = 'include: {local: /ci/more.yml, rules: [{exists: [Dockerfile]}]}\nbuild: {script: make, only: [main]}\n'

beforeAll(async () => {
  project = await aProject(t.ctx, {
    files: {
      '.gitlab-ci.yml': FILE,
      'ci/more.yml': '.base: {tags: [docker]}\ntest: {extends: .base, script: make test, only: [dev]}\n',
      'ci/empty.yml': '',
      Dockerfile: 'x',
    },
  })
})

const lint = async (body: object) => (await t.api('post', '/ci/lint', project.creator).send(body).expect(200)).body
const ofProject = async (body: object) => (await t.api('post', `${project.path}/ci/lint`, project.creator).send(body).expect(200)).body

describe('POST /ci/lint (CI-61)', () => {
  it('says what is wrong, and how the file reads', async () => {
    expect(await lint({ content: 'a: {script: x}' })).toEqual({ status: 'valid', errors: [], warnings: [] })
    expect(await lint({ content: 'a: {script: x, foo: 1}' })).toEqual({
      status: 'invalid',
      errors: ['jobs:a config contains unknown keys: foo'],
      warnings: [],
    })
    expect(await lint({ content: '.b: {tags: [x]}\na: {script: y, extends: .b, rules: [{when: always}]}', include_merged_yaml: true })).toEqual({
      status: 'valid',
      errors: [],
      warnings: [expect.stringContaining('jobs:a may allow multiple pipelines')],
      merged_yaml: '---\n.b:\n  tags:\n    - x\na:\n  tags:\n    - x\n  script: "y"\n  extends: .b\n  rules:\n    - when: always\n',
    })
  })

  it('has no project to include from', async () => {
    expect((await lint({ content: 'include: a.yml' })).errors).toEqual(['Local file `a.yml` does not have project!'])
    expect((await lint({ content: `include: {project: ${project.fullPath}, file: ci/more.yml}\na: {script: x}` })).errors).toEqual([])
  })

  it('needs a credential and content', async () => {
    await t.api('post', '/ci/lint').send({ content: 'a' }).expect(401)
    await t.api('post', '/ci/lint', project.creator).send({}).expect(400, { error: 'content is missing' })
    expect((await lint({ content: '' })).errors).toEqual(['Please provide content of .gitlab-ci.yml'])
  })

  it('hostile content is an answer (CI-40)', async () => {
    expect((await lint({ content: 'a'.repeat(1_100_000) })).errors).toEqual(['The YAML file is too large: at most 1 MB is read'])
    // whose caller has no turn for a while, and must ask again while the cores are busy
    const other = await aUser(t.ctx)
    const ask = () => t.api('post', '/ci/lint', other).send({ content: `a: ${'['.repeat(200_000)}` })
    let answer = await ask()
    while (answer.status === 503) answer = await ask()
    expect(answer.status).toBe(200)
    expect(answer.body.errors).toHaveLength(1)
  })
})

describe('/projects/:id/ci/lint (CI-62)', () => {
  const get = (query = '') => t.api('get', `${project.path}/ci/lint${query}`, project.creator)

  it('reads the file of the default branch with its own includes', async () => {
    const { body } = await get().expect(200)
    expect(body).toMatchObject({ valid: true, errors: [], warnings: [] })
    expect(body.merged_yaml).toContain('extends: .base')
    await get('?sha=missing').expect(404, { message: '404 Commit Not Found' })
  })

  it('without a file there is nothing to check', async () => {
    const empty = await aProject(t.ctx, { files: { a: 'a' } })
    expect((await t.api('get', `${empty.path}/ci/lint`, empty.creator).expect(200)).body).toEqual({
      valid: false,
      errors: ['Please provide content of .gitlab-ci.yml'],
      warnings: [],
      merged_yaml: null,
    })
    const bare = await aProject(t.ctx)
    await t.api('get', `${bare.path}/ci/lint`, bare.creator).expect(404, { message: '404 Commit Not Found' })
    const { body } = await t.api('post', `${bare.path}/ci/lint`, bare.creator).send({ content: 'a: {script: x}' }).expect(200)
    expect(body).toMatchObject({ valid: true })
  })

  it('a dry run says whether there would be a pipeline', async () => {
    expect((await get('?dry_run=true').expect(200)).body.valid).toBe(true)
    const content = 'a: {script: x, rules: [{if: \'$CI_COMMIT_BRANCH == "dev"\'}]}'
    expect(await ofProject({ content })).toMatchObject({ valid: true, errors: [] })
    expect(await ofProject({ content, dry_run: true })).toMatchObject({ valid: false, errors: ['No stages / jobs for this pipeline.'] })
    expect(await ofProject({ content, dry_run: true, ref: 'missing' })).toMatchObject({ valid: false, errors: ['Reference not found'] })
    expect(await ofProject({ content: 'a: {script: x, rules: [{exists: [ci/*.yml]}]}', dry_run: true })).toMatchObject({ valid: true })
  })

  it('lists jobs with include_jobs', async () => {
    const content = `
default: { before_script: [prepare] }
build: { script: make, tags: [linux], only: { refs: [main], changes: [src/*] }, after_script: [clean], environment: web }
test: { stage: deploy, script: [a, b], needs: [{ job: build, artifacts: false }], when: manual, rules: [{ if: $CI_COMMIT_TAG }, { when: delayed, start_in: 1 day }] }
`
    const build = {
      ...{ name: 'build', stage: 'test', before_script: ['prepare'], script: ['make'], after_script: ['clean'], tag_list: ['linux'] },
      ...{ environment: 'web', when: 'on_success', allow_failure: false },
    }
    const test = {
      ...{ name: 'test', stage: 'deploy', before_script: ['prepare'], script: ['a', 'b'], after_script: [], tag_list: [] },
      ...{ environment: null, when: 'manual', allow_failure: true },
    }
    expect((await ofProject({ content, include_jobs: true })).jobs).toEqual([
      { ...build, only: { refs: ['main'], changes: ['src/*'] }, except: null, needs: null },
      { ...test, only: null, except: null, needs: [{ name: 'build', artifacts: false, optional: false }] },
    ])
    expect((await ofProject({ content, include_jobs: true, dry_run: true })).jobs).toEqual([build, { ...test, when: 'delayed' }])
    expect(await ofProject({ content: 'a: {}', include_jobs: true })).toMatchObject({ valid: false, jobs: [] })
    expect((await get('?include_jobs=true').expect(200)).body.jobs).toMatchObject([{ name: 'test', script: ['make test'] }, { name: 'build' }])
  })

  it('is for developers, and for those who may download the code', async () => {
    const stranger = await aUser(t.ctx)
    await t.api('get', `${project.path}/ci/lint`, stranger).expect(404)
    await t.api('post', `${project.path}/ci/lint`, stranger).send({ content: 'a' }).expect(404)
    const open = await aProject(t.ctx, { visibility: 'public', files: { '.gitlab-ci.yml': 'a: {script: x}' } })
    expect((await t.api('get', `${open.path}/ci/lint`).expect(200)).body.valid).toBe(true)
    await t.api('post', `${open.path}/ci/lint`, stranger).send({ content: 'a' }).expect(403)
  })
})

describe('includes (CI-60)', () => {
  it('of other projects are read with the rights of the caller', async () => {
    const secret = await aProject(t.ctx, { files: { 'a.yml': 'include: /b.yml', 'b.yml': 'b: {script: b}' } })
    const content = (more = '') => `include: {project: ${secret.fullPath}, file: a.yml${more}}\na: {script: x}`
    expect((await ofProject({ content: content() })).errors).toEqual([
      `Project \`${secret.fullPath}\` not found or access denied! Make sure any includes in the pipeline configuration are correctly defined.`,
    ])
    const lint = async (text: string) => (await t.api('post', `${secret.path}/ci/lint`, secret.creator).send({ content: text }).expect(200)).body
    expect(await lint(content())).toMatchObject({ errors: [], merged_yaml: '---\nb:\n  script: b\na:\n  script: x\n' })
    expect((await lint(content(', ref: v9'))).errors).toEqual([`Project \`${secret.fullPath}\` reference \`v9\` does not exist!`])
    expect((await lint(content().replace('a.yml', 'c.yml'))).errors).toEqual([`Project \`${secret.fullPath}\` file \`c.yml\` does not exist!`])
    // never by id
    expect((await lint(`include: {project: "${secret.id}", file: a.yml}`)).errors).toEqual([expect.stringContaining('not found or access denied!')])
  })

  it.each([
    ['ci/none.yml', 'Local file `ci/none.yml` does not exist!'],
    ['ci/empty.yml', 'Local file `ci/empty.yml` is empty!'],
    ['../../etc/a.yml', 'Local file `../../etc/a.yml` does not exist!'],
    ['.git/a.yml', 'Local file `.git/a.yml` does not exist!'],
  ])('%s is an error', async (path, message) => {
    expect((await ofProject({ content: `include: ${path}\na: {script: x}` })).errors).toEqual([message])
  })

  it('patterns and templates', async () => {
    expect((await ofProject({ content: 'include: ci/m*.yml\na: {script: x}' })).merged_yaml).toContain('make test')
    expect((await ofProject({ content: 'include: {template: Go.gitlab-ci.yml}' })).errors).toEqual([])
    expect((await ofProject({ content: 'include: {template: X.gitlab-ci.yml}' })).errors).toEqual([
      'Template file `X.gitlab-ci.yml` is not a valid location!',
    ])
  })

  it('remote files come from public addresses only', async () => {
    const server = createServer((_, response) => response.end('r: {script: x}')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/a.yml`
    expect((await lint({ content: `include: ${url}` })).errors).toEqual([`Remote file \`${url}\` does not have a valid address!`])
  })
})

describe('remote includes of a local network', () => {
  const local = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })

  it('are read where they are allowed, with redirects', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/moved.yml') response.writeHead(302, { location: '/a.yml' }).end()
      else if (request.url === '/a.yml') response.end('r: {script: x}')
      else if (request.url === '/large.yml') response.end('x'.repeat(1_100_000))
      else response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const user = await aUser(local.ctx)
    const errors = async (path: string) =>
      (
        await local
          .api('post', '/ci/lint', user)
          .send({ content: `include: ${at}${path}` })
          .expect(200)
      ).body.errors
    expect(await errors('/moved.yml')).toEqual([])
    expect(await errors('/none.yml')).toEqual([`Remote file \`${at}/none.yml\` could not be fetched because of HTTP code \`404\` error!`])
    expect(await errors('/large.yml')).toEqual(['The YAML file is too large: at most 1 MB is read'])
  })
})

describe('ROOST_CI_REMOTE_INCLUDES=false', () => {
  const closed = testApp({ ROOST_CI_REMOTE_INCLUDES: 'false' })

  it('refuses files of other servers', async () => {
    const user = await aUser(closed.ctx)
    const { body } = await closed.api('post', '/ci/lint', user).send({ content: 'include: https://example.com/a.yml' }).expect(200)
    expect(body.errors).toEqual(['Remote file `https://example.com/a.yml` is not allowed to be fetched by this server!'])
  })
})
