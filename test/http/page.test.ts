import { generateKeyPairSync } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { members, projects } from '../../src/db/schema/index.js'
import { testApp } from '../support/app.js'
import { aCommit, aGroup, anAdmin, aProject, aToken, aUser, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { rawAnswer } from '../support/raw.js'

const t = testApp()
let owner: TestUser

beforeAll(async () => {
  owner = await aUser(t.ctx)
  for (let i = 0; i < 5; i++) await aProject(t.ctx, { creator: owner, visibility: 'public' })
})

const rels = (link: string) => [...link.matchAll(/rel="([a-z]+)"/g)].map((match) => match[1])
const urlOf = (link: string, rel: string) => new RegExp(`<([^>]*)>; rel="${rel}"`).exec(link)?.[1] ?? ''

describe('the headers of a list', () => {
  it('twenty a page from the first, with all numbers (G-55, W-38, W-39)', async () => {
    const { headers, body } = await t.api('get', '/projects', owner).expect(200)
    expect(body).toHaveLength(5)
    expect(headers).toMatchObject({ 'x-total': '5', 'x-total-pages': '1', 'x-per-page': '20', 'x-page': '1', 'x-next-page': '', 'x-prev-page': '' })
  })

  it('in the middle both neighbours are named (G-57)', async () => {
    const { headers, body } = await t.api('get', '/projects?per_page=2&page=2', owner).expect(200)
    expect(body).toHaveLength(2)
    expect(headers).toMatchObject({ 'x-total': '5', 'x-total-pages': '3', 'x-per-page': '2', 'x-page': '2', 'x-next-page': '3', 'x-prev-page': '1' })
    expect(rels(headers['link'] ?? '')).toEqual(['prev', 'next', 'first', 'last'])
  })

  it('an empty list has one page (G-57)', async () => {
    const { headers, body } = await t.api('get', '/projects?search=nothing-like-it', owner).expect(200)
    expect(body).toEqual([])
    expect(headers).toMatchObject({ 'x-total': '0', 'x-total-pages': '1', 'x-next-page': '', 'x-prev-page': '' })
    expect(rels(headers['link'] ?? '')).toEqual(['first', 'last'])
  })

  it('links repeat all parameters, sorted, without credentials (G-58, W-40)', async () => {
    const query = `visibility=public&search=project&page=2&per_page=2&private_token=${owner.token}&archived=false&unknown[]=a&unknown[]=b%20c`
    const { headers } = await t.api('get', `/projects?${query}`).expect(200)
    const url = urlOf(headers['link'] ?? '', 'next')
    expect(url).toBe(`${t.url}/api/v4/projects?archived=false&page=3&per_page=2&search=project&unknown%5B%5D=a&unknown%5B%5D=b%20c&visibility=public`)
    expect(headers['link']).not.toContain(owner.token)
    const list = await t.api('get', `/projects?per_page=2&access_token=${owner.token}`).expect(200)
    expect(list.headers['link']).not.toContain('access_token')
  })

  it('a client that follows them sees everything once (G-58, W-42)', async () => {
    const seen: number[] = []
    let url = `${t.url}/api/v4/projects?per_page=2&pagination=keyset`
    while (url) {
      const answer = await fetch(url, { headers: { 'PRIVATE-TOKEN': owner.token } })
      seen.push(...((await answer.json()) as { id: number }[]).map(({ id }) => id))
      url = urlOf(answer.headers.get('link') ?? '', 'next')
    }
    expect(new Set(seen).size).toBe(5)
    expect(seen).toHaveLength(5)
  })

  it.each(['asc', 'desc'])('keyset pagination skips nothing that follows deleted rows: %s (G-91)', async (sort) => {
    const creator = await aUser(t.ctx)
    for (let i = 0; i < 5; i++) await aProject(t.ctx, { creator })
    const links: string[] = []
    const seen: number[] = []
    let url = `${t.url}/api/v4/projects?owned=true&order_by=id&sort=${sort}&pagination=keyset&per_page=2`
    while (url) {
      const answer = await fetch(url, { headers: { 'PRIVATE-TOKEN': creator.token } })
      expect([answer.headers.get('x-total'), answer.headers.get('x-page')]).toEqual([null, null])
      for (const { id } of (await answer.json()) as { id: number }[]) {
        seen.push(id)
        await t.api('delete', `/projects/${id}`, creator).expect(202)
      }
      url = urlOf(answer.headers.get('link') ?? '', 'next')
      if (url) links.push(url)
    }
    expect(seen).toHaveLength(5)
    expect(links.map((link) => new URL(link).searchParams.get(sort === 'asc' ? 'id_after' : 'id_before'))).toEqual([`${seen[1]}`, `${seen[3]}`])
    expect(links.every((link) => !new URL(link).searchParams.has('page'))).toBe(true)
  })

  describe('a list in the order of ids, read while its rows are deleted', () => {
    const anSshKey = (n: number) => {
      const part = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
      const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
      return `ssh-ed25519 ${Buffer.concat([part(Buffer.from('ssh-ed25519')), part(Buffer.from(String(x), 'base64url'))]).toString('base64')} ${n}`
    }
    const times = async (n: number, make: (i: number) => Promise<unknown>) => {
      for (let i = 0; i < n; i++) await make(i)
    }
    const say = async (path: string, body: object, caller: TestUser) => (await t.api('post', path, caller).send(body).expect(201)).body
    type List = { path: string; caller: TestUser; remove: (id: number) => string; by?: TestUser; status?: number; method?: 'post' | 'delete' }
    const lists: Record<string, () => Promise<List>> = {
      groups: async () => {
        const caller = await aUser(t.ctx)
        await times(5, () => aGroup(t.ctx, { creator: caller }))
        return { path: '/groups?order_by=id&sort=asc', caller, remove: (id) => `/groups/${id}` }
      },
      subgroups: async () => {
        const group = await aGroup(t.ctx)
        await times(5, () => aGroup(t.ctx, { creator: group.creator, parent_id: group.id }))
        return { path: `${group.path}/subgroups?order_by=id&sort=desc`, caller: group.creator, remove: (id) => `/groups/${id}` }
      },
      users: async () => {
        await times(5, (i) => aUser(t.ctx, { name: `kettle ${i}` }))
        return { path: '/users?search=kettle', caller: await anAdmin(t.ctx), remove: (id) => `/users/${id}` }
      },
      todos: async () => {
        const caller = await aUser(t.ctx)
        const project = await aProject(t.ctx, { creator: caller })
        await times(5, async (i) => {
          await say(`${project.path}/issues`, { title: `x ${i}` }, caller)
          await say(`${project.path}/issues/${i + 1}/todo`, {}, caller)
        })
        return { path: '/todos', caller, remove: (id) => `/todos/${id}/mark_as_done`, method: 'post', status: 201 }
      },
      hooks: async () => {
        const { path, creator } = await aProject(t.ctx)
        await times(5, (i) => say(`${path}/hooks`, { url: `http://example.com/${i}` }, creator))
        return { path: `${path}/hooks`, caller: creator, remove: (id) => `${path}/hooks/${id}` }
      },
      'deploy keys': async () => {
        const { path, creator } = await aProject(t.ctx)
        await times(5, (i) => say(`${path}/deploy_keys`, { title: 'k', key: anSshKey(i) }, creator))
        return { path: `${path}/deploy_keys`, caller: creator, remove: (id) => `${path}/deploy_keys/${id}` }
      },
      'SSH keys': async () => {
        const caller = await aUser(t.ctx)
        await times(5, (i) => say('/user/keys', { title: 'k', key: anSshKey(10 + i) }, caller))
        return { path: '/user/keys', caller, remove: (id) => `/user/keys/${id}` }
      },
      'deploy tokens': async () => {
        const { path, creator } = await aProject(t.ctx)
        await times(5, (i) => say(`${path}/deploy_tokens`, { name: `t${i}`, scopes: ['read_repository'] }, creator))
        return { path: `${path}/deploy_tokens`, caller: creator, remove: (id) => `${path}/deploy_tokens/${id}` }
      },
      'impersonation tokens': async () => {
        const [admin, { id: of }] = [await anAdmin(t.ctx), await aUser(t.ctx)]
        const path = `/users/${of}/impersonation_tokens`
        await times(5, (i) => say(path, { name: `t${i}`, scopes: ['api'] }, admin))
        return { path: `${path}?state=active`, caller: admin, remove: (id) => `${path}/${id}` }
      },
      'e-mail addresses': async () => {
        const caller = await aUser(t.ctx)
        await times(5, (i) => say('/user/emails', { email: `kettle${caller.id}.${i}@example.com` }, caller))
        return { path: '/user/emails', caller, remove: (id) => `/user/emails/${id}` }
      },
      snippets: async () => {
        const { path, creator } = await aProject(t.ctx)
        await times(5, (i) => say(`${path}/snippets`, { title: `s${i}`, file_name: 'a', content: 'x', visibility: 'private' }, creator))
        return { path: `${path}/snippets`, caller: creator, remove: (id) => `${path}/snippets/${id}` }
      },
      members: async () => {
        const { path, creator } = await aProject(t.ctx, { creator: await aUser(t.ctx) })
        await times(5, async () => say(`${path}/members`, { user_id: (await aUser(t.ctx)).id, access_level: 20 }, creator))
        return { path: `${path}/members`, caller: creator, remove: (id) => `${path}/members/${id}` }
      },
    }

    it.each(Object.keys(lists))('%s: nothing is skipped (G-91)', async (name) => {
      const { path, caller, remove, method = 'delete', status = 204 } = await (lists[name] as () => Promise<List>)()
      const query = (more: string) => `${path}${path.includes('?') ? '&' : '?'}${more}`
      const before = ((await t.api('get', query('per_page=100'), caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
      expect(before.length).toBeGreaterThan(4)
      const seen: number[] = []
      let url = `${t.url}/api/v4${query('pagination=keyset&per_page=2&page=3')}`
      while (url) {
        const answer = await fetch(url, { headers: { 'PRIVATE-TOKEN': caller.token } })
        expect([answer.status, answer.headers.get('x-total'), answer.headers.get('x-per-page')]).toEqual([200, null, '2'])
        for (const { id } of (await answer.json()) as { id: number }[]) {
          seen.push(id)
          const { statusCode } = await t.api(method, remove(id), caller)
          if (id !== caller.id) expect([202, status]).toContain(statusCode)
        }
        url = urlOf(answer.headers.get('link') ?? '', 'next')
      }
      expect(seen).toEqual(before)
    })

    const followsRows = async (path: string, caller: TestUser) => {
      const whole = ((await t.api('get', path, caller).expect(200)).body as { id: number }[]).map(({ id }) => id)
      expect(whole.length, path).toBeGreaterThan(2)
      const first = await t.api('get', `${path}?pagination=keyset&per_page=2`, caller).expect(200)
      const link = new URL(urlOf(first.headers['link'] ?? '', 'next'))
      const second = await t.api('get', link.pathname.replace('/api/v4', '') + link.search, caller).expect(200)
      expect([...first.body, ...second.body].map(({ id }) => id)).toEqual(whole.slice(0, 4))
    }

    it('what belongs to commits, merge requests and issues is, too (G-91)', async () => {
      const admin = await anAdmin(t.ctx)
      const top = await aGroup(t.ctx, { creator: admin })
      const middle = await aGroup(t.ctx, { creator: admin, parent_id: top.id })
      const { id: namespace_id } = await aGroup(t.ctx, { creator: admin, parent_id: middle.id })
      const project = await aProject(t.ctx, { creator: admin, namespace_id, files: { a: 'x' } })
      await say(`${project.path}/issues`, { title: 'x' }, admin)
      const sent = { description: 'Closes #1' }
      const request = await aMergeRequest(t, { project, source: 'work', sent })
      for (const branch of ['work1', 'work2']) {
        await say(`${project.path}/repository/branches`, { branch, ref: 'work' }, admin)
        await aMergeRequest(t, { project, source: branch, files: null, sent })
      }
      const { sha } = (await t.api('get', request.path, admin).expect(200)).body
      for (let i = 0; i < 3; i++) {
        const head = await aCommit(t.ctx, project, { [`f${i}`]: 'x' }, { branch: 'work' })
        await say(`${project.path}/statuses/${head}`, { state: 'success', ref: 'work' }, admin)
        await say(`${project.path}/statuses/${sha}`, { state: 'success', name: `job ${i}`, ref: 'work' }, admin)
        await say(`${request.path}/award_emoji`, { name: ['tada', 'heart', 'eyes'][i] }, admin)
        await say('/broadcast_messages', { message: `m${i}` }, admin)
        await say('/applications', { name: `a${i}`, redirect_uri: 'http://a.example', scopes: 'api' }, admin)
      }
      await t.ctx.jobs.drain()
      const lists = [
        ...['/versions', '/pipelines', '/award_emoji'].map((part) => request.path + part),
        ...['/closed_by', '/related_merge_requests'].map((part) => `${project.path}/issues/1${part}`),
        ...['/statuses', '/merge_requests'].map((part) => `${project.path}/repository/commits/${sha}${part}`),
        `${project.path}/jobs`,
        `${project.path}/groups`,
        '/broadcast_messages',
        '/applications',
      ]
      for (const path of lists) await followsRows(path, admin)
    })

    it('of others than administrators, users are found in the order of ids only without a search (G-91, U-16)', async () => {
      const caller = await aUser(t.ctx)
      const get = (query: string) => t.api('get', `/users?pagination=keyset&per_page=2${query}`, caller).expect(200)
      const { headers, body } = await get('&sort=asc')
      expect(new URL(urlOf(headers['link'] ?? '', 'next')).searchParams.get('id_before')).toBe(`${body[1].id}`)
      expect((await get('&search=user')).headers).toHaveProperty('x-total')
    })

    it('pipelines, namespaces and users of a project are, too; in another order pages have numbers (G-91, W-42)', async () => {
      const project = await aProject(t.ctx, { files: { a: 'x' } })
      const sha = (await t.api('get', `${project.path}/repository/branches/main`, project.creator).expect(200)).body.commit.id
      for (let i = 0; i < 3; i++) {
        await t
          .api('post', `${project.path}/repository/branches`, project.creator)
          .send({ branch: `b${i}`, ref: 'main' })
          .expect(201)
        await say(`${project.path}/statuses/${sha}`, { state: 'success', ref: `b${i}` }, project.creator)
        await say(`${project.path}/members`, { user_id: (await aUser(t.ctx)).id, access_level: 20 }, project.creator)
        await aGroup(t.ctx, { creator: project.creator })
      }
      for (const path of [`${project.path}/pipelines`, '/namespaces', `${project.path}/users`, `${project.path}/members/all`])
        await followsRows(path, project.creator)
      for (const path of [`${project.path}/pipelines?order_by=ref`, '/groups?order_by=name', '/projects?order_by=name'])
        expect((await t.api('get', `${path}&pagination=keyset`, project.creator).expect(200)).headers).toHaveProperty('x-total')
      await t.api('get', '/namespaces?pagination=cursor', project.creator).expect(400, { error: 'pagination does not have a valid value' })
    })
  })

  it('the host is the one that the client used, not one that a stranger forwards (W-17, SEC-28)', async () => {
    const get = (headers: string) =>
      rawAnswer(t.url, `GET /api/v4/projects HTTP/1.1\r\nPRIVATE-TOKEN: ${owner.token}\r\nConnection: close\r\n${headers}\r\n`)
    const own = await get('Host: git.example.com:8443\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n')
    expect(urlOf(own.headers['link'] ?? '', 'first')).toMatch(/^http:\/\/git\.example\.com:8443\/api\/v4\/projects\?/)
    expect(own.body).not.toContain('git.example.com')
    expect(own.body).toContain('"web_url":"http://roost.test/')
    const odd = await get('Host: a"b<c>\r\n')
    expect(urlOf(odd.headers['link'] ?? '', 'first')).toMatch(/^http:\/\/roost\.test\/api/)
    const absolute = await rawAnswer(
      t.url,
      `GET http://elsewhere.example/api/v4/projects HTTP/1.1\r\nHost: here.example\r\nPRIVATE-TOKEN: ${owner.token}\r\nConnection: close\r\n\r\n`,
    )
    expect(urlOf(absolute.headers['link'] ?? '', 'first')).toMatch(/^http:\/\/here\.example\/api\/v4\/projects\?/)
  })

  it('no parameter breaks out of Link (SEC-70)', async () => {
    const { headers } = await t.api('get', `/projects?search=${encodeURIComponent('"><,;\r\nX-Evil: 1\'')}&per_page=1`, owner).expect(200)
    expect(headers['x-evil']).toBeUndefined()
    expect(urlOf(headers['link'] ?? '', 'last')).toContain('search=%22%3E%3C%2C%3B%0D%0AX-Evil%3A%201%27')
  })

  it('a page past the end is empty, however far (G-59, SEC-53)', async () => {
    for (const page of ['4', '9223372036854775807', '9'.repeat(40)]) {
      const { headers, body } = await t.api('get', `/projects?per_page=2&page=${page}`, owner).expect(200)
      expect(body).toEqual([])
      expect(headers).toMatchObject({ 'x-total': '5', 'x-total-pages': '3', 'x-next-page': '', 'x-prev-page': '' })
      expect(rels(headers['link'] ?? '')).toEqual(['first', 'last'])
    }
    await t.api('get', '/projects?page=4&per_page=2', owner).expect('x-page', '4')
  })

  it('values out of range are limited to it, text is refused (G-55, G-56)', async () => {
    await t.api('get', '/projects?per_page=101&page=-1', owner).expect(200).expect('x-per-page', '100').expect('x-page', '1')
    await t.api('get', '/projects?per_page=-1', owner).expect(200).expect('x-per-page', '20')
    await t.api('get', '/projects?per_page=0', owner).expect(400, { error: 'per_page has a value not allowed' })
    await t.api('get', '/projects?page=x&per_page=y', owner).expect(400, { error: 'page is invalid, per_page is invalid' })
  })

  it('HEAD has them as well (W-9)', async () => {
    const { headers, text } = await t.api('head', '/projects?per_page=2', owner).expect(200)
    expect(headers).toMatchObject({ 'x-total': '5', 'content-type': 'application/json' })
    expect(text).toBeFalsy()
  })

  it('without a stated order by id; ties of a stated order by id in the same direction (G-60, W-41)', async () => {
    const ids = async (query: string) => ((await t.api('get', `/projects?${query}`, owner).expect(200)).body as { id: number }[]).map(({ id }) => id)
    const byId = await ids('order_by=id&sort=asc')
    expect(byId).toEqual([...byId].sort((a, b) => a - b))
    const moment = t.ctx.now()
    await t.ctx.db.write.update(projects).set({ created_at: moment })
    expect(await ids('order_by=created_at&sort=asc')).toEqual(byId)
    expect(await ids('order_by=created_at&sort=desc')).toEqual([...byId].reverse())
    const namespaces = ((await t.api('get', '/namespaces?per_page=100', await anAdmin(t.ctx)).expect(200)).body as { id: number }[]).map(
      ({ id }) => id,
    )
    expect(namespaces).toEqual([...namespaces].sort((a, b) => a - b))
  })
})

describe('behind a trusted proxy', () => {
  const behind = testApp({ ROOST_TRUSTED_PROXIES: '127.0.0.0/8' })

  it('Link names the host that the proxy forwards; a network counts (G-58, SEC-28)', async () => {
    const user = await aUser(behind.ctx)
    const { headers } = await behind
      .api('get', '/projects', user)
      .set('X-Forwarded-Host', 'git.example.com')
      .set('X-Forwarded-Proto', 'https')
      .expect(200)
    expect(urlOf(headers['link'] ?? '', 'first')).toBe('https://git.example.com/api/v4/projects?page=1&per_page=20')
  })
})

describe('a list costs the same number of queries for one row as for a hundred', () => {
  it('projects, members, groups, tokens, users, namespaces', async () => {
    const person = await aUser(t.ctx)
    const admin = await anAdmin(t.ctx)
    const group = await aGroup(t.ctx, { owner: person })
    const lists: [string, TestUser][] = [
      ['/projects?membership=true', person],
      [`${group.path}/members`, person],
      [`${group.path}/members/all`, person],
      ['/groups', person],
      ['/personal_access_tokens', person],
      ['/namespaces', person],
      ['/users?search=crowd', admin],
      ['/users?search=crowd', person],
    ]
    await aProject(t.ctx, { creator: person })
    await aUser(t.ctx, { name: 'crowd 0' })
    const count = async () => {
      const counts: [string, number, number][] = []
      for (const [path, caller] of lists) {
        let rows = 0
        t.ctx.caches.settings.invalidate() // they are cached by the clock
        const queries = await t.queriesOf(async () => {
          rows = ((await t.api('get', `${path}${path.includes('?') ? '&' : '?'}per_page=100`, caller).expect(200)).body as unknown[]).length
        })
        counts.push([path, queries.length, rows])
      }
      return counts
    }
    await count() // the first call of a list keeps what later ones need not read
    const few = await count()
    const crowd: TestUser[] = []
    for (let i = 1; i < 12; i++) crowd.push(await aUser(t.ctx, { name: `crowd ${i}`, provider: 'ldap', extern_uid: `uid=${i}` }))
    for (let i = 0; i < 12; i++) {
      await aProject(t.ctx, { creator: person })
      await aGroup(t.ctx, { creator: person })
      await aToken(t.ctx, person, ['api'])
    }
    for (const { id } of crowd) await t.ctx.db.write.insert(members).values({ user_id: id, namespace_id: group.id, access_level: 10 })
    // after a change the ids are read again, then their rows, then all that is seen for the first time together
    const first = await count()
    for (const [i, [path, queries]] of few.entries()) expect(first[i]?.[1], path).toBeLessThanOrEqual(queries + 3)
    const many = await count()
    for (const [i, [path, queries, rows]] of few.entries()) {
      expect(many[i]?.[2], path).toBeGreaterThan(rows + 9)
      expect(many[i]?.[1], path).toBe(queries)
      expect(queries, path).toBeGreaterThan(0)
    }
  })
})
