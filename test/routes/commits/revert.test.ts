import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, statuses } from '../../support/cast.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { bareOf, stateOf } from '../../support/repositories.js'

const t = testApp()
const SORRY = {
  message:
    'Sorry, we cannot revert this commit automatically. This commit may already have been reverted, or a more recent commit may have updated some of its content.',
}
const revert = (project: TestProject, sha: string, branch: unknown, caller: TestUser | null) =>
  t.api('post', `${project.path}/repository/commits/${encodeURIComponent(sha)}/revert`, caller).send(branch === undefined ? {} : { branch })

async function line(given: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject(t.ctx, given)
  const bare = bareOf(t, project)
  const [root, changed, later, side, merge] = bare.commits(
    { files: { a: 'a\n' } },
    { files: { b: 'b\n' }, message: 'Add b\n\nwith a body\n', author: 'Eve <eve@example.org> 1500000000 +0300' },
    { files: { a: 'later\n' } },
    { branch: 'side', parents: [0], files: { s: 's\n' } },
    { branch: 'main', parents: [2, 3], files: { s: 's\n' }, message: 'Merge side' },
  ) as [string, string, string, string, string]
  return { project, bare, root, changed, later, side, merge }
}

describe('POST /projects/:id/repository/commits/:sha/revert', () => {
  it('a commit by the caller that names the reverted one (RE-10)', async () => {
    const { project, bare, changed, merge } = await line()
    const { body } = await revert(project, changed, 'main', project.creator).expect(201)
    expect(body).toMatchObject({
      title: 'Revert "Add b"',
      message: `Revert "Add b"\n\nThis reverts commit ${changed}`,
      parent_ids: [merge],
      author_name: project.creator.name,
      author_email: project.creator.email,
      committer_name: project.creator.name,
    })
    expect(body).not.toHaveProperty('stats')
    expect(bare.git('diff', '--name-status', 'main~1', 'main')).toBe('D\tb\n')
    expect(bare.git('rev-parse', 'main').trim()).toBe(body.id)
    expect(bare.git('fsck', '--strict', '--no-dangling')).toBe('')
  })

  it('a merge against its first parent, a root against nothing, a revert of a revert (RE-10)', async () => {
    const { project, bare, merge, root } = await line()
    const one = await revert(project, merge, 'main', project.creator).expect(201)
    expect(one.body.message).toBe(`Revert "Merge side"\n\nThis reverts commit ${merge}`)
    expect(bare.git('diff', '--name-status', 'main~1', 'main')).toBe('D\ts\n')
    const two = await revert(project, one.body.id, 'main', project.creator).expect(201)
    expect(two.body.title).toBe('Revert "Revert "Merge side""')
    expect(bare.git('diff', merge, 'main')).toBe('')
    bare.git('branch', 'alone', root)
    await revert(project, root, 'alone', project.creator).expect(201)
    expect(bare.git('ls-tree', 'alone')).toBe('')
    expect(bare.git('fsck', '--strict', '--no-dangling')).toBe('')
  })

  it('the title of the reverted commit, which is cut if it is long (RE-10, C-2)', async () => {
    const { project, bare, root } = await line()
    const long = `${'word '.repeat(40)}end`
    const [one, blank] = bare.commits(
      { branch: 'x', parents: [root], files: { x: 'x' }, message: `\n\n${long}\nsecond line\n` },
      { branch: 'x', files: { y: 'y' }, message: '' },
    ) as [string, string]
    expect((await revert(project, blank, 'x', project.creator).expect(201)).body.message).toBe(
      `Revert "--no commit message"\n\nThis reverts commit ${blank}`,
    )
    expect((await revert(project, one, 'x', project.creator).expect(201)).body.message).toBe(
      `Revert "${'word '.repeat(16).trim()}…"\n\nThis reverts commit ${one}`,
    )
  })

  it('the merge commit of a merge request names that, for those who see it (RE-10, C-51)', async () => {
    const reader = await aUser(t.ctx)
    const project = await aProject(t.ctx, { files: { a: 'a\n' }, developer: reader })
    const { path, creator } = project
    await aCommit(t.ctx, project, { b: 'b\n' }, { branch: 'topic', start_branch: 'main', message: 'Add b' })
    const request = await aMergeRequest(t, { project, source: 'topic', files: null })
    const { merge_commit_sha: sha } = (await t.api('put', `${request.path}/merge`, creator).expect(200)).body
    for (const branch of ['one', 'other']) await t.api('post', `${path}/repository/branches`, creator).send({ branch, ref: 'main' }).expect(201)
    const { body } = await revert(project, sha, 'one', reader).expect(201)
    expect(body.message).toBe(`Revert "Merge branch 'topic' into 'main'"\n\nThis reverts merge request !1`)
    const sorry = { message: SORRY.message.replaceAll('commit', 'merge request').replace('more recent merge request', 'more recent commit') }
    await revert(project, sha, 'one', reader).expect(400, sorry)
    await t.api('put', path, creator).send({ merge_requests_access_level: 'disabled' }).expect(200)
    expect((await revert(project, sha, 'other', creator).expect(201)).body.message).toContain(`This reverts commit ${sha}`)
  })

  it('a conflict, or nothing left to take back, is refused and changes nothing (RE-10, C-51)', async () => {
    const { project, root, changed, bare } = await line()
    const before = await stateOf(t, project)
    await revert(project, root, 'main', project.creator).expect(400, SORRY)
    bare.commits({ branch: 'side', files: { other: 'o' } })
    await revert(project, changed, 'side', project.creator).expect(400, SORRY)
    bare.git('update-ref', 'refs/heads/side', 'side~1')
    expect(await stateOf(t, project)).toEqual(before)
  })

  it('reports missing and unknown parameters in this order (RE-10, C-48)', async () => {
    const { project, changed } = await line()
    const before = await stateOf(t, project)
    await revert(project, 'none', undefined, project.creator).expect(400, { error: 'branch is missing' })
    await revert(project, 'none', 'none', project.creator).expect(404, { message: '404 Commit Not Found' })
    for (const branch of ['none', '', '--all', 'a..b'])
      await revert(project, changed, branch, project.creator).expect(404, { message: '404 Branch Not Found' })
    expect(await stateOf(t, project)).toEqual(before)
  })

  it('not on a protected branch without its level (RE-10, C-28)', async () => {
    const developer = await aUser(t.ctx)
    const { project, changed } = await line({ developer })
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: 'main' }).expect(201)
    await revert(project, changed, 'main', developer).expect(400, { message: 'You are not allowed to push into this branch' })
  })

  // RE-10 names the errors of cherry-pick, whose anonymous callers get 403; W-37 keeps that for commit creation and cherry-pick alone
  it.each(statuses(201, { anonymous: 401, stranger: 403, guest: 403, reporter: 403 }))('%s: %i (RE-10, W-37)', async (role, status) => {
    const { project, as } = await aCast(t.ctx, { visibility: 'public' })
    const [, sha] = bareOf(t, project).commits({ files: { a: 'a' } }, { files: { b: 'b' } }) as [string, string]
    const before = await stateOf(t, project)
    await revert(project, sha, 'main', as[role]).expect(status)
    if (status !== 201) expect(await stateOf(t, project)).toEqual(before)
  })
})
