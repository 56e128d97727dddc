// @module-tag long
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Secret, TOTP } from 'otpauth'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, type Service, startService } from '../../bench/kill.mjs'
import { build } from '../../scripts/build.mjs'
import { TestBrowser } from '../support/browser.js'
import { gitOut } from '../support/clients/git-client.js'
import { roostOn } from '../support/command.js'

const folder = mkdtempSync(join(tmpdir(), 'commands-'))
const dataDir = join(folder, 'data')
let service: Service

beforeAll(async () => {
  chmodSync(folder, 0o711)
  await build()
  service = await startService(dataDir)
})
afterAll(async () => {
  await service.end()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const roost = roostOn(dataDir)
const bodyOf = (answer: Awaited<ReturnType<typeof call>>) => ({ status: answer?.status, body: answer?.body })
const signIn = async (username: string, password: string) => {
  const body = JSON.stringify({ grant_type: 'password', username, password })
  return (await fetch(`${service.url}/oauth/token`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status
}

describe('roost user', () => {
  it('creates a user who signs in with the password that is printed', async () => {
    const { code, stdout, stderr } = await roost(['user', 'create', 'ada', '--email', 'Ada@example.com', '--name', 'Ada L'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await signIn('ada', stdout.trim())).toBe(200)
    const { body } = bodyOf(await call(service.url, 'GET', '/users?username=ada'))
    expect(body).toMatchObject([{ username: 'ada', name: 'Ada L', email: 'ada@example.com', is_admin: false, state: 'active' }])
  })

  it('takes the password from standard input, and prints none', async () => {
    const args = ['user', 'create', 'grace', '--email', 'grace@example.com', '--admin', '--password-stdin', '--json']
    const { code, stdout } = await roost(args, 'a long password\n')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ id: expect.any(Number), username: 'grace', email: 'grace@example.com', admin: true })
    expect(await signIn('grace', 'a long password')).toBe(200)
  })

  it('refuses what the API refuses, in words', async () => {
    expect(await roost(['user', 'create', 'root', '--email', 'x@example.com'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'roost: Username has already been taken\n',
    })
    const short = await roost(['user', 'password', 'root', '--password-stdin'], 'short\n')
    expect(short).toEqual({ code: 1, stdout: '', stderr: 'roost: the password is too short (minimum is 8 characters)\n' })
    expect(await roost(['user', 'block', 'unknown'])).toEqual({ code: 1, stdout: '', stderr: 'roost: User Not Found\n' })
  })

  it('sets a password that must be changed (CR-24), blocks and unblocks', async () => {
    await roost(['user', 'create', 'joan', '--email', 'joan@example.com', '--password-stdin'], 'the first password')
    const { stdout } = await roost(['user', 'password', 'joan'])
    expect(await signIn('joan', 'the first password')).toBe(401)
    expect(await signIn('joan', stdout.trim())).toBe(403)
    expect((await roost(['user', 'block', 'joan'])).stdout).toBe('user joan is blocked\n')
    expect((await roost(['user', 'block', 'joan'])).stdout).toBe('user joan was already blocked\n')
    const { stdout: blocked } = await roost(['user', 'list', '--blocked'])
    expect(blocked).toMatch(/^id +username +name +email +state\n *\d+ +joan +joan +joan@example\.com +blocked\n$/)
    expect((await roost(['user', 'unblock', 'joan'])).stdout).toBe('user joan is active\n')
    expect((await roost(['user', 'ban', 'joan'])).stdout).toBe('user joan is banned\n')
    expect((await roost(['user', 'unban', 'joan'])).stdout).toBe('user joan is active\n')
    expect((await roost(['user', 'deactivate', 'joan'])).stdout).toBe('user joan is deactivated\n')
    expect((await roost(['user', 'list', '--blocked'])).stdout).not.toContain('joan')
    expect((await roost(['user', 'activate', 'joan'])).stdout).toBe('user joan is active\n')
    const found = (await roost(['user', 'list', '--search', 'JOAN@', '--json'])).stdout.trim().split('\n')
    expect(found.map((line) => JSON.parse(line))).toMatchObject([{ username: 'joan', state: 'active', admin: false }])
  })

  it('lets in a user who has signed up and waits for approval (US-72)', async () => {
    const browser = new TestBrowser(service.url)
    await browser.open('/users/sign_up')
    const fields = { name: 'Mary', username: 'mary', email: 'mary@example.com', password: 'a long password' }
    await browser.submit('/users', Object.fromEntries(Object.entries(fields).map(([name, value]) => [`user[${name}]`, value])))
    expect(await signIn('mary', 'a long password')).toBe(401)
    expect((await roost(['user', 'list', '--blocked'])).stdout).toMatch(/mary +Mary +mary@example\.com +blocked_pending_approval\n/)
    const approve = () => roost(['user', 'mary', '--approve'])
    expect(await approve()).toEqual({ code: 0, stdout: 'user mary is approved\n', stderr: '' })
    expect(await signIn('mary', 'a long password')).toBe(200)
    expect(await approve()).toEqual({ code: 1, stdout: '', stderr: 'roost: The user you are trying to approve is not pending approval\n' })
  })

  it('turns off the second factor of a user, administrators too (US-70)', async () => {
    const password = 'a long password'
    await roost(['user', 'create', 'hedy', '--email', 'hedy@example.com', '--admin', '--password-stdin'], password)
    const browser = new TestBrowser(service.url)
    await browser.signIn({ username: 'hedy', password })
    const { $ } = await browser.open('/-/profile/two_factor_auth')
    const secret = Secret.fromBase32(String($('#otp_key').val()).replaceAll(' ', ''))
    await browser.submit('/-/profile/two_factor_auth', { pin_code: new TOTP({ secret }).generate(), current_password: password })
    expect(await signIn('hedy', password)).toBe(401)
    const off = () => roost(['user', 'hedy', '--no-second-factor'])
    expect(await off()).toEqual({ code: 0, stdout: 'user hedy signs in with the password alone\n', stderr: '' })
    expect(await signIn('hedy', password)).toBe(200)
    expect(await off()).toEqual({ code: 1, stdout: '', stderr: 'roost: Two-factor authentication is not enabled for this user\n' })
  })
})

describe('roost project and roost group', () => {
  const made = async (path: string, given: object) => (await call(service.url, 'POST', path, given))?.body as { id: number }
  const remove = (path: string) => call(service.url, 'DELETE', path)

  it('list deleted projects and groups, and restore them by id or former path (PR-29, PR-30)', async () => {
    const group = await made('/groups', { name: 'Restored', path: 'restored' })
    const project = await made('/projects', { name: 'app', namespace_id: group.id })
    const earlier = await made('/projects', { name: 'earlier', namespace_id: group.id })
    await remove(`/projects/${project.id}`)
    await remove(`/projects/${earlier.id}`)
    expect((await roost(['project', 'deleted'])).stdout).toMatch(
      new RegExp(`^id +path +deleted +removed\\n *${project.id} +restored/app +\\S+Z +\\S+Z\\n *${earlier.id} +restored/earlier `),
    )
    expect(await roost(['project', 'restore', 'restored/APP'])).toEqual({ code: 0, stdout: 'project restored/app is restored\n', stderr: '' })
    expect(await call(service.url, 'GET', '/projects/restored%2Fapp')).toMatchObject({ status: 200, body: { id: project.id } })
    await remove(`/groups/${group.id}`)
    const [listed] = (await roost(['group', 'deleted', '--json'])).stdout.trim().split('\n')
    expect(JSON.parse(listed as string)).toMatchObject({ id: group.id, path: 'restored' })
    expect(await roost(['project', 'restore', String(earlier.id)])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'roost: The group of the project has been marked for deletion: restore the group\n',
    })
    expect((await roost(['group', 'restore', 'restored'])).stdout).toBe('group restored is restored\n')
    expect((await roost(['project', 'restore', 'restored/earlier'])).stdout).toBe('project restored/earlier is restored\n')
    await remove(`/groups/${group.id}?permanently_remove=true`)
  })

  it('report unknown names, and paths of several deleted projects', async () => {
    expect(await roost(['project', 'restore', 'no/thing'])).toEqual({ code: 1, stdout: '', stderr: 'roost: Deleted Project Not Found\n' })
    const ids: number[] = []
    for (let i = 0; i < 2; i++) {
      const { id } = await made('/groups', { name: 'Twice', path: 'twice' })
      ids.push(id)
      await remove(`/groups/${id}`)
    }
    expect((await roost(['group', 'restore', 'twice'])).stderr).toBe(`roost: several groups had this path: name one by its id: ${ids.join(', ')}\n`)
    expect((await roost(['group', 'restore', String(ids[0])])).code).toBe(0)
    expect((await roost(['group', 'restore', 'twice'])).stderr).toContain('path has already been taken')
  })
})

describe('roost import', () => {
  const token = ['--token', 'kill-token-0123456789']

  it('says what would come, and writes nothing in a dry run', async () => {
    const { code, stdout, stderr } = await roost(['import', service.url, ...token, '--dry-run'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`would be imported from ${service.url} (v4):\n`)
    expect(stdout).toMatch(/never imported:\n {2}passwords and tokens: /)
    expect(await roost(['import', service.url, '--token-stdin', '--dry-run', '--quiet'], `${token[1]}\n`)).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('writes its report into a file and prints it as JSON', async () => {
    const file = join(folder, 'report.json')
    const { stdout } = await roost(['import', service.url, ...token, '--dry-run', '--json', '--report', file, '--project', 'no/thing'])
    expect(JSON.parse(stdout)).toMatchObject({
      from: 'v4',
      finished: true,
      dry_run: true,
      came: {},
      left_out: [{ kind: 'one project', name: 'no/thing' }],
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(stdout))
  })

  it('ends with 1 and the reason if a named item was not imported (SEC-260)', async () => {
    const { code, stdout, stderr } = await roost(['import', service.url, ...token, '--project', 'no/thing', '--dry-run'])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^roost: no\/thing was not imported: .+\n$/) })
    expect(stdout).toContain('  nothing\n')
  })

  it('ends with 1 where it cannot go on, and with 2 where it is not understood', async () => {
    const refusal = async (...args: string[]) => {
      const { code, stderr } = await roost(['import', ...args])
      return { code, stderr }
    }
    expect(await refusal(service.url)).toEqual({ code: 1, stderr: 'roost: a token is needed: --token or --token-stdin\n' })
    expect(await refusal(service.url, '--token', 'wrong', '--from', 'v4')).toEqual({
      code: 1,
      stderr: 'roost: the import has stopped: the server does not accept the token; run the same command again to continue\n',
    })
    expect(await refusal('ftp://example.com', ...token)).toEqual({ code: 1, stderr: 'roost: the URL is not a URL of http, https\n' })
    expect(await refusal(service.url, ...token, '--into', 'nowhere')).toEqual({
      code: 1,
      stderr: 'roost: there is no group nowhere to import into\n',
    })
    const map = join(folder, 'users')
    writeFileSync(map, '# who is who\nalice = bob\nnonsense\n')
    expect(await refusal(service.url, ...token, '--users', map)).toEqual({
      code: 1,
      stderr: `roost: line 3 of ${map} does not look like: alice = alice.smith\n`,
    })
    expect(await refusal(service.url, ...token, '--from', 'svn')).toMatchObject({ code: 2 })
  })
})

describe('roost maintenance', () => {
  it('makes a running service read-only, and ends that (WB-180)', async () => {
    expect(await roost(['maintenance'])).toEqual({ code: 0, stdout: 'changes are possible\n', stderr: '' })
    const on = await roost(['maintenance', 'on', '--message', 'Back at noon'])
    expect(on).toEqual({ code: 0, stdout: 'the service is read-only: Back at noon\n', stderr: '' })
    const write = async () => (await call(service.url, 'PUT', '/user/status', { message: 'x' }))?.status
    expect(await write()).toBe(503)
    expect((await call(service.url, 'GET', '/user'))?.status).toBe(200)
    expect(await roost(['maintenance', 'off'])).toEqual({ code: 0, stdout: 'changes are possible\n', stderr: '' })
    expect(await write()).toBe(200)
  })
})

describe('roost user import', () => {
  it('makes users from a file, and says what was refused (WB-185)', async () => {
    const { code, stdout, stderr } = await roost(['user', 'import', '-', '--json'], 'username,email\nada5,ada5@example.com\nroot,root5@example.com\n')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'roost: 1 of 2 users were not created\n' })
    expect(lines).toMatchObject([
      { line: 2, username: 'ada5', fault: null },
      { line: 3, username: 'root', password: null, fault: 'Username has already been taken' },
    ])
    expect(await signIn('ada5', lines[0].password)).toBe(200)
  })
})

describe('roost completion', () => {
  it('completes commands and options in bash', async () => {
    const { stdout } = await roost(['completion', 'bash'])
    const completed = (...words: string[]) =>
      new Promise<string[]>((resolve, reject) => {
        const line = `${stdout}\nCOMP_WORDS=(roost ${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length}; _roost; echo "\${COMPREPLY[*]}"`
        execFile('bash', ['-c', line], (error, out) => (error ? reject(error) : resolve(out.trim().split(' '))))
      })
    expect(await completed('to')).toEqual(['token'])
    expect(await completed('user', 'p')).toEqual(['password'])
    expect(await completed('user', 'create', '--pa')).toEqual(['--password-stdin'])
    expect(await completed('completion', 'z')).toEqual(['zsh'])
  })
})

it('the service reports the commit that it is made of', async () => {
  const commit = await gitOut(fileURLToPath(new URL('../..', import.meta.url)), '-c', 'safe.directory=*', 'rev-parse', '--short=11', 'HEAD')
  expect((await call(service.url, 'GET', '/version'))?.body).toMatchObject({ version: '13.12.0', revision: commit })
})

it('roost version prints that of the package', async () => {
  const { version } = JSON.parse((await roost(['version', '--json'])).stdout.replace('roost', 'version'))
  expect((await roost(['version'])).stdout).toBe(`${version}\n`)
})

it('restore --only brings a deleted project back while the service runs (SEC-261)', async () => {
  const saved = join(folder, 'with-project')
  await call(service.url, 'POST', '/projects', { name: 'deleted', initialize_with_readme: true })
  await call(service.url, 'POST', '/projects/root%2Fdeleted/issues', { title: 'kept' })
  const { body: before } = bodyOf(await call(service.url, 'GET', '/projects/root%2Fdeleted'))
  expect((await roost(['backup', saved])).code).toBe(0)
  expect(await roost(['restore', saved, '--only', 'root/deleted'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^roost: the project is still here as root\/deleted: /),
  })
  await call(service.url, 'DELETE', '/projects/root%2Fdeleted?permanently_remove=true&full_path=root/deleted')
  let result: Awaited<ReturnType<typeof roost>>
  // until the service has removed the files
  do result = await roost(['restore', saved, '--only', 'root/deleted'])
  while (/try again in a minute/.test(result.stderr))
  expect(result).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^project \d+ is back as root\/deleted, as it was at /) })
  expect(bodyOf(await call(service.url, 'GET', '/projects/root%2Fdeleted')).body).toMatchObject({
    id: (before as { id: number }).id,
    open_issues_count: 1,
  })
  expect(await roost(['doctor'])).toEqual({ code: 0, stdout: '0 faults\n', stderr: '' })
  expect(await roost(['restore', saved, '--as', 'root/other'])).toMatchObject({ code: 1, stderr: 'roost: --as needs --only\n' })
  await call(service.url, 'DELETE', '/projects/root%2Fdeleted?permanently_remove=true&full_path=root/deleted')
})

it('doctor checks its repairs again, and reports remaining faults (SEC-259)', async () => {
  const { url } = JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8'))
  const client = new pg.Client(url)
  await client.connect()
  // a row that is locked is left by the repair
  await client.query("insert into pending_repository_deletions values (999, 'default', now() - interval '1 hour')")
  await client.query('begin; select 1 from pending_repository_deletions for update')
  const line = 'unfinished deletion: project 999: it was deleted, and its repository is still to be removed\n'
  expect(await roost(['doctor', '--repair'])).toEqual({
    code: 1,
    stdout: `${line}  removed\n${line}  could not be repaired: it is there after the repair\n1 faults, 0 of them repaired\n`,
    stderr: '',
  })
  await client.end()
  expect((await roost(['doctor', '--repair'])).code).toBe(0)
})

it('held texts, limits of callers and providers are shown and changed (WB-392)', async () => {
  const project = bodyOf(await call(service.url, 'POST', '/projects', { name: 'held', visibility: 'public' })).body as { id: number }
  const { url } = JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8'))
  const client = new pg.Client(url)
  await client.connect()
  await client.query(
    `insert into held_texts (user_id, project_id, kind, data, text, address, user_agent, created_at)
      select 1, $1, 'issue', jsonb_build_object('title', 'From a shell ' || i), E'buy\n\\x1b[31mthis', '192.0.2.1', 'x', now() from generate_series(1, 2) i`,
    [project.id],
  )
  await client.end()
  const listed = await roost(['held-texts', '--json'])
  const ids = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id)
  expect(ids).toHaveLength(2)
  expect((await roost(['held-texts'])).stdout).toContain(`${ids[0]}: issue of root in root/held\n  buy\n   [31mthis\n`)
  expect(await roost(['held-texts', '--release', `${ids[0]}`])).toEqual({ code: 0, stdout: `text ${ids[0]} is published\n`, stderr: '' })
  expect((await roost(['held-texts', '--remove', `${ids[1]}`])).code).toBe(0)
  expect(await roost(['held-texts', '--remove', `${ids[1]}`])).toMatchObject({ code: 1, stderr: 'roost: Held Text Not Found\n' })
  expect(bodyOf(await call(service.url, 'GET', `/projects/${project.id}/issues`)).body).toMatchObject([{ title: 'From a shell 2' }])

  expect(await roost(['limits', '192.0.2.7', '5'])).toEqual({ code: 0, stdout: 'the limit of 192.0.2.7 is set\n', stderr: '' })
  expect((await roost(['limits', 'no-such-name', '5'])).stderr).toBe('roost: caller is neither a username nor an IP address\n')
  expect((await roost(['limits', 'root'])).code).toBe(1)
  const [limit] = JSON.parse((await roost(['limits', '--json'])).stdout)
  expect(limit).toMatchObject({ address: '192.0.2.7', requests: 5 })
  expect((await roost(['limits'])).stdout).toContain('192.0.2.7')
  expect((await roost(['limits', '--remove', `${limit.id}`])).code).toBe(0)
  expect(bodyOf(await call(service.url, 'GET', '/admin/request_limits')).body).toEqual([])

  expect(await roost(['providers', '--json'])).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  expect(await roost(['providers', '--test', 'none'])).toMatchObject({ code: 1, stderr: 'roost: Sign-in Provider Not Found\n' })
})

it('doctor, backup and its verification answer in JSON on request', async () => {
  expect(await roost(['doctor', '--json'])).toEqual({ code: 0, stdout: '', stderr: '' })
  const saved = join(folder, 'saved')
  expect(JSON.parse((await roost(['backup', saved, '--json'])).stdout)).toEqual({ folder: saved, repositories: 1, gone: [] })
  expect(JSON.parse((await roost(['backup', saved, '--verify', '--json'])).stdout)).toEqual({ folder: saved, faults: [] })
})
