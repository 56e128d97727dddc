// @module-tag long
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, gitClient, gitOut } from '../support/clients/git-client.js'
import { aGroup, aProject, aUser } from '../support/factories.js'

const t = testApp()
const git = gitClient(t)

describe('semantic-release, call by call', () => {
  it('verifies its account, tags, uploads, releases and comments on issues and merge requests (CL-5)', async () => {
    const bot = await aUser(t.ctx)
    const project = await aProject(t.ctx, { maintainer: bot, visibility: 'public', files: { 'a.txt': 'a' } })
    const at = `/projects/${encodeURIComponent(project.fullPath)}`
    await t.api('get', at, { token: 'no-token-of-anybody' }).expect(401)
    await t.api('get', '/projects/unknown%2Fnothing', bot).expect(404)
    const { permissions } = (await t.api('get', at, bot).expect(200)).body
    expect(permissions).toEqual({ project_access: expect.objectContaining({ access_level: 40 }), group_access: null })

    // what it releases: a merge request that closes an issue
    const { body: milestone } = await t.api('post', `${at}/milestones`, bot).send({ title: '1.0' }).expect(201)
    const { body: issue } = await t.api('post', `${at}/issues`, bot).send({ title: 'It breaks' }).expect(201)
    const work = await git.cloned(git.url(project.fullPath, bot))
    await gitOut(work, 'checkout', '-q', '-b', 'mend')
    const mended = await commitIn(work, 'b.txt')
    await gitOut(work, 'push', '-q', 'origin', 'mend')
    const sent = { source_branch: 'mend', target_branch: 'main', title: 'fix: mend', description: `Closes #${issue.iid}` }
    const { body: request } = await t.api('post', `${at}/merge_requests`, bot).send(sent).expect(201)
    await t.api('put', `${at}/merge_requests/${request.iid}/merge`, bot).expect(200)

    await gitOut(work, 'checkout', '-q', 'main')
    await gitOut(work, 'pull', '-q', 'origin', 'main')
    await gitOut(work, 'tag', '-a', 'v1.0.0', '-m', 'v1.0.0')
    await gitOut(work, 'push', '-q', git.url(project.fullPath, bot, 'gitlab-ci-token'), 'v1.0.0')

    const { body: asset } = await t.api('post', `${at}/uploads`, bot).attach('file', Buffer.from('built'), 'built.tgz').expect(201)
    expect(asset).toMatchObject({
      alt: 'built.tgz',
      full_path: expect.stringMatching(new RegExp(`^/${project.fullPath}/uploads/[0-9a-f]{32}/built\\.tgz$`)),
    })
    const url = `${t.url}${asset.full_path}`
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).toString()).toBe('built')
    const release = {
      tag_name: 'v1.0.0',
      description: `# 1.0.0\n\n* mend (${mended})`,
      milestones: [milestone.title],
      assets: { links: [{ name: asset.alt, url, link_type: 'package', filepath: '/built.tgz' }] },
    }
    const { body: made } = await t.api('post', `${at}/releases`, bot).send(release).expect(201)
    expect(made).toMatchObject({
      tag_name: 'v1.0.0',
      description: release.description,
      milestones: [{ title: '1.0' }],
      assets: { links: [{ name: 'built.tgz', url, link_type: 'package' }] },
    })
    await t.api('post', `${at}/releases`, bot).send(release).expect(409)

    const { body: requests } = await t.api('get', `${at}/repository/commits/${mended}/merge_requests`, bot).expect(200)
    expect(requests).toMatchObject([{ state: 'merged', iid: request.iid, project_id: project.id }])
    const of = `/projects/${requests[0].project_id}`
    const { body: closes } = await t.api('get', `${of}/merge_requests/${request.iid}/closes_issues`, bot).expect(200)
    expect(closes).toMatchObject([{ state: 'closed', iid: issue.iid, project_id: project.id }])
    for (const thing of [`issues/${issue.iid}`, `merge_requests/${request.iid}`]) {
      const { body } = await t.api('post', `${of}/${thing}/notes`, bot).send({ body: ':tada: This is in 1.0.0' }).expect(201)
      expect(body).toMatchObject({ body: ':tada: This is in 1.0.0', noteable_iid: expect.any(Number) })
    }
  })

  it('refuses where the role does not reach, and sees that of a group; what failed becomes an issue (CL-5)', async () => {
    const bot = await aUser(t.ctx)
    const reporter = await aProject(t.ctx, { reporter: bot })
    expect((await t.api('get', reporter.path, bot).expect(200)).body.permissions.project_access.access_level).toBe(20)
    const group = await aGroup(t.ctx, { developer: bot })
    const project = await aProject(t.ctx, { creator: group.creator, namespace_id: group.id })
    const { permissions } = (await t.api('get', project.path, bot).expect(200)).body
    expect(permissions).toEqual({ project_access: null, group_access: expect.objectContaining({ access_level: 30 }) })

    const title = 'The automated release is failing 🚨'
    const found = `${project.path}/issues?state=opened&search=${encodeURIComponent(title)}`
    expect((await t.api('get', found, bot).expect(200)).body).toEqual([])
    const sent = { id: project.fullPath, title, description: 'Why', labels: 'semantic-release', assignee_id: bot.id }
    const { body: issue } = await t.api('post', `${project.path}/issues`, bot).send(sent).expect(201)
    expect(issue).toMatchObject({ labels: ['semantic-release'], assignee: { id: bot.id } })
    expect((await t.api('get', found, bot).expect(200)).body).toMatchObject([{ iid: issue.iid, title }])
    await t.api('put', `${project.path}/issues/${issue.iid}`, bot).send({ state_event: 'close' }).expect(200)
    expect((await t.api('get', found, bot).expect(200)).body).toEqual([])
  })
})
