import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { bytes } from '../../support/bytes.js'
import { gitClient, gitOut } from '../../support/clients/git-client.js'
import { anObject, lfsClient } from '../../support/clients/lfs-client.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'

const t = testApp()
const { url, cloned } = gitClient(t)
const lfs = lfsClient(t)

const get = (path: string, caller?: TestUser | null) => {
  const call = supertest(t.url).get(path).buffer(true).parse(bytes)
  return caller ? call.set('PRIVATE-TOKEN', caller.token) : call
}
const text = async (path: string, caller?: TestUser | null) => (await get(path, caller).expect(200)).body.toString()

/** A project with branches `main` and `topic/one`, the tag `v1`, and one commit of the topic. */
async function aPlace(visibility: 'public' | 'private' = 'public') {
  const project = await aProject(t.ctx, { visibility })
  const bare = bareOf(t, project)
  const [root, head] = bare.commits(
    { branch: 'main', files: { 'a.txt': 'a\n', 'docs/b.html': '<script>b</script>\n', binary: Buffer.from([0, 1, 2]) } },
    { branch: 'topic/one', parents: [0], files: { 'a.txt': 'changed\n', 'docs/new': 'new\n' }, message: 'Change a' },
  ) as [string, string]
  bare.git('tag', 'v1', root)
  return { project, bare, root, head, at: `/${project.fullPath}` }
}

describe('raw files (WA-2)', () => {
  it('serves the file of a branch, tag or commit, at both forms of the address', async () => {
    const { at, root } = await aPlace()
    for (const form of ['/-/raw', '/raw']) {
      for (const ref of ['main', 'v1', root]) expect(await text(`${at}${form}/${ref}/a.txt`)).toBe('a\n')
      for (const ref of ['topic/one', 'topic%2Fone']) expect(await text(`${at}${form}/${ref}/a.txt`)).toBe('changed\n')
    }
    for (const path of ['main/none', 'none/a.txt', 'main/docs', 'main', 'topic/a.txt']) await get(`${at}/-/raw/${path}`).expect(404)
  })

  it('lets no browser run a file', async () => {
    const { at } = await aPlace()
    const { headers } = await get(`${at}/-/raw/main/docs/b.html`).expect(200)
    expect(headers).toMatchObject({
      'content-type': 'text/plain',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': 'inline',
    })
    const download = await get(`${at}/-/raw/main/binary?inline=false`).expect(200)
    expect(download.headers).toMatchObject({ 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="binary"' })
  })

  it('answers ranges, and 304 to a client that has the file', async () => {
    const { at } = await aPlace()
    const path = `${at}/-/raw/topic/one/a.txt`
    const part = await get(path).set('range', 'bytes=2-4').expect(206)
    expect(part.body.toString()).toBe('ang')
    await get(path)
      .set('if-none-match', part.headers['etag'] as string)
      .expect(304)
    await supertest(t.url).head(path).expect(200).expect('content-length', '8')
  })

  it('serves the object in place of a pointer of Git LFS', async () => {
    const { project, bare, at } = await aPlace()
    const object = anObject('a large file')
    bare.commits({ branch: 'lfs', files: { large: object.pointer } })
    expect(await text(`${at}/-/raw/lfs/large`)).toBe(object.pointer)
    await lfs.upload(project.fullPath, project.creator, object)
    expect(await text(`${at}/-/raw/lfs/large`)).toBe('a large file')
  })
})

it('takes the credentials of the API, and hides what the caller may not see (WA-1)', async () => {
  const { project, at, head } = await aPlace('private')
  const stranger = await aUser(t.ctx)
  const request = await aMergeRequest(t, { project, source: 'topic/one', files: null })
  const paths = [
    '/-/raw/main/a.txt',
    `/-/archive/main/${project.fullPath.split('/')[1]}-main.tar.gz`,
    `/-/commit/${head}.diff`,
    '/-/compare/main...topic/one.diff',
    `/-/merge_requests/${request.iid}.diff`,
  ]
  for (const path of paths) {
    await get(`${at}${path}`, stranger).expect(404)
    expect([path, [401, 404].includes((await get(`${at}${path}`)).status)]).toEqual([path, true])
    await get(`${at}${path}`, project.creator).expect(200)
    await get(`${at}${path}?private_token=${project.creator.token}`).expect(200)
    await supertest(t.url).get(`${at}${path}`).set('authorization', `Bearer ${project.creator.token}`).expect(200)
    await get(`${at}${path}?private_token=wrong`).expect(401)
  }
})

it('serves archives by name, and leaves the commit id out of the usual name (WA-3)', async () => {
  const { project, at, root, head } = await aPlace()
  const name = project.fullPath.split('/')[1] as string
  const entries = async (path: string) => {
    const { body } = await get(`${at}${path}`).expect(200)
    const { stdout } = spawnSync('tar', ['-tz'], { input: body, encoding: 'utf8' })
    return stdout.trim().split('\n')[0]
  }
  expect(await entries(`/-/archive/main/${name}-main.tar.gz`)).toBe(`${name}-main/`)
  expect(await entries('/-/archive/topic/one/other.tar.gz')).toBe(`${name}-topic-one-${head}/`)
  expect(await entries('/repository/archive.tar.gz?ref=v1')).toBe(`${name}-v1-${root}/`)
  expect(await entries('/repository/topic/one/archive.tar.gz')).toBe(`${name}-topic-one-${head}/`)
  for (const format of ['zip', 'tar', 'tar.gz', 'tar.bz2']) {
    const { headers } = await get(`${at}/-/archive/main/${name}-main.${format}`).expect(200)
    expect(headers['content-disposition']).toBe(`attachment; filename="${name}-main.${format}"`)
  }
  await get(`${at}/-/archive/none/x.zip`).expect(404)
})

describe('diffs and patches (WA-4)', () => {
  it('applies with git, and is what git makes', async () => {
    const { project, bare, at, root, head } = await aPlace()
    bare.commits({ branch: 'main', parents: [root], files: { later: 'x\n' } })
    const [second] = bare.commits({
      branch: 'topic/one',
      parents: [head],
      files: { 'docs/new': 'newer\n', data: Buffer.from([0, 9]) },
      message: 'Second',
    })
    const request = await aMergeRequest(t, { project, source: 'topic/one', files: null })
    const of = (path: string) => text(`${at}${path}`, project.creator)
    const expected = bare.git('diff', '--binary', '--full-index', root, second as string)
    for (const form of ['/-', '']) {
      expect(await of(`${form}/merge_requests/${request.iid}.diff`)).toBe(expected)
      expect(await of(`${form}/compare/main...topic/one.diff`)).toBe(expected)
      expect(await of(`${form}/commit/${head}.diff`)).toBe(bare.git('diff', '--binary', '--full-index', root, head))
      expect(await of(`${form}/commit/${root}.patch`)).toContain('Subject: [PATCH]')
    }
    expect(await of('/-/compare/main..topic/one.diff')).toBe(bare.git('diff', '--binary', '--full-index', 'main', second as string))

    const work = await cloned(url(project.fullPath, project.creator))
    await gitOut(work, 'checkout', '-q', root)
    writeFileSync(join(work, '.git', 'series'), await of(`/merge_requests/${request.iid}.patch`))
    await gitOut(work, 'am', '-q', '.git/series')
    expect(await gitOut(work, 'log', '-2', '--format=%s')).toBe('Second\nChange a')
    expect(await gitOut(work, 'rev-parse', 'HEAD^{tree}')).toBe(bare.git('rev-parse', 'topic/one^{tree}').trim())
  })

  it('is empty without changes, and 404 for what does not exist', async () => {
    const { project, bare, at } = await aPlace()
    bare.git('branch', 'same', 'main')
    const request = await aMergeRequest(t, { project, source: 'same', files: null })
    for (const kind of ['diff', 'patch']) expect(await text(`${at}/merge_requests/${request.iid}.${kind}`, project.creator)).toBe('')
    expect(await text(`${at}/-/compare/main...same.diff`)).toBe('')
    for (const path of ['/-/merge_requests/99.diff', `/-/commit/${'1'.repeat(40)}.diff`, '/-/compare/main...none.diff'])
      await get(`${at}${path}`, project.creator).expect(404)
  })
})

it('serves snippets (WA-5)', async () => {
  const { project, at } = await aPlace()
  const snippet = { title: 'x', file_name: 'x', content: 'of the project\n', visibility: 'public' }
  const { body: inProject } = await t.api('post', `${project.path}/snippets`, project.creator).send(snippet).expect(201)
  const { body: personal } = await t
    .api('post', '/snippets', project.creator)
    .send({ ...snippet, content: 'personal\n', visibility: 'private' })
    .expect(201)
  expect(await text(`${at}/snippets/${inProject.id}/raw`, project.creator)).toBe('of the project\n')
  expect(await text(`${at}/-/snippets/${inProject.id}/raw`, project.creator)).toBe('of the project\n')
  expect(await text(`/snippets/${personal.id}/raw`, project.creator)).toBe('personal\n')
  await get(`/-/snippets/${personal.id}/raw`, await aUser(t.ctx)).expect(404)
})

it('lists the public keys of a user (WA-6)', async () => {
  const user = await aUser(t.ctx)
  expect(await text(`/${user.username}.keys`)).toBe('')
  const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ+9fPbVvzEMB4VWd+WFNSBE3Qk6dPlDk+Ysc1kqE6Ts'
  await t
    .api('post', '/user/keys', user)
    .send({ title: 'laptop', key: `${key} ada@laptop` })
    .expect(201)
  expect(await text(`/${user.username.toUpperCase()}.keys`)).toBe(`${key} ${user.name} (roost.test)\n`)
  expect(await text(`/${user.username}.gpg`)).toBe('')
  await get('/no-such-user.keys').expect(404)
  await get('/no-such-user.gpg').expect(404)
})

describe('go get (WA-7)', () => {
  const importOf = async (path: string, caller?: TestUser) => {
    const { body, headers } = await get(`${path}?go-get=1`, caller).expect(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    return /<meta name="go-import" content="([^"]*)">/.exec(body.toString())?.[1]
  }
  const line = (path: string) => `roost.test/${path} git http://roost.test/${path}.git`

  it('names the project that a path begins with', async () => {
    const owner = await aUser(t.ctx)
    const top = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const project: TestProject = await aProject(t.ctx, { creator: owner, namespace_id: top.id, visibility: 'public', files: { a: 'a' } })
    for (const path of [project.fullPath, `${project.fullPath}/pkg/deep`]) expect(await importOf(`/${path}`)).toBe(line(project.fullPath))
  })

  it('answers for what the caller may not read as for what does not exist', async () => {
    const { project } = await aPlace('private')
    const [namespace] = project.fullPath.split('/')
    expect(await importOf(`/${project.fullPath}/pkg`)).toBe(line(project.fullPath))
    expect(await importOf(`/${namespace}/none/pkg`)).toBe(line(`${namespace}/none`))
    expect(await importOf('/no/such/thing')).toBe(line('no/such'))
    expect(await importOf('/%3Cscript%3E/x')).toBe('roost.test/%3Cscript%3E/x git http://roost.test/&lt;script&gt;/x.git')
  })
})
