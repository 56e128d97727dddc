import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut, gitRun } from '../support/clients/git-client.js'
import { aCommit, aProject, aUser, setSettings, type TestProject, type TestUser, unique } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const client = gitClient(t)
const LIMIT = { repository_size_limit: 1 }
const REFUSAL = 'The repository would be larger than the 1 MiB that the administrator allows.'
/** What no compression makes smaller. */
const noise = (kibibytes: number) =>
  randomBytes(kibibytes * 1024)
    .toString('base64')
    .slice(0, kibibytes * 1024)
const make = (given: Parameters<typeof aProject>[1] = {}) => aProject(t.ctx, { files: { 'a.txt': 'a' }, ...given })
/** A project whose repository is above the limit already. */
const aFullOne = (given: Parameters<typeof aProject>[1] = {}) => make({ files: { big: noise(1_600) }, ...given })
const refsOf = (project: TestProject) => gitOut(directoryOf(t, project.id), 'for-each-ref')

afterEach(async () => {
  await t.ctx.jobs.drain()
  await setSettings(t.ctx, {})
})

describe('the size of a repository (SEC-177)', () => {
  it('refuses a push beyond it with the reason and keeps nothing; accepts smaller ones, and deletions always', async () => {
    const project = await make()
    await aCommit(t.ctx, project, { b: 'b' }, { branch: 'topic', start_branch: 'main' })
    await t.ctx.jobs.drain()
    await setSettings(t.ctx, LIMIT)
    const before = await refsOf(project)
    const work = await client.cloned(client.url(project.fullPath, project.creator))
    const commit = async (content: string) => {
      await writeFile(join(work, 'new'), content)
      await gitOut(work, 'add', '.')
      await gitOut(work, 'commit', '-q', '--amend', '-m', 'x')
    }
    await commit(noise(2_000))
    const refused = await gitRun(work, 'push', '-q', 'origin', 'HEAD:refs/heads/new')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(REFUSAL)])
    expect(await refsOf(project)).toBe(before)
    await commit(noise(20))
    await gitOut(work, 'push', '-q', 'origin', 'HEAD:refs/heads/new')
    await setSettings(t.ctx, {})
    await aCommit(t.ctx, project, { big: noise(1_600) }, { branch: 'topic' })
    await setSettings(t.ctx, LIMIT)
    await commit('small')
    expect((await gitRun(work, 'push', '-q', 'origin', 'HEAD:refs/heads/other')).err).toContain(REFUSAL)
    await gitOut(work, 'push', '-q', 'origin', ':refs/heads/topic')
  })

  it('commits, files, picks and merges are 400 with the reason', async () => {
    const project = await make()
    const request = await aMergeRequest(t, { project })
    await t.ctx.jobs.drain()
    await setSettings(t.ctx, LIMIT)
    const { creator, path } = project
    const commit = (content: string, branch: string) =>
      t.api('post', `${path}/repository/commits`, creator).send({
        branch,
        start_branch: 'main',
        commit_message: 'x',
        actions: [{ action: 'create', file_path: 'new', content }],
      })
    await commit(noise(10), 'below').expect(201)
    await commit(noise(1_600), 'above').expect(400, { message: REFUSAL })
    const file = (content: string) => t.api('post', `${path}/repository/files/other`, creator).send({ branch: 'main', content, commit_message: 'x' })
    await file(noise(1_600)).expect(400, { message: REFUSAL })
    await setSettings(t.ctx, {})
    const { id } = (await commit(noise(1_600), 'large').expect(201)).body
    await t.ctx.jobs.drain()
    await setSettings(t.ctx, LIMIT)
    const before = await refsOf(project)
    await t.api('post', `${path}/repository/commits/${id}/cherry_pick`, creator).send({ branch: 'main' }).expect(400, { message: REFUSAL })
    await t.api('put', `${request.path}/merge`, creator).expect(400, { message: REFUSAL })
    expect(await refsOf(project)).toBe(before)
    await setSettings(t.ctx, {})
    await t.api('put', `${request.path}/merge`, creator).expect(200)
  })

  it('wikis are measured by themselves', async () => {
    const project = await make()
    await setSettings(t.ctx, LIMIT)
    const page = (title: string, content: string) => t.api('post', `${project.path}/wikis`, project.creator).send({ title, content })
    await page('small', 'x').expect(201)
    await page('large', noise(1_100)).expect(400, { message: REFUSAL })
  })

  it('a fork of one beyond it is 400, and an import fails and leaves nothing', async () => {
    const source = await aFullOne({ visibility: 'public' })
    await t.ctx.jobs.drain()
    await setSettings(t.ctx, LIMIT)
    const user = await aUser(t.ctx)
    await t.api('post', `${source.path}/fork`, user).expect(400, { message: REFUSAL })
    const given = { name: `imported ${unique()}`, import_url: `${t.url}/${source.fullPath}.git` }
    const { id } = (await t.api('post', '/projects', user).send(given).expect(201)).body
    await t.ctx.jobs.drain()
    expect((await t.api('get', `/projects/${id}`, user).expect(200)).body).toMatchObject({
      import_status: 'failed',
      import_error: 'The repository is too large',
      empty_repo: true,
    })
    expect(await gitOut(directoryOf(t, id), 'for-each-ref')).toBe('')
    expect(await gitOut(directoryOf(t, id), 'count-objects')).toBe('0 objects, 0 kilobytes')
  })
})

describe('the size of uploads (SEC-177)', () => {
  const upload = (project: TestProject, caller: TestUser, kibibytes: number) =>
    t.api('post', `${project.path}/uploads`, caller).attach('file', Buffer.alloc(kibibytes * 1024), 'a.txt')
  const refusal = (whose: string) => ({ message: `413 Request Entity Too Large - ${whose} may have no more than 1 MiB of uploaded files` })

  it('of a person, in all projects together', async () => {
    const [one, other] = [await make({ visibility: 'public' }), await make({ visibility: 'public' })]
    await setSettings(t.ctx, { user_uploads_size_limit: 1 })
    await upload(one, one.creator, 600).expect(201)
    await upload(other, one.creator, 600).expect(413, refusal('You'))
    await upload(other, one.creator, 400).expect(201)
    await upload(one, other.creator, 600).expect(201)
  })

  it('of a project, by all people together, and two at once do not pass together', async () => {
    const project = await make({ visibility: 'public' })
    const other = await aUser(t.ctx)
    await setSettings(t.ctx, { project_uploads_size_limit: 1 })
    const both = await Promise.all([upload(project, project.creator, 600), upload(project, other, 600)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 413])
    expect(both.find(({ status }) => status === 413)?.body).toEqual(refusal('This project'))
    await upload(project, other, 500).expect(413)
    await upload(project, other, 400).expect(201)
  })
})
