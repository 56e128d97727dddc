// @module-tag long
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import ssh2 from 'ssh2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { call, type Service, startService, TOKEN } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { readConfig } from '../src/config.js'
import { readSignOn } from '../src/sign-on-config.js'
import { type EndedCommand, runProgram, startScript } from './support/command.js'
import { sshdProgram } from './support/ssh/sshd.js'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Block {
  language: string
  text: string
}

/** Pages whose blocks other tests run. */
const ELSEWHERE = new Map([
  ['README.md', 'scripts/try-install.mjs'],
  ['docs/installation.md', 'scripts/try-install.mjs; nothing here runs containers'],
  ['docs/testing.md', 'test/cli'],
])
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]
const blocksOf = (page: string): Block[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }))

const folder = mkdtempSync(join(tmpdir(), 'docs-'))
const dataDir = join(folder, 'data')
const storages = `default=${join(folder, 'one')},second=${join(folder, 'two')}`
const received: (string | undefined)[] = []
const receiver = createServer((request, response) => {
  received.push(request.headers['x-gitlab-event'] as string | undefined)
  request.resume().on('end', () => response.end())
})
let service: Service
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  chmodSync(folder, 0o711)
  for (const name of ['bin', 'one', 'two']) mkdirSync(join(folder, name), { mode: 0o711 })
  // what `npm install --global` puts there
  writeFileSync(join(folder, 'bin/roost'), `#!/bin/sh\nexec '${process.execPath}' '${startScript}' "$@"\n`, { mode: 0o755 })
  await build()
  service = await startService(dataDir, { STORAGES: storages, SSH_PORT: '0', ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
  env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, DATA_DIR: dataDir, STORAGES: storages, HOME: folder }
  env['TOKEN'] = (await runProgram('roost', ['token', 'create', 'root'], { env })).stdout.trim()
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const group = await call(service.url, 'POST', '/groups', { name: 'group', path: 'group' })
  await call(service.url, 'POST', '/projects', { name: 'project', namespace_id: group?.body.id, initialize_with_readme: true })
})
afterAll(async () => {
  receiver.close()
  await service?.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Types a block into bash, which stops at the first command that fails; the addresses of the docs are those of the test. */
async function typed({ text }: Block): Promise<EndedCommand> {
  const line = text
    .replaceAll(/http:\/\/127\.0\.0\.1:8080|https:\/\/roost\.example\.com/g, service.url)
    .replaceAll('https://ci.example.com', `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`)
    .replaceAll('/backups/', `${folder}/`)
    .replaceAll('curl ', 'curl --fail-with-body -sS ')
  const cwd = text.includes('npm run') ? root : folder
  const ended = await runProgram('bash', ['-euo', 'pipefail', '-c', line], { cwd, env })
  if (ended.code !== 0) expect.fail(`${line} ended with ${ended.code}: ${ended.stderr}${ended.stdout}`)
  return ended
}

/** Makes an archive, waits until it is finished, and makes a project of it on the same server. */
async function archived({ text }: Block): Promise<void> {
  Object.assign(env, { ROOST: service.url, OTHER: service.url, OTHER_TOKEN: env['TOKEN'] })
  const [make = '', look = '', download = '', bring = '', ...none] = text.trim().split('\n')
  expect(none).toEqual([])
  const sh = async (line: string) => (await typed({ language: 'sh', text: line })).stdout
  await sh(make)
  await expect.poll(async () => JSON.parse(await sh(look)).export_status, { timeout: 30_000, interval: 500 }).toBe('finished')
  await sh(`${download}\n${bring.replace('path=project', 'path=imported')}`)
  await expect
    .poll(async () => (await call(service.url, 'GET', '/projects/group%2Fimported/import'))?.body.import_status, { timeout: 30_000, interval: 500 })
    .toBe('finished')
}

/** Makes an archive of a group, and another group of it. */
async function archivedGroup({ text }: Block): Promise<void> {
  const [make = '', download = '', bring = '', ...none] = text.trim().split('\n')
  expect(none).toEqual([])
  const sh = async (line: string) => (await typed({ language: 'sh', text: line })).stdout
  await call(service.url, 'POST', '/groups/group/labels', { name: 'kept', color: '#112233' })
  expect(JSON.parse(await sh(make))).toEqual({ message: '202 Accepted' })
  const isMade = async () => (await call(service.url, 'HEAD', '/groups/group/export/download'))?.status
  await expect.poll(isMade, { timeout: 30_000, interval: 500 }).toBe(200)
  const copy = bring.replace('path=group', 'path=copied').replace('name=Group', 'name=Copied')
  expect(JSON.parse(await sh(`${download}\n${copy}`))).toEqual({ message: '202 Accepted' })
  const labels = async () => (await call(service.url, 'GET', '/groups/copied/labels'))?.body.map(({ name }: { name: string }) => name)
  await expect.poll(labels, { timeout: 30_000, interval: 500 }).toContain('kept')
}

const only = (page: string): [Block] => {
  const blocks = blocksOf(page)
  expect(blocks).toHaveLength(1)
  return blocks as [Block]
}

describe('every block of the docs', () => {
  const run: Record<string, () => Promise<void>> = {
    'docs/administration.md': async () => {
      const [token, users, password, invited, transfer, deleted, settings, maintenance, audit, backup, doctor, secret, archive, group, ...none] =
        blocksOf('docs/administration.md') as [Block, Block, Block, Block, Block, Block, Block, Block, Block, Block, Block, Block, Block, Block]
      expect(none).toEqual([])
      expect((await typed(token)).stdout).toMatch(/^\S+\n$/)
      await typed(maintenance)
      writeFileSync(join(folder, 'people.csv'), 'username,name,email\nbob,Bob,bob@example.com\n')
      const lines = (await typed(users)).stdout.split('\n')
      expect(lines.join('\n')).toContain('user ada is blocked')
      await typed({ ...users, text: 'roost user unblock ada' })
      Object.assign(env, { OLD: lines[1], NEW: 'another-long-password', PASSWORD: 'another-long-password' })
      await typed(password)
      const [ada] = (await call(service.url, 'GET', '/users?username=ada'))?.body ?? []
      await call(service.url, 'POST', '/groups/group/members', { user_id: ada.id, access_level: 30 })
      mkdirSync(join(folder, '.ssh'))
      writeFileSync(join(folder, '.ssh/id_ed25519.pub'), ssh2.utils.generateKeyPairSync('ed25519').public)
      const withPassword = service.url.replace('//', '//ada:another-long-password@')
      await typed({
        ...invited,
        text: invited.text.replace('https://ada@git.example.com', withPassword).replaceAll('https://git.example.com', service.url),
      })
      expect(readdirSync(join(folder, 'project'))).toContain('README.md')
      // these change the key of a service that is stopped; test/cli/secret.long.test.ts runs them
      for (const [words] of secret.text.matchAll(/roost secret \w+/g)) await typed({ ...secret, text: `${words} --help` })
      expect((await typed(audit)).stdout).toMatch(/^(\{.*\}\n)+$/)
      await call(service.url, 'POST', '/groups', { name: 'team', path: 'team' })
      const team = await call(service.url, 'GET', '/groups/team')
      await call(service.url, 'POST', '/projects', { name: 'app', namespace_id: team?.body.id })
      await call(service.url, 'DELETE', '/projects/team%2Fapp')
      const [listing = '', project = '', restored = '', ...others] = deleted.text.trim().split('\n')
      expect(others).toEqual([])
      expect((await typed({ ...deleted, text: `${listing}\n${project}` })).stdout).toContain('team/app')
      await call(service.url, 'DELETE', '/groups/team')
      await typed({ ...deleted, text: restored })
      expect((await call(service.url, 'GET', '/projects/team%2Fapp'))?.status).toBe(200)
      const parent = await call(service.url, 'POST', '/groups', { name: 'above', path: 'above' })
      env['PARENT'] = String(parent?.body.id)
      expect(JSON.parse((await typed(transfer)).stdout)).toMatchObject({ full_path: 'above/team' })
      expect((await call(service.url, 'GET', '/projects/above%2Fteam%2Fapp'))?.status).toBe(200)
      await call(service.url, 'POST', '/groups/above%2Fteam/transfer')
      expect(JSON.parse((await typed(settings)).stdout)).toMatchObject({ default_project_visibility: 'internal' })
      await call(service.url, 'PUT', '/application/settings', { default_project_visibility: 'private' })
      expect((await typed(backup)).stdout).toMatch(/ is whole\n$/)
      await archived(archive)
      await archivedGroup(group)
      await typed(doctor)
    },
    'docs/backups.md': async () => {
      const [{ text }, one, ...others] = blocksOf('docs/backups.md') as [Block, Block]
      expect(others).toEqual([])
      const [backup = '', verify = '', restore = '', ...none] = text.trim().split('\n')
      expect(none).toEqual([])
      const sh = (line: string) => typed({ language: 'sh', text: line })
      await sh(backup)
      expect((await sh(verify)).stdout).toMatch(/ is whole\n$/)
      const [used, there] = [env['DATA_DIR'], env['STORAGES']]
      Object.assign(env, { DATA_DIR: join(folder, 'restored'), STORAGES: `default=${folder}/r1,second=${folder}/r2` })
      expect((await sh(restore)).stdout).toMatch(/0 faults\n$/)
      Object.assign(env, { DATA_DIR: used, STORAGES: there })
      for (const [line, path] of one.text
        .trim()
        .split('\n')
        .map((line, i) => [line, ['project', 'other'][i]] as const)) {
        await call(service.url, 'DELETE', '/projects/group%2Fproject?permanently_remove=true')
        await sh(line)
        expect((await call(service.url, 'GET', `/projects/group%2F${path}`))?.body).toMatchObject({ path, empty_repo: false })
      }
      await call(service.url, 'PUT', '/projects/group%2Fother', { name: 'project', path: 'project' })
    },
    'docs/configuration.md': async () => {
      const [nginx, caddy, ...none] = blocksOf('docs/configuration.md') as [Block, Block]
      expect(none).toEqual([])
      const { host, port } = readConfig({})
      // nginx decodes the path where the address has one
      expect(nginx.text).toContain(`proxy_pass http://${host}:${port};`)
      expect(caddy.text).toContain(`reverse_proxy ${host}:${port}\n`)
    },
    'docs/migration.md': async () => {
      const [bring, forget, ...none] = blocksOf('docs/migration.md') as [Block, Block]
      expect(none).toEqual([])
      const other = await startService(join(folder, 'other'))
      try {
        await call(other.url, 'POST', '/projects', { name: 'from elsewhere', initialize_with_readme: true })
        writeFileSync(join(folder, 'token'), `${TOKEN}\n`)
        const at = ({ text }: Block) => text.replaceAll('https://git.example.com', other.url)
        await typed({ ...bring, text: at(bring) })
        expect(JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))).toMatchObject({ came: { project: 1 } })
        expect((await call(service.url, 'GET', '/projects?search=elsewhere'))?.body).toHaveLength(1)
        // the tests do not need psql
        const [, statement = ''] = /-c "(.*)"/.exec(at(forget)) ?? []
        const { url } = JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8')) as { url: string }
        const client = new pg.Client(url)
        await client.connect()
        expect((await client.query(statement)).rowCount).toBe(1)
        await client.end()
      } finally {
        await other.end('SIGTERM')
      }
    },
    'docs/monitoring.md': async () => {
      const [scrape, alerts, jobs, throttle, ...none] = blocksOf('docs/monitoring.md') as [Block, Block, Block, Block]
      expect(none).toEqual([])
      expect(parse(scrape.text).scrape_configs).toMatchObject([{ metrics_path: '/-/metrics' }])
      const { rules } = parse(alerts.text).groups[0] as { rules: { alert: string; expr: string }[] }
      await call(service.url, 'PUT', '/application/settings', { monitoring_metrics_enabled: true })
      const ask = () => fetch(`${service.url}/-/metrics`, { headers: { 'private-token': env['TOKEN'] as string } })
      await ask()
      const page = await (await ask()).text()
      for (const { alert, expr } of rules)
        for (const [name] of expr.matchAll(/\b(roost|nodejs)_\w+/g))
          expect(page, alert).toMatch(new RegExp(`^# TYPE ${name.replace(/_count$/, '')} `, 'm'))
      await typed(jobs)
      expect(JSON.parse((await typed(throttle)).stdout)).toMatchObject({
        jobqueue_throttling_factor: 0.25,
        jobqueue_throttling_queues: ['repository upkeep'],
      })
    },
    'docs/graphql.md': async () => {
      const [question, answer, list, ...none] = blocksOf('docs/graphql.md') as [Block, Block, Block]
      expect(none).toEqual([])
      expect(JSON.parse((await typed(question)).stdout)).toEqual(JSON.parse(answer.text))
      const asked = await fetch(`${service.url}/api/graphql`, {
        method: 'POST',
        headers: { 'private-token': String(env['TOKEN']), 'content-type': 'application/json' },
        body: JSON.stringify({ query: list.text, variables: { path: 'group/project' } }),
      })
      expect(await asked.json()).toMatchObject({ data: { project: { mergeRequests: { count: 0, pageInfo: { hasNextPage: false } } } } })
    },
    'docs/ci.md': async () => {
      const [runner, trigger, schedule, register, environment, pipeline, hook, status, ...none] = blocksOf('docs/ci.md') as [
        ...[Block, Block, Block, Block],
        ...[Block, Block, Block, Block],
      ]
      expect(none).toEqual([])
      // GitLab Runner is not here
      const [made = ''] = runner.text.split('\n# 2.', 1)
      expect(JSON.parse((await typed({ ...runner, text: made })).stdout)).toMatchObject({ token: expect.stringMatching(/^glrt-/) })
      expect(JSON.parse((await typed(register)).stdout)).toMatchObject({ application_name: 'Woodpecker', secret: expect.any(String) })
      expect(environment.text).toContain('WOODPECKER_GITLAB_CLIENT=<application_id>\n')
      expect(parse(pipeline.text).steps).toHaveLength(1)
      const here = ({ text, ...block }: Block) => ({ ...block, text: text.replaceAll('team%2Fapp', 'group%2Fproject') })
      const content = 'test: { script: x }'
      const file = '/projects/group%2Fproject/repository/files/%2Egitlab-ci%2Eyml'
      await call(service.url, 'POST', file, { branch: 'main', commit_message: 'CI', content })
      // what the first command answers is what the others need
      const answers = async ({ text, ...block }: Block, field: string, name: string) => {
        const [first = '', ...rest] = here({ ...block, text }).text.split(/^(?=# )/m)
        env[name] = String(JSON.parse((await typed({ ...block, text: first })).stdout)[field])
        return Promise.all(rest.map(async (line) => JSON.parse((await typed({ ...block, text: line })).stdout)))
      }
      expect(await answers(trigger, 'token', 'TRIGGER_TOKEN')).toMatchObject([{ ref: 'main', source: 'trigger' }])
      expect(await answers(schedule, 'id', 'ID')).toMatchObject([{ key: 'DEEP' }, { message: '201 Created' }])
      env['SECRET'] = 'a secret'
      expect(JSON.parse((await typed(here(hook))).stdout)).toMatchObject({ push_events: true, merge_requests_events: true })
      env['SHA'] = (await call(service.url, 'GET', '/projects/group%2Fproject/repository/commits/main'))?.body.id
      expect(JSON.parse((await typed(here(status))).stdout)).toMatchObject({ name: 'test', status: 'running', ref: 'main' })
    },
    'docs/oauth.md': async () => {
      const [register, ...others] = blocksOf('docs/oauth.md') as [Block, ...Block[]]
      const made = await typed({ ...register, text: register.text.replaceAll('https://git.example.com', service.url) })
      expect(JSON.parse(made.stdout)).toMatchObject({ application_name: 'Woodpecker', secret: expect.any(String) })
      // the other programs are not here; the addresses that they are given are
      const paths = others.flatMap(({ text }) => [...text.matchAll(/https:\/\/git\.example\.com(\/[a-z/]+)/g)].map(([, path]) => path))
      expect(paths.length).toBeGreaterThan(2)
      for (const path of paths) expect([path, (await fetch(service.url + path, { redirect: 'manual' })).status]).not.toEqual([path, 404])
    },
    'docs/single-sign-on.md': async () => {
      const path = join(folder, 'sign-on.yml')
      writeFileSync(join(folder, 'ldap-password'), 'secret')
      const whole = blocksOf('docs/single-sign-on.md').filter(({ text }) => !text.startsWith(' '))
      expect(whole.length).toBeGreaterThan(2)
      for (const { text } of whole) {
        writeFileSync(path, text.replace('/run/secrets/ldap', join(folder, 'ldap-password')))
        expect(Object.keys(readSignOn(path, { COMPANY_CLIENT_SECRET: 'secret' })).length).toBeGreaterThan(0)
      }
    },
    'docs/ssh.md': async () => {
      const [fingerprint, config, ...none] = blocksOf('docs/ssh.md') as [Block, Block]
      expect(none).toEqual([])
      expect((await typed(fingerprint)).stdout).toMatch(/^256 SHA256:\S+ .*\(ED25519\)\n$/)
      writeFileSync(join(folder, 'sshd_config'), `HostKey ${join(dataDir, 'ssh/ssh_host_ed25519_key')}\n${config.text}`)
      const ended = await runProgram(sshdProgram(), ['-T', '-C', 'user=git,host=a,addr=127.0.0.1', '-f', join(folder, 'sshd_config')])
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^authorizedkeyscommand .* ssh keys %u %t %k$/m) })
    },
    'docs/storages.md': async () => {
      await typed(only('docs/storages.md')[0])
      expect(readdirSync(join(folder, 'two'))).toContain('01')
    },
    'docs/integrations.md': async () => {
      expect((await typed(only('docs/integrations.md')[0])).stdout).toContain('"slug":"emails-on-push"')
    },
    'docs/webhooks.md': async () => {
      await typed(only('docs/webhooks.md')[0])
      expect(received).toEqual(['Push Hook'])
    },
  }

  it.each(pages.filter((page) => !ELSEWHERE.has(page) && blocksOf(page).length > 0))('of %s works as it stands', async (page) => {
    const blocks = run[page]
    if (!blocks) expect.fail('no test runs its blocks')
    await blocks()
  })

  it('of the container files is understood', () => {
    const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8')) as { services: Record<string, object> }
    expect(Object.keys(services)).toEqual(expect.arrayContaining(['roost', 'postgres', 'proxy']))
  })
})
