import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aProject } from '../../support/factories.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()

async function people() {
  const project = await aProject(t.ctx, { visibility: 'public' })
  const by = (author: string) => `${author} 1500000000 +0000`
  const bare = bareOf(t, project)
  bare.commits(
    { files: { a: '0' }, author: by('Ann <ann@example.com>') },
    { files: { a: '1' }, author: by('Bob <bob@example.com>') },
    { files: { a: '2' }, author: by('Ann Newer <ann@example.com>') },
    { branch: 'side', parents: [0], files: { b: '3' }, author: by('Cy <cy@example.com>') },
    { branch: 'main', parents: [2, 3], files: { b: '3' }, author: by('Bob <bob@example.com>') },
    { files: { a: '5' }, author: by('Ann Newest <ann@example.com>') },
    { branch: 'other', parents: [0], files: { c: '6' }, author: by('Dee <dee@example.com>') },
  )
  return { project, bare, at: `${project.path}/repository/contributors` }
}

describe('GET /projects/:id/repository/contributors', () => {
  it('who wrote the default branch, merges left out, by e-mail, with the newest name (RE-7)', async () => {
    const { at } = await people()
    const { body, headers } = await t.api('get', at, null).expect(200)
    const person = (name: string, email: string, commits: number) => ({ name, email, commits, additions: 0, deletions: 0 })
    expect(body).toEqual([person('Bob', 'bob@example.com', 1), person('Cy', 'cy@example.com', 1), person('Ann Newest', 'ann@example.com', 3)])
    expect(headers['x-total']).toBe('3')
  })

  it('in any order, page by page (RE-7)', async () => {
    const { at } = await people()
    const names = async (query: string) =>
      (await t.api('get', `${at}?${query}`, null).expect(200)).body.map(({ email }: { email: string }) => email[0]).join('')
    expect(await names('order_by=email')).toBe('abc')
    expect(await names('order_by=email&sort=desc')).toBe('cba')
    expect(await names('order_by=name')).toBe('abc')
    expect(await names('order_by=commits&sort=desc')).toBe('acb')
    expect(await names('sort=desc&per_page=1&page=2')).toBe('c')
    await t
      .api('get', `${at}?order_by=age&sort=up`, null)
      .expect(400, { error: 'order_by does not have a valid value, sort does not have a valid value' })
  })

  it('follows the branch, and says again what it said before without asking git (RE-7)', async () => {
    const { at, bare } = await people()
    const before = await t.api('get', at, null).expect(200)
    bare.commits({ branch: 'main', files: { z: 'z' }, author: 'Eve <eve@example.com> 1500000000 +0000' })
    const after = await t.api('get', at, null).expect(200)
    expect(after.body).toHaveLength(before.body.length + 1)
  })

  it('a mailmap counts for nothing; odd people are counted as text (SEC-85, SEC-151)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public' })
    const bare = bareOf(t, project)
    const [first] = bare.commits({ files: { '.mailmap': 'Other <other@example.com> <ada@example.com>\n' } }) as [string]
    const tree = bare.git('rev-parse', `${first}^{tree}`).trim()
    let parent = first
    for (const author of ['J\xf6rg <j@example.org> 5 +0100', '<> -5', 'No Mail', `${'x'.repeat(5_000)} <long@example.com> 5 +0000`]) {
      const raw = Buffer.from(`tree ${tree}\nparent ${parent}\nauthor ${author}\ncommitter A <a@b> 1600000001 +0000\n\nm\n`, 'latin1')
      parent = bare.gitBytes(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], raw).toString().trim()
    }
    bare.git('update-ref', 'refs/heads/main', parent)
    const { body } = await t.api('get', `${project.path}/repository/contributors?order_by=email&per_page=100`, null).expect(200)
    expect(body.map(({ commits }: { commits: number }) => commits).reduce((a: number, b: number) => a + b)).toBe(5)
    expect(body.map(({ name }: { name: string }) => name)).toContain('J\ufffdrg')
    expect(body.map(({ email }: { email: string }) => email)).toContain('ada@example.com')
    expect(body.find(({ email }: { email: string }) => email === 'long@example.com').name).toBe('x'.repeat(1_000))
  })

  it('404 without a default branch (RE-7)', async () => {
    const project = await aProject(t.ctx)
    await t.api('get', `${project.path}/repository/contributors`, project.creator).expect(404, { message: '404 Not found' })
  })

  it.each(statuses(200, { anonymous: 404, stranger: 404, guest: 403 }))('%s before a private project: %i (RE-7, G-40)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { files: { a: 'a' } })
    await t.api('get', `${project.path}/repository/contributors`, as[role]).expect(status)
  })
})
