// @module-tag long
import { Agent, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import type { TestApp } from '../support/app.js'
import { commitIn, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { callAndLeave } from '../support/clients/leaving-client.js'
import { rounds, seeds } from '../support/rounds.js'
import { testWorld } from '../support/world.js'

const t = testWorld()
const { url, cloned } = gitClient({
  get url() {
    return t.world.info.url
  },
} as TestApp)
const root = () => ({ token: t.world.info.token })

interface Made {
  id: number
  path_with_namespace: string
}

const ok = async (method: string, path: string, body?: unknown) => {
  const answer = await t.call(method, path, body)
  if (answer.status >= 300) expect.fail(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.body as Made & Record<string, unknown>
}
const aProject = (name: string) => ok('POST', '/projects', { name, initialize_with_readme: true, visibility: 'public' })
const aFile = (id: number, path: string) =>
  t.call('POST', `/projects/${id}/repository/files/${path}`, { branch: 'main', content: path, commit_message: path })

/** Numbers from 0 below `n`, the same ones for the same seed. */
function numbers(seed: number) {
  let state = seed
  return (n: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

/** What a suite may do to a server; what cannot be done just now is refused. */
const WRITES: ((project: number, n: number) => Promise<unknown>)[] = [
  (id, n) => t.call('POST', `/projects/${id}/issues`, { title: `issue ${n}`, labels: `a,b${n}` }),
  (id, n) => t.call('PUT', `/projects/${id}/issues/1`, { title: `changed ${n}`, state_event: n % 2 ? 'close' : 'reopen' }),
  (id, n) => t.call('POST', `/projects/${id}/issues/1/notes`, { body: `note ${n} on #1` }),
  (id) => t.call('DELETE', `/projects/${id}/issues/1`),
  (id, n) => aFile(id, `file${n}.txt`),
  (id, n) => t.call('POST', `/projects/${id}/repository/branches`, { branch: `branch${n % 3}`, ref: 'main' }),
  (id, n) => t.call('DELETE', `/projects/${id}/repository/branches/branch${n % 3}`),
  (id, n) => t.call('POST', `/projects/${id}/repository/tags`, { tag_name: `v${n}`, ref: 'main', message: 'a tag' }),
  async (id, n) => {
    const commit = {
      branch: `topic${n}`,
      start_branch: 'main',
      commit_message: 'topic',
      actions: [{ action: 'create', file_path: `t${n}`, content: 'x' }],
    }
    await t.call('POST', `/projects/${id}/repository/commits`, commit)
    await t.call('POST', `/projects/${id}/merge_requests`, { source_branch: `topic${n}`, target_branch: 'main', title: 'a merge request' })
  },
  (id, n) => t.call('PUT', `/projects/${id}/merge_requests/${1 + (n % 2)}/merge`, {}),
  (id) => {
    const form = new FormData()
    form.append('file', new Blob(['uploaded']), 'file.txt')
    return t.call('POST', `/projects/${id}/uploads`, form)
  },
  (id, n) => t.call('PUT', `/projects/${id}`, { description: `description ${n}`, default_branch: n % 2 ? 'main' : 'branch0' }),
  (_, n) => t.call('PUT', '/application/settings', { signup_enabled: n % 2 === 0, default_projects_limit: 10_000 + n }),
  (_, n) =>
    t.call('POST', '/users', { email: `u${n}@example.com`, username: `u${n}`, name: 'U', password: 'a long password', skip_confirmation: true }),
  (id, n) => t.call('POST', `/projects/${id}/statuses/main`, { state: n % 2 ? 'success' : 'failed' }),
  (_, n) => t.call('POST', '/projects', { name: `more ${n}`, initialize_with_readme: n % 2 === 0 }),
  (id) => t.call('DELETE', `/projects/${id}`),
  (_, n) => t.call('POST', '/user/keys', { title: `${n}`, key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEnr94MfBVuYHEYQ0XS2cLnMmrJdCvXEK3DFIlAgVLWS' }),
]

async function write(random: (n: number) => number, projects: number[], count: number) {
  for (let i = 0; i < count; i++) {
    const project = projects[random(projects.length)] as number
    await (WRITES[random(WRITES.length)] as (typeof WRITES)[number])(project, random(1_000))
  }
}

/** Answers that show what a client sees of the state. */
async function answers(projects: number[]) {
  const paths = [
    ...['/projects?per_page=100', '/issues?scope=all', '/merge_requests?scope=all', '/users', '/application/settings', '/user/keys', '/events'],
    ...projects.flatMap((id) => [
      ...[`/projects/${id}`, `/projects/${id}/repository/tree`, `/projects/${id}/repository/commits?all=true`, `/projects/${id}/repository/branches`],
      ...[`/projects/${id}/repository/tags`, `/projects/${id}/labels`, `/projects/${id}/merge_requests/1`, `/projects/${id}/issues/1/notes`],
      ...[`/projects/${id}/repository/archive.tar`, `/projects/${id}/pipelines`],
    ]),
  ]
  const found: Record<string, unknown> = {}
  for (const path of paths) {
    const { status, text } = await t.call('GET', path)
    found[path] = [status, text]
  }
  return found
}

describe('the state of a world', () => {
  it.each(seeds(3, 8))('is put back as a whole after random changes (seed %d)', async (seed) => {
    await t.world.reset()
    const random = numbers(seed)
    const projects: number[] = []
    for (const name of ['a', 'b', 'c']) projects.push((await aProject(name)).id)
    await write(random, projects, 15)
    await t.world.ctx.jobs.drain()
    const seen = await answers(projects)
    const state = await t.everything()
    await t.world.snapshot('then')
    for (let round = 0; round < 2; round++) {
      await write(random, projects, 10)
      if (round === 1) await t.world.reset()
      let back: unknown
      t.world.onReset(async () => {
        back ??= await t.everything()
      })
      await t.world.restore('then')
      expect(back).toEqual(state)
      expect(await answers(projects)).toEqual(seen)
    }
    expect(t.logged).toEqual([])
  })

  it('is the empty one of the start after a reset', async () => {
    await t.world.reset()
    const before = await t.call('GET', '/users')
    const project = await aProject('one')
    await t.world.reset()
    expect((await t.call('GET', `/projects/${project.id}`)).status).toBe(404)
    expect((await t.call('GET', '/projects')).body).toEqual([])
    expect((await t.call('GET', '/users')).text).toBe(before.text)
    // ids begin again, and nothing is left of the project that had this one
    const other = await ok('POST', '/projects', { name: 'other' })
    expect(other.id).toBe(project.id)
    expect((await t.call('GET', `/projects/${other.id}/repository/branches`)).body).toEqual([])
  })

  it('has several names, each with its own moment', async () => {
    await t.world.reset()
    const { id } = await aProject('named')
    const titles = async () => ((await t.call('GET', `/projects/${id}/issues?sort=asc`)).body as { title: string }[]).map(({ title }) => title)
    const files = async () => ((await t.call('GET', `/projects/${id}/repository/tree`)).body as { path: string }[]).map(({ path }) => path)
    for (const name of ['first', 'second', 'third']) {
      await ok('POST', `/projects/${id}/issues`, { title: name })
      expect((await aFile(id, name)).status).toBe(201)
      await t.world.snapshot(name)
    }
    for (const [name, count] of [
      ['second', 2],
      ['first', 1],
      ['third', 3],
      ['second', 2],
    ] as const) {
      await t.world.restore(name)
      expect(await titles()).toEqual(['first', 'second', 'third'].slice(0, count))
      expect(await files()).toEqual(['README.md', ...['first', 'second', 'third'].slice(0, count)])
    }
    await t.world.snapshot('first')
    await t.world.reset()
    await t.world.restore('first')
    expect(await titles()).toEqual(['first', 'second'])
  })

  it('has a project again that was deleted, with its repository and its files', async () => {
    await t.world.reset()
    const { id, path_with_namespace } = await aProject('deleted')
    const form = new FormData()
    form.append('file', new Blob(['the bytes']), 'file.txt')
    const upload = await ok('POST', `/projects/${id}/uploads`, form)
    await t.world.snapshot('with it')
    await ok('DELETE', `/projects/${id}?permanently_remove=true`)
    await t.world.ctx.jobs.drain()
    expect((await t.call('GET', `/projects/${id}`)).status).toBe(404)
    await t.world.restore('with it')
    expect((await t.call('GET', `/${path_with_namespace}${upload['url']}`)).text).toBe('the bytes')
    const work = await cloned(url(path_with_namespace, root()))
    await commitIn(work, 'more.txt')
    await gitOut(work, 'push', '-q')
  })
})

describe('calls and work that are under way', () => {
  it('a job that waits for its time when the state is kept waits for as long again when it is put back', async () => {
    await t.world.reset()
    await t.world.ctx.jobs.drain()
    await aProject('with work to come')
    const due = async () => {
      const [row] = await t.world.db.readRows(undefined, `select extract(epoch from run_at) from jobs where kind = 'repository upkeep'`, [])
      return Number(row?.[0])
    }
    await t.world.db.write.execute(sql`update jobs set run_at = run_at + interval '1 hour' where kind = 'repository upkeep'`)
    const first = await due()
    await t.world.snapshot('with work to come')
    await sleep(50)
    await t.world.restore('with work to come')
    expect(await due()).toBeGreaterThanOrEqual(first + 0.05)
  })

  it('pushes that go on meanwhile are of one state or of the other', async () => {
    await t.world.reset()
    const { id, path_with_namespace } = await aProject('pushed')
    const works = await Promise.all([0, 1, 2].map(() => cloned(url(path_with_namespace, root()))))
    for (const [i, work] of works.entries()) {
      await gitOut(work, 'checkout', '-qb', `b${i}`)
      await commitIn(work, `f${i}`)
    }
    await t.world.ctx.jobs.drain()
    const state = await t.everything()
    await t.world.snapshot('before')
    for (let round = 0; round < rounds(3, 6); round++) {
      const pushes = works.map((work, i) => gitRun(work, 'push', '-q', 'origin', `b${i}:b${i}-${round}`))
      await Promise.race(pushes)
      let back: unknown
      t.world.onReset(async () => {
        back ??= await t.everything()
      })
      const [ends] = await Promise.all([Promise.all(pushes), t.world.restore('before')])
      expect(back).toEqual(state)
      const branches = (await t.call('GET', `/projects/${id}/repository/branches`)).body as { name: string }[]
      for (const { name } of branches.filter(({ name }) => name !== 'main')) {
        expect(name).toMatch(new RegExp(`-${round}$`))
        expect(ends[Number(name[1])]?.code).toBe(0)
      }
      for (const [i, work] of works.entries()) await gitOut(work, 'push', '-q', 'origin', `b${i}:b${i}-${round}-after`)
      await t.world.restore('before')
    }
    expect(t.logged).toEqual([])
  })

  it('connections stay open, and calls that come meanwhile wait', async () => {
    await t.world.reset()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sockets = new Set<Socket>()
    const get = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const { hostname, port } = new URL(t.world.info.url)
        const headers = { 'private-token': t.world.info.token }
        request({ agent, hostname, port, path: '/api/v4/projects', headers }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode))
        })
          .once('socket', (socket) => sockets.add(socket))
          .once('error', reject)
          .end()
      })
    expect(await get()).toBe(200)
    for (let round = 0; round < 5; round++) {
      const [, ...statuses] = await Promise.all([t.world.reset(), get(), get()])
      expect(statuses).toEqual([200, 200])
    }
    expect(sockets.size).toBe(1)
    agent.destroy()
  })

  it('a call that does not end loses its connection, and the rest continues', async () => {
    await t.world.reset()
    const { port } = t.world.app.server.address() as AddressInfo
    const { path_with_namespace } = await aProject('slow')
    const failed = new Promise<string>((resolve) => {
      const authorization = `Basic ${Buffer.from(`git:${t.world.info.token}`).toString('base64')}`
      const headers = { authorization, 'content-type': 'application/x-git-receive-pack-request', 'content-length': '1000' }
      const push = request({ port, method: 'POST', path: `/${path_with_namespace}.git/git-receive-pack`, headers }, () => resolve('an answer'))
      push.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? ''))
      push.write('00')
    })
    await expect.poll(() => t.begun.at(-1), { timeout: 20_000 }).toBe(`/${path_with_namespace}.git/git-receive-pack`)
    await t.world.reset()
    expect(await failed).toBe('ECONNRESET')
    expect((await t.call('GET', '/projects')).body).toEqual([])
  })

  it('one whose client leaves while it waits for the other state holds nothing up', async () => {
    await t.world.reset()
    const { hostname, port } = new URL(t.world.info.url)
    const gone: string[] = []
    t.world.onReset(async () => {
      if (gone.length > 0) return
      for (const path of ['/api/v4/projects', '/root/none.git/info/refs?service=git-upload-pack']) {
        await callAndLeave(t.world.app.server, { hostname, port, path })
        gone.push(path)
      }
    })
    await t.world.reset()
    expect(gone).toHaveLength(2)
    await t.world.reset()
    expect((await t.call('GET', '/projects')).body).toEqual([])
    expect(t.begun).not.toContain(gone[1])
  })

  it('does not send after a reset what a hook was to receive before it', async () => {
    await t.world.reset()
    const { id } = await aProject('hooked')
    // no server answers there: the delivery is retried
    await ok('POST', `/projects/${id}/hooks`, { url: 'http://127.0.0.1:9/', issues_events: true })
    await ok('POST', `/projects/${id}/issues`, { title: 'sent' })
    await t.world.reset()
    await t.world.ctx.jobs.drain()
    const [row] = await t.world.db.readRows(undefined, 'select count(*)::int from hook_deliveries', [])
    expect(row).toEqual([0])
  })

  it('counted attempts and cached answers are of the state that is', async () => {
    await t.world.reset()
    const user = await ok('POST', '/users', {
      email: 'v@example.com',
      username: 'v',
      name: 'V',
      password: 'a long password',
      skip_confirmation: true,
    })
    const made = await ok('POST', `/users/${user.id}/impersonation_tokens`, { name: 'x', scopes: ['api'] })
    const as = () => t.call('GET', '/user', undefined, { 'private-token': String(made['token']) })
    await t.world.snapshot('with a user')
    expect((await as()).status).toBe(200)
    await t.world.reset()
    expect((await as()).status).toBe(401)
    await t.world.restore('with a user')
    expect((await as()).status).toBe(200)
    await ok('PUT', '/application/settings', { default_projects_limit: 7 })
    await t.world.restore('with a user')
    expect((await ok('GET', '/application/settings'))['default_projects_limit']).not.toBe(7)
  })
})
