// @module-tag long
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, call, killRounds, type Service, startService, type Victim, withToken } from '../bench/kill.mjs'
import { killMerges } from '../bench/kill-merges.mjs'
import { build } from '../scripts/build.mjs'
import { repositoryDirectory } from '../src/git/storage/create.js'
import { commitIn, gitOut, gitRun } from './support/clients/git-client.js'
import { rounds } from './support/rounds.js'
import { createTestDatabase } from './support/template-database.js'

beforeAll(async () => {
  await build()
})

/** The body of an answer that must have this status. */
function bodyOf(answer: Answer | null, status = 200) {
  expect(answer).toMatchObject({ status })
  return (answer as Answer).body
}

/** Two processes of the real program over one database and one storage. */
async function twins(
  work: (urls: [string, string], place: { folder: string; repository(id: number): string; query(text: string): Promise<unknown[]> }) => Promise<void>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'twins-'))
  chmodSync(folder, 0o711)
  const database = await createTestDatabase()
  const dataDir = join(folder, 'data')
  const environment = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
  const services: Service[] = []
  try {
    for (let i = 0; i < 2; i++) services.push(await startService(dataDir, environment))
    const repository = (id: number) => repositoryDirectory(join(dataDir, 'repositories'), { storage: 'default', id, kind: 'project' })
    const query = async (text: string) => {
      const connection = new pg.Client(database.url)
      await connection.connect()
      return connection
        .query(text)
        .then(({ rows }: { rows: unknown[] }) => rows)
        .finally(() => connection.end())
    }
    await work(services.map(({ url }) => url) as [string, string], { folder, repository, query })
    const codes = await Promise.all(
      services.splice(0).map(async (service) => ({ code: await service.end('SIGTERM'), faults: service.log().match(/"level":50.*/g) })),
    )
    expect(codes).toEqual([
      { code: 0, faults: null },
      { code: 0, faults: null },
    ])
  } finally {
    await Promise.all(services.map((service) => service.end()))
    await database.drop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

describe('two processes over one database and one storage', () => {
  it('lose no commit while others push and refs are packed, and apply none twice (SEC-102)', async () => {
    await twins(async (urls, { folder, repository, query }) => {
      const made = await call(urls[0], 'POST', '/projects', { name: 'shared', visibility: 'public' })
      const { id, path_with_namespace } = bodyOf(made, 201) as { id: number; path_with_namespace: string }
      const commit = (url: string, n: number | string) =>
        call(url, 'POST', `/projects/${id}/repository/commits`, {
          branch: 'main',
          commit_message: `commit ${n}`,
          actions: [{ action: 'create', file_path: `d${n}/f`, content: `${n}` }],
        })
      expect(await commit(urls[0], 'first')).toMatchObject({ status: 201 })
      const directory = repository(id)

      const places = await Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          const name = `w${i}`
          await gitOut(folder, 'clone', '-q', `${withToken(urls[i % 2] as string)}/${path_with_namespace}.git`, name)
          return { branch: `b${i}`, work: join(folder, name), head: await commitIn(join(folder, name), `file${i}`) }
        }),
      )
      let over = false
      const packing = (async () => {
        let runs = 0
        for (; !over; runs++) await gitOut(directory, '-c', 'core.packedRefsTimeout=10000', 'pack-refs', '--all')
        return runs
      })()
      const [answers, pushes] = await Promise.all([
        Promise.all(Array.from({ length: 20 }, (_, n) => commit(urls[n % 2] as string, n))),
        Promise.all(places.map(({ work, branch }) => gitRun(work, 'push', '-q', 'origin', `HEAD:${branch}`))),
      ]).finally(() => {
        over = true
      })
      expect(await packing).toBeGreaterThan(0)

      expect(pushes.filter(({ code }) => code !== 0)).toEqual([])
      for (const { branch, head } of places) expect(await gitOut(directory, 'rev-parse', `refs/heads/${branch}`)).toBe(head)
      const accepted = answers.filter((answer) => answer?.status === 201).map((answer) => answer?.body.id as string)
      const refused = answers.filter((answer) => answer?.status !== 201)
      for (const answer of refused) expect(answer?.status).toBe(503)
      const history = (await gitOut(directory, 'rev-list', 'main')).split('\n')
      for (const commitId of accepted) expect(history).toContain(commitId)
      expect(history).toHaveLength(1 + accepted.length)
      expect(new Set((await gitOut(directory, 'log', '--format=%s', 'main')).split('\n')).size).toBe(history.length)
      expect(accepted.length).toBeGreaterThanOrEqual(10)
      expect(await gitRun(directory, 'fsck', '--strict', '--full', '--no-dangling')).toMatchObject({ code: 0, out: '', err: '' })
      expect(await query('select id from ref_intents')).toEqual([])

      // what one process has written the other one reads at once
      const fresh = await commit(urls[0], 'last')
      const read = await call(urls[1], 'GET', `/projects/${id}/repository/branches/main`)
      expect(bodyOf(read).commit.id).toBe(bodyOf(fresh, 201).id)

      // GH-4: as a person types it, without .git; Git follows the redirect
      await gitOut(folder, 'clone', '-q', `${urls[0]}/${path_with_namespace}`, 'typed')
      expect(await gitOut(join(folder, 'typed'), 'rev-parse', 'HEAD')).toBe(bodyOf(fresh, 201).id)
    })
  }, 240_000)

  it('the first pushes through both at once leave one default branch that is protected (BR-17)', async () => {
    await twins(async (urls, { folder, repository, query }) => {
      await gitOut(folder, 'init', '-q', '-b', 'x', 'source')
      await commitIn(join(folder, 'source'), 'a')
      for (let round = 0; round < rounds(1, 4); round++) {
        const made = await call(urls[0], 'POST', '/projects', { name: `first ${round}`, path: `first${round}` })
        const { id, path_with_namespace } = bodyOf(made, 201) as { id: number; path_with_namespace: string }
        const pushes = await Promise.all(
          urls.map((url, i) => gitRun(join(folder, 'source'), 'push', '-q', `${withToken(url)}/${path_with_namespace}.git`, `HEAD:trunk${i}`)),
        )
        for (const push of pushes) expect(push).toMatchObject({ code: 0 })
        const project = bodyOf(await call(urls[1], 'GET', `/projects/${id}`)) as { default_branch: string }
        const { default_branch } = project
        expect(project).toMatchObject({ empty_repo: false, default_branch: expect.stringMatching(/^trunk[01]$/) })
        expect(await gitOut(repository(id), 'symbolic-ref', 'HEAD')).toBe(`refs/heads/${default_branch}`)
        expect(await query(`select name from protected_branches where project_id = ${id}`)).toEqual([{ name: default_branch }])
      }
    })
  })
})

it(
  'kill -9 of the service, its git or Postgres in the middle of writes loses and undoes nothing that was acknowledged (SEC-157, SEC-158, SEC-159)',
  async () => {
    const lines: string[] = []
    const amount = rounds(5, 8)
    const victims: Victim[] = ['all', 'git', 'backend', 'spawner', 'postmaster', 'service']
    const { faults } = await killRounds(amount, (line) => lines.push(line), victims, { least: 200, more: rounds(500, 1_000) })
    expect(faults).toEqual([])
    expect(lines).toHaveLength(amount)
    // the rounds were not idle
    const acknowledged = lines.map((line) => Number(/: (\d+) writes/.exec(line)?.[1]))
    expect(acknowledged.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(10)
  },
  rounds(240_000, 900_000),
)

it(
  'after kill -9 while requests are accepted each is merged if and only if its merge commit is reachable (SEC-158)',
  async () => {
    const lines: string[] = []
    const amount = rounds(1, 5)
    expect(await killMerges(amount, (line) => lines.push(line))).toEqual([])
    expect(lines).toHaveLength(amount)
  },
  rounds(240_000, 900_000),
)

it('kill -9 while forks are made leaves each of them whole or not at all (SEC-158)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'forks-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const storage = join(dataDir, 'repositories')
  const ids = () =>
    readdirSync(storage)
      .filter((name) => /^[0-9a-f]{2}$/.test(name))
      .flatMap((name) => readdirSync(join(storage, name)))
      .sort()
  let service = await startService(dataDir)
  try {
    const { id } = bodyOf(await call(service.url, 'POST', '/projects', { name: 'source' }), 201)
    const actions = Array.from({ length: 50 }, (_, n) => ({ action: 'create', file_path: `f${n}`, content: `${n}` }))
    bodyOf(await call(service.url, 'POST', `/projects/${id}/repository/commits`, { branch: 'main', commit_message: 'x', actions }), 201)
    const acknowledged: number[] = []
    for (let round = 0; round < rounds(1, 4); round++) {
      const forks = Array.from({ length: 12 }, async (_, n) => {
        const name = `fork-${round}-${n}`
        const answer = await call(service.url, 'POST', `/projects/${id}/fork`, { name, path: name })
        if (answer?.status === 201) acknowledged.push(answer.body.id)
      })
      await sleep(30 + 60 * (round % 4))
      await service.end('SIGKILL')
      await Promise.all(forks)
      service = await startService(dataDir)
    }
    const rows = bodyOf(await call(service.url, 'GET', '/projects?per_page=100&simple=true')) as { id: number }[]
    const known = rows.map((row) => row.id)
    const expected = known.map((known) => `${known}.git`).sort()
    // what has no row goes in the background
    for (let waited = 0; waited < 100 && ids().length !== expected.length; waited++) await sleep(100)
    expect(ids()).toEqual(expected)
    for (const made of acknowledged) expect(known).toContain(made)
    for (const known of rows) {
      const directory = repositoryDirectory(storage, { storage: 'default', id: known.id, kind: 'project' })
      expect(await gitRun(directory, 'fsck', '--strict', '--full', '--no-dangling')).toMatchObject({ code: 0, out: '', err: '' })
    }
    expect(bodyOf(await call(service.url, 'GET', `/projects/${id}`)).forks_count).toBe(known.length - 1)
  } finally {
    await service.end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})
