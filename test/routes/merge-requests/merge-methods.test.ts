import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { commitIn, gitClient, gitOut } from '../../support/clients/git-client.js'
import { aCommit, aProject, aUser, type TestProject, unique } from '../../support/factories.js'
import { aMergeRequest, rowOfRequest, showRequest, soon, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'
import { oneIn } from '../../support/rounds.js'

const t = testApp()
const { url, cloned } = gitClient(t)

type Method = 'merge' | 'rebase_merge' | 'ff'

const accept = ({ path, project }: TestRequest, sent: object = {}) => t.api('put', `${path}/merge`, project.creator).send(sent)
const settle = async (project: TestProject, sent: object) => (await t.api('put', project.path, project.creator).send(sent).expect(200)).body
const git = (project: TestProject, ...args: string[]) =>
  bareOf(t, project)
    .git(...args)
    .trim()

async function aForkOf(project: TestProject): Promise<TestProject> {
  const creator = await aUser(t.ctx)
  const { body } = await t.api('post', `${project.path}/fork`, creator).send({}).expect(201)
  await t.ctx.jobs.drain()
  return { id: body.id, path: `/projects/${body.id}`, fullPath: body.path_with_namespace, creator }
}

/** A merge request of two commits in a project with these settings, from a fork or from another branch. */
async function twoCommits(settings: object, { fork = false } = {}) {
  const project = await aProject(t.ctx, { visibility: 'public', files: { 'readme.md': 'one\n' } })
  if (Object.keys(settings).length > 0) await settle(project, settings)
  const from = fork ? await aForkOf(project) : project
  const source = `topic${unique()}`
  await aCommit(t.ctx, from, { first: '1\n', shared: 'theirs\n' }, { branch: source, start_branch: 'main', message: 'First' })
  await aCommit(t.ctx, from, { second: '2\n' }, { branch: source, message: 'Second' })
  const request = await aMergeRequest(t, { project, from, source, files: null, title: 'Two commits' })
  return { project, from, request }
}

/** Trees and titles of the first parents of `main`, and of the second parents of merges. */
const historyIn = (work: string, of: string) => gitOut(work, 'log', '--topo-order', '--format=%T %s', of)

describe('merge methods and squashing (MR-94 to MR-96)', () => {
  const cases = (['merge', 'rebase_merge', 'ff'] as Method[]).flatMap((method) =>
    [false, true].flatMap((squash) =>
      [false, true].flatMap((fork) =>
        [false, true].flatMap((deferred) => (['ahead', 'behind', 'conflict'] as const).map((at) => ({ method, squash, fork, deferred, at }))),
      ),
    ),
  )

  // every fifth has each method, squash, fork and place of the source
  const title = 'merges as git does by hand: $method, squash $squash, fork $fork, deferred $deferred, source $at'
  it.each(oneIn(5, cases))(title, { tags: ['long'] }, async ({ method, squash, fork, deferred, at }) => {
    const { project, from, request } = await twoCommits({ merge_method: method }, { fork })
    if (at !== 'ahead') await aCommit(t.ctx, project, at === 'conflict' ? { shared: 'ours\n' } : { other: 'x\n' }, { message: 'On main' })
    const head = git(from, 'rev-parse', `refs/heads/${request.source}`)
    const status = (state: string) => t.api('post', `${from.path}/statuses/${head}`, from.creator).send({ state, ref: request.source }).expect(201)
    if (deferred) await status('running')
    const before = git(project, 'rev-parse', 'main')
    const work = await cloned(url(project.fullPath, project.creator))
    await gitOut(work, 'fetch', '-q', 'origin', `refs/merge-requests/${request.iid}/head:theirs`)

    const possible = at === 'ahead' || (at === 'behind' && method === 'merge')
    const sent = { squash, merge_when_pipeline_succeeds: deferred }
    if (!possible) {
      await accept(request, sent).expect(405, { message: 'Branch cannot be merged' })
      expect(git(project, 'rev-parse', 'main')).toBe(before)
      await t.ctx.jobs.drain()
      expect((await showRequest(t, request)).detailed_merge_status).toBe(at === 'conflict' ? 'conflict' : 'need_rebase')
      return
    }
    const { body } = await accept(request, sent).expect(200)
    if (deferred) {
      expect(body).toMatchObject({ state: 'opened', merge_when_pipeline_succeeds: true, squash })
      await status('success')
      await soon(async () => (await showRequest(t, request)).state === 'merged')
    }
    const message = `Merge branch '${request.source}' into 'main'`
    if (squash) {
      await gitOut(work, 'checkout', '-qb', 'squashed')
      await gitOut(work, 'merge', '-q', '--squash', 'theirs')
      await gitOut(work, 'commit', '-qm', 'Two commits')
    }
    const merged = squash ? 'squashed' : 'theirs'
    await gitOut(work, 'checkout', '-q', 'main')
    await gitOut(work, 'merge', '-q', ...(method === 'ff' ? ['--ff-only', merged] : ['--no-ff', '-m', message, merged]))
    await gitOut(work, 'fetch', '-q', 'origin', 'main:result')
    expect(await historyIn(work, 'result')).toBe(await historyIn(work, 'main'))

    const shown = await showRequest(t, request)
    const main = git(project, 'rev-parse', 'main')
    const squashed = method === 'ff' ? main : `${main}^2`
    expect(shown).toMatchObject({
      state: 'merged',
      squash,
      merge_commit_sha: method === 'ff' ? null : main,
      squash_commit_sha: squash ? git(project, 'rev-parse', squashed) : null,
      sha: head,
      merge_error: null,
    })
    expect((await rowOfRequest(t, request)).merged_head_sha).toBe(head)
    if (squash) expect(git(project, 'log', '-1', '--format=%an %cn', squashed)).toBe(`${from.creator.name} ${project.creator.name}`)
    if (method === 'ff' && !squash) expect(main).toBe(head)
    expect(git(project, 'fsck', '--strict', '--no-dangling')).toBe('')
  })

  it('is mended by a rebase where the source is behind (MR-94)', async () => {
    for (const method of ['rebase_merge', 'ff']) {
      const { project, request } = await twoCommits({ merge_method: method })
      await aCommit(t.ctx, project, { other: 'x\n' })
      await accept(request).expect(405, { message: 'Branch cannot be merged' })
      await t.api('put', `${request.path}/rebase`, project.creator).expect(202)
      await soon(async () => (await showRequest(t, request)).detailed_merge_status === 'mergeable')
      expect((await accept(request).expect(200)).body.state).toBe('merged')
    }
  })

  it('shows need_rebase when the project changes its method, without another check (MR-94)', async () => {
    const { project, request } = await twoCommits({})
    await aCommit(t.ctx, project, { other: 'x\n' })
    await t.ctx.jobs.drain()
    expect((await showRequest(t, request)).detailed_merge_status).toBe('mergeable')
    expect(await settle(project, { merge_method: 'ff' })).toMatchObject({ merge_method: 'ff' })
    expect((await showRequest(t, request)).detailed_merge_status).toBe('need_rebase')
  })

  it('removes the source branch, closes issues and leaves a push event after each method (MR-68, MR-69)', async () => {
    for (const sent of [{ merge_method: 'ff' }, { merge_method: 'ff', squash_option: 'always' }, { squash_option: 'always' }]) {
      const { project, request } = await twoCommits(sent)
      const issue = (await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'A fault' }).expect(201)).body
      await t
        .api('put', request.path, project.creator)
        .send({ description: `Closes #${issue.iid}` })
        .expect(200)
      await accept(request, { should_remove_source_branch: true }).expect(200)
      await t.api('get', `${project.path}/repository/branches/${request.source}`, project.creator).expect(404)
      expect((await t.api('get', `${project.path}/issues/${issue.iid}`, project.creator).expect(200)).body.state).toBe('closed')
      const { body: events } = await t.api('get', `${project.path}/events?action=pushed`, project.creator).expect(200)
      const pushed = events.find(({ push_data }: { push_data: { ref: string } }) => push_data.ref === 'main')
      expect(pushed.push_data).toMatchObject({ commit_to: git(project, 'rev-parse', 'main') })
    }
  })

  it('keeps the source branch if it has moved on after a squash (MR-68)', async () => {
    const { project, request } = await twoCommits({ squash_option: 'always' })
    await accept(request).expect(200)
    await aCommit(t.ctx, project, { third: '3\n' }, { branch: request.source })
    expect(git(project, 'rev-parse', '--verify', request.source)).not.toBe((await rowOfRequest(t, request)).merged_head_sha)
  })

  it('takes a message for the squashed commit, and remembers it in a deferred merge (MR-96)', async () => {
    for (const deferred of [false, true]) {
      const { project, request } = await twoCommits({})
      const head = git(project, 'rev-parse', request.source)
      const status = (state: string) =>
        t.api('post', `${project.path}/statuses/${head}`, project.creator).send({ state, ref: request.source }).expect(201)
      if (deferred) await status('running')
      const messages = { squash_commit_message: 'All at once\n\nand why', merge_commit_message: 'Merge it' }
      await accept(request, { squash: true, merge_when_pipeline_succeeds: deferred, ...messages }).expect(200)
      if (deferred) await status('success')
      await soon(async () => (await showRequest(t, request)).state === 'merged')
      expect(git(project, 'log', '-1', '--format=%B', 'main^2')).toBe('All at once\n\nand why')
      expect(git(project, 'log', '-1', '--format=%B', 'main')).toBe('Merge it')
    }
  })

  it('does not squash a single commit, unless its message is to change (MR-96)', async () => {
    const single = async () => {
      const request = await aMergeRequest(t)
      return { request, head: git(request.project, 'rev-parse', request.source) }
    }
    const kept = await single()
    expect((await accept(kept.request, { squash: true }).expect(200)).body.squash_commit_sha).toBeNull()
    expect(git(kept.request.project, 'rev-parse', 'main^2')).toBe(kept.head)
    const reworded = await single()
    const { body } = await accept(reworded.request, { squash: true, squash_commit_message: 'Better words' }).expect(200)
    expect(git(reworded.request.project, 'log', '-1', '--format=%s', body.squash_commit_sha)).toBe('Better words')
  })

  it('squashes as the project says, and refuses the opposite (MR-96)', async () => {
    const optionOf = async (squash_option: string, sent: object = {}) => {
      const project = await aProject(t.ctx, { files: { a: 'a\n' } })
      expect(await settle(project, { squash_option })).toMatchObject({ squash_option })
      return aMergeRequest(t, { project, sent })
    }
    const shown = async (squash_option: string, sent?: object) => {
      const { squash, squash_on_merge } = await showRequest(t, await optionOf(squash_option, sent))
      return [squash, squash_on_merge]
    }
    expect(await shown('default_off')).toEqual([false, false])
    expect(await shown('default_off', { squash: true })).toEqual([true, true])
    expect(await shown('default_on')).toEqual([true, true])
    expect(await shown('default_on', { squash: false })).toEqual([false, false])
    expect(await shown('always')).toEqual([true, true])
    expect(await shown('always', { squash: false })).toEqual([false, true])
    expect(await shown('never', { squash: true })).toEqual([true, false])
    for (const [option, squash] of [
      ['never', true],
      ['always', false],
    ] as const) {
      const { body } = await accept(await optionOf(option), { squash }).expect(400)
      expect(body.message).toBe(`squash is not possible: squash_option of the project is ${option}`)
    }
    const project = await aProject(t.ctx)
    await t
      .api('put', project.path, project.creator)
      .send({ squash_option: 'sometimes' })
      .expect(400, { error: 'squash_option does not have a valid value' })
  })

  it('cherry-picks and reverts what a squash has merged', async () => {
    const { project, request } = await twoCommits({ merge_method: 'ff', squash_option: 'always' })
    const before = git(project, 'rev-parse', 'main^{tree}')
    const { body } = await accept(request).expect(200)
    const commits = `${project.path}/repository/commits/${body.squash_commit_sha}`
    await t.api('post', `${commits}/revert`, project.creator).send({ branch: 'main' }).expect(201)
    expect(git(project, 'rev-parse', 'main^{tree}')).toBe(before)
    await t
      .api('post', `${project.path}/repository/branches`, project.creator)
      .send({ branch: 'old', ref: git(project, 'rev-parse', `${body.squash_commit_sha}^`) })
      .expect(201)
    await t.api('post', `${commits}/cherry_pick`, project.creator).send({ branch: 'old' }).expect(201)
    expect(git(project, 'rev-parse', 'old^{tree}')).toBe(git(project, 'rev-parse', `${body.squash_commit_sha}^{tree}`))
  })
})

describe('a push of what a squash has merged', () => {
  it('does not change the merge request again', async () => {
    const { project, request } = await twoCommits({ merge_method: 'ff', squash_option: 'always' })
    await accept(request).expect(200)
    const work = await cloned(url(project.fullPath, project.creator))
    await commitIn(work, 'later')
    await gitOut(work, 'push', '-q', 'origin', 'main')
    const { body } = await t.api('get', `${request.path}/notes?sort=asc`, project.creator).expect(200)
    expect(body.map(({ body }: { body: string }) => body)).toEqual(['merged'])
  })
})
