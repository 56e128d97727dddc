// @module-tag long
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ImportReport, importServer } from '../../../src/services/imports/import-server.js'
import type { ImportOptions } from '../../../src/services/imports/run.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aUser, type TestUser } from '../../support/factories.js'
import { localServer } from '../../support/servers/local-server.js'

const t = testApp()
let admin: TestUser
type Handler = (query: URLSearchParams, request: IncomingMessage, response: ServerResponse) => unknown
/** Path below /api/v4 → what it answers; others are empty lists. */
let answers: Record<string, Handler> = {}
/** What Git is answered. */
const nothing = (_: string, response: ServerResponse): unknown => response.writeHead(404).end()
let advertise = nothing
const asked: string[] = []

const local = localServer((request, response) => {
  const { pathname: whole, searchParams } = new URL(request.url ?? '', 'http://x')
  const pathname = whole.replace(/^\/t\d+/, '')
  asked.push(pathname)
  if (!pathname.startsWith('/api/v4/')) return void advertise(pathname, response)
  const path = pathname.slice('/api/v4'.length)
  const body = path === '/version' ? { version: '18.0.0' } : (answers[path]?.(searchParams, request, response) ?? [])
  if (!response.writableEnded) response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
})

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
})
afterEach(() => {
  answers = {}
  advertise = nothing
  place++
})

let runs = 0
/** Each test has its own server: the same one below another path. */
let place = 1
const run = (options: Partial<ImportOptions> = {}): Promise<ImportReport> =>
  importServer(t.ctx, { url: `${local.url}/t${place}`, token: 'secret-token', ...options })
const reasons = ({ left_out }: ImportReport) => left_out.map(({ kind, name, reason }) => `${kind} ${name}: ${reason}`)

const person = (username: string, more = {}) => ({ id: ++runs, username, name: username, state: 'active', email: `${username}@example.com`, ...more })
const group = (full_path: string, more = {}) => ({ id: ++runs, full_path, name: full_path.split('/').at(-1), visibility: 'private', ...more })
const project = (path_with_namespace: string, more = {}) => ({
  ...{ id: ++runs, path_with_namespace, name: path_with_namespace.split('/').at(-1), visibility: 'private', ...more },
})

describe('a hostile server', () => {
  it('skips values of the wrong type', async () => {
    answers = {
      '/users': () => [person('right'), person('wrong', { username: { $gt: '' } }), 'unknown', person('long'.repeat(100)), person('nul\0')],
      '/groups': () => ({ message: 'no list' }),
      '/projects': () => 7,
    }
    const report = await run()
    expect(report.finished).toBe(true)
    expect(report.came).toEqual({ user: 1 })
    expect(reasons(report)).toEqual([
      expect.stringContaining('group '),
      'project all: the answer is not a list',
      expect.stringMatching(/^user : is not valid: it: Invalid input/),
      expect.stringMatching(/^user 2: is not valid: username: Invalid input/),
      expect.stringMatching(/^user 3: is not valid: username: Too big/),
      expect.stringMatching(/^user nul.: username can contain only/),
    ])
  })

  it('cannot make lists that do not end', async () => {
    const endless: Handler = (_, request, response) => {
      response.setHeader('link', `<${local.url}${request.url}&page=2>; rel="next"`)
      return [group('loop', { id: 7 })]
    }
    answers = { '/groups': endless }
    expect(reasons(await run())).toContain('group all: the list does not end: a page has only what others have had')
    const growing: Handler = (query, request, response) => {
      const page = Number(query.get('page') ?? 1)
      response.setHeader('link', `<${new URL(request.url ?? '', local.url).pathname}?page=${page < 3 ? page + 1 : 1}>; rel="next"`)
      return [project(`unknown${page}/p`, { id: 1000 + page })]
    }
    answers = { '/projects': growing }
    expect(reasons(await run())).toContainEqual(expect.stringContaining('project all: the list does not end'))
  })

  it('cannot lead the token elsewhere', async () => {
    let led = 0
    const elsewhere = createServer((_, response) => {
      led++
      response.end('[]')
    })
    elsewhere.listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
    answers = {
      '/users': (_, __, response) => response.writeHead(302, { location: `${there}/api/v4/users` }).end(),
      '/groups': (query, _, response) => {
        if (!query.has('page')) response.setHeader('link', `<${there}/api/v4/groups?page=2>; rel="next"`)
        return [group(query.has('page') ? 'second' : 'first')]
      },
    }
    const report = await run()
    expect(reasons(report)).toContain(`user all: the server redirects to ${there}/api/v4/users, which is not followed`)
    // the query of the next page is used, its host is not
    expect(report.came).toMatchObject({ group: 2 })
    expect(led).toBe(0)
    elsewhere.close()
  })

  it('cannot send more than fits', async () => {
    answers = {
      '/users': (_, __, response) => {
        const chunk = Buffer.alloc(1 << 20, 0x20)
        for (let i = 0; i < 66; i++) response.write(chunk)
        response.end()
      },
    }
    expect(reasons(await run())).toContain('user all: a page has more than 8388608 bytes')
  })

  it('cannot send more values than fit, nor nest them too deeply (SEC-211)', async () => {
    const raw =
      (text: string): Handler =>
      (_, __, response) =>
        response.setHeader('content-type', 'application/json').end(text)
    answers = { '/users': raw(`[${'[],'.repeat(250_000)}[]]`), '/groups': raw(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) }
    const found = reasons(await run())
    expect(found).toContain('user all: a page has more than 200000 values')
    expect(found).toContain('group all: a page is nested more than 100 deep')
  })

  it('that has large pages is asked for smaller ones', async () => {
    const all = Array.from({ length: 30 }, (_, i) => group(`large${i}`, { description: 'x'.repeat(900_000) }))
    answers = {
      '/groups': (query, request, response) => {
        const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page'))]
        const { pathname } = new URL(request.url ?? '', local.url)
        if (page * size < all.length) response.setHeader('link', `<${pathname}?page=${page + 1}&per_page=${size}>; rel="next"`)
        return all.slice((page - 1) * size, page * size)
      },
    }
    const report = await run()
    expect(reasons(report)).toEqual([])
    expect(report.came).toEqual({ group: 30 })
  })

  it('cannot send more elements than it promised, nor empty pages without end (SEC-211)', async () => {
    const linked = (request: IncomingMessage, response: ServerResponse, page: number) =>
      response.setHeader('link', `<${new URL(request.url ?? '', local.url).pathname}?page=${page + 1}>; rel="next"`)
    const page = (query: URLSearchParams) => Number(query.get('page') ?? 1)
    answers = {
      '/projects': (query, request, response) => {
        linked(request, response, page(query)).setHeader('x-total', '10')
        return Array.from({ length: 100 }, () => project('unknown/p'))
      },
      '/groups': (query, request, response) => {
        linked(request, response, page(query))
        return []
      },
    }
    asked.length = 0
    const found = reasons(await run())
    expect(found).toContain('project all: the list does not end: it has more than the 10 elements it should have')
    expect(found).toContain('group all: the list does not end: its pages are empty')
    expect(asked.filter((path) => path === '/api/v4/projects')).toHaveLength(11)
    expect(asked.filter((path) => path === '/api/v4/groups')).toHaveLength(101)
  })

  it('cannot take names that are used here, nor those of accounts that were here before', async () => {
    const victim = await aUser(t.ctx, { username: 'victim' })
    const { id } = await aGroup(t.ctx, { name: 'taken', path: 'taken' })
    answers = {
      '/users': () => [person('Victim', { id: 5000, is_admin: true, email: 'else@example.com' }), person('taken')],
      '/users/5000/keys': () => [{ id: 1, title: 'mine', key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl x' }],
      '/groups': () => [group('taken'), group('api'), group('deep/er')],
      '/projects': () => [project('taken/inside')],
    }
    const report = await run()
    expect(reasons(report)).toEqual(
      expect.arrayContaining([
        'user taken: username has already been taken',
        'group taken: path has already been taken',
        'group api: path api is a reserved name',
        'group deep/er: its parent group was not imported',
        'project taken/inside: its group was not imported',
      ]),
    )
    expect((await t.api('get', `/users/${victim.id}/keys`, admin)).body).toEqual([])
    expect((await t.api('get', `/users/${victim.id}`, admin)).body).toMatchObject({ email: victim.email, is_admin: false })
    expect((await t.api('get', `/groups/${id}/projects`, admin)).body).toEqual([])
  })

  it('imports external users as external', async () => {
    answers = { '/users': () => [person('outsider', { external: true }), person('insider', { external: false })] }
    await run()
    for (const [username, external] of Object.entries({ outsider: true, insider: false }))
      expect((await t.api('get', `/users?username=${username}`, admin)).body).toMatchObject([{ external }])
  })

  it('cannot leave the folders of repositories, nor name other hosts for Git', async () => {
    answers = {
      '/projects': () => [
        project('../../etc/passwd'),
        project('right/../../x'),
        project('right/app', { http_url_to_repo: 'file:///etc', owner: person('right') }),
        project('right/.git'),
      ],
    }
    asked.length = 0
    const report = await run()
    expect(reasons(report).filter((reason) => reason.startsWith('project'))).toEqual([
      expect.stringContaining('path_with_namespace: is not a path'),
      expect.stringContaining('path_with_namespace: is not a path'),
      expect.stringContaining('project right/.git: '),
    ])
    expect(reasons(report)).toContain("repository right/app: the server answers 404 to Git: the token's user may not read it, or there is none")
    expect(asked.filter((path) => path.includes('info/refs'))).toEqual(['/right/app.git/info/refs', '/right/app.wiki.git/info/refs'])
  })

  it('cannot go in circles', async () => {
    answers = {
      '/groups/round': () => group('round', { id: 6000, parent_id: 6001 }),
      '/groups/6000/subgroups': () => [group('round/a', { id: 6001, parent_id: 6000 }), group('round', { id: 6000, parent_id: 6001 })],
      '/groups/6001/subgroups': () => [group('round', { id: 6000 }), group('round/a', { id: 6001 })],
    }
    const report = await run({ groups: ['round'] })
    expect(report.finished).toBe(true)
    expect((await t.api('get', '/groups/round%2Fa', admin)).status).toBe(200)
  })

  it('is asked again while it has too much to do, and not for ever', async () => {
    let tries = 0
    answers = {
      '/users': (_, __, response) => (++tries < 4 ? response.writeHead(429, { 'retry-after': '0' }).end() : []),
      '/groups': (_, __, response) => response.writeHead(503, { 'retry-after': '0' }).end(),
    }
    expect(await run()).toMatchObject({ finished: false, fault: 'the server answers 503' })
    expect(tries).toBe(4)
  })

  it('that fails for one item imports the others', async () => {
    const broken = project('hurt/one', { id: 8001, owner: person('hurt') })
    const whole = project('hurt/two', { id: 8002, owner: person('hurt') })
    answers = {
      '/projects': () => [broken, whole],
      '/projects/8001/issues': (_, __, response) => response.writeHead(500, { 'retry-after': '0' }).end('{}'),
      '/projects/8002/issues': () => [{ id: 8003, iid: 1, title: 'whole', state: 'opened', labels: [], author: person('hurt') }],
    }
    const report = await run()
    expect(report).toMatchObject({ finished: true, came: { project: 2, issue: 1 } })
    expect(reasons(report)).toContain('issue hurt/one: the server fails with it (500)')
  })

  it('is asked for a repository again as well', async () => {
    const tries: string[] = []
    advertise = (path, response) => {
      tries.push(path)
      response.writeHead(tries.length < 3 ? 503 : 404, { 'retry-after': '0' }).end()
    }
    answers = { '/projects': () => [project('late/one', { owner: person('late') })] }
    const report = await run()
    expect(tries.filter((path) => path.startsWith('/late/one.git/'))).toHaveLength(3)
    expect(report.finished).toBe(true)
    expect(reasons(report)).toContain("repository late/one: the server answers 404 to Git: the token's user may not read it, or there is none")
  })

  it('that refuses the token ends the run', async () => {
    answers = { '/users': (_, __, response) => response.writeHead(401).end('{}') }
    expect(await run()).toMatchObject({ finished: false, fault: 'the server does not accept the token' })
  })
})

describe('a dry run', () => {
  it('reads and writes nothing', async () => {
    const count = async () =>
      (
        await t.ctx.db.write.execute(
          'select (select count(*) from users) as users, (select count(*) from imports) as imports, (select count(*) from import_items) as items, (select count(*) from namespaces) as namespaces',
        )
      ).rows
    const before = await count()
    answers = {
      '/users': () => [person('dry', { id: 7000 })],
      '/groups': () => [group('desert', { id: 7001 }), group('desert/dune', { id: 7002 })],
      '/projects': () => [project('desert/sand', { id: 7003 })],
      '/projects/7003/issues': () => [
        { id: 7004, iid: 1, title: 'hot', state: 'opened', labels: [], author: person('dry') },
        { id: 7005, iid: 2, title: '', state: 'opened', labels: [] },
      ],
      '/projects/7003/issues/1/discussions': () => [{ id: 'a'.repeat(40), notes: [{ id: 1, body: 'yes', author: person('stranger') }] }],
    }
    answers['/groups'] = () => [group('desert', { id: 7001 }), group('desert/dune', { id: 7002 }), group('api', { id: 7006 })]
    answers['/projects'] = () => [project('desert/sand', { id: 7003 }), project('desert/tree', { id: 7007 }), project('api/x', { id: 7008 })]
    const report = await run({ dryRun: true })
    expect(report).toMatchObject({ dry_run: true, finished: true, came: { user: 1, group: 2, project: 1, issue: 1, 'issue note': 1 } })
    expect(reasons(report)).toContain('issue desert/sand 7005: is not valid: title: Too small: expected string to have >=1 characters')
    expect(reasons(report)).toEqual(
      expect.arrayContaining([
        'group api: path api is a reserved name',
        'project desert/tree: path tree is a reserved name',
        'project api/x: its group was not imported',
      ]),
    )
    expect(await count()).toEqual(before)
  })
})
