// @module-tag long
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type EndedCommand, runProgram } from '../support/command.js'
import { startedRoost } from '../support/servers/started-roost.js'

const t = startedRoost()
const folder = mkdtempSync(join(tmpdir(), 'python-runner-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** gitlab-python-runner of PyPI, where `.ci/run` installs it. */
const PACKAGE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'roost-ci/python-runner')

const runner = (...args: string[]): Promise<EndedCommand> =>
  runProgram('python3', ['-m', 'GitlabPyRunner', ...args], { cwd: folder, env: { PYTHONPATH: PACKAGE, HOME: folder } })

const CONFIGURATION = `
stages: [build, test]
make:
  stage: build
  script: [mkdir out, 'echo made by $CI_JOB_NAME > out/made.txt']
  artifacts: { paths: [out] }
check:
  stage: test
  script: ['cat out/made.txt', 'exit 3']
`

it('a runner that is not GitLab Runner registers, runs jobs with artifacts, and leaves (CI-102, CI-110, CI-114, CI-130)', async () => {
  expect(existsSync(PACKAGE), `gitlab-python-runner is in ${PACKAGE}`).toBe(true)
  const user = await t.user()
  const post = async (path: string, body: object = {}) => (await t.api('post', path, user).send(body).expect(201)).body
  const at = `/projects/${(await post('/projects', { name: 'one' })).id}`
  const get = async (path: string) => (await t.api('get', at + path, user).expect(200)).body
  const actions = [{ action: 'create', file_path: '.gitlab-ci.yml', content: CONFIGURATION }]
  await post(`${at}/repository/commits`, { branch: 'main', commit_message: 'CI', actions })
  const { token } = await post(`${at}/runners/reset_registration_token`)
  expect(await runner('--register', t.url, '--regtoken', token, '--desc', 'python', '--tag', 'python')).toMatchObject({ code: 0 })
  const [mine] = await get('/runners')
  expect(mine).toMatchObject({ description: 'python', runner_type: 'project_type' })
  await t.api('put', `/runners/${mine.id}`, user).send({ run_untagged: true }).expect(200)

  const pending = (name: string) =>
    expect.poll(async () => (await get('/jobs?scope=pending')).map((job: { name: string }) => job.name)).toEqual([name])
  const take = () => runner('--start', 'gitlab-runner.yml', '--once')
  const logOf = async ({ id }: { id: number }) => (await t.api('get', `${at}/jobs/${id}/trace`, user).expect(200)).text
  await pending('make')
  expect(await take()).toMatchObject({ code: 0 })
  await pending('check')
  expect(await take()).toMatchObject({ code: 1 })

  const [check, make] = await get('/jobs')
  expect(make).toMatchObject({ status: 'success', runner: { id: mine.id }, artifacts_file: { filename: 'archive.zip' } })
  expect(await logOf(make)).toMatch(/Cloning project[\s\S]*match .*out\/made\.txt/)
  expect(check).toMatchObject({ status: 'failed', failure_reason: 'unknown_failure' })
  // of the artifact of the job before
  expect(await logOf(check)).toContain('made by make')
  expect(await get('/pipelines')).toMatchObject([{ status: 'failed' }])

  expect(await runner('--unregister')).toMatchObject({ code: 0 })
  expect(await get('/runners')).toEqual([])
})
