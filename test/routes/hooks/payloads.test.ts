import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { commitIn, gitClient, gitOut } from '../../support/clients/git-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, drawnOf, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, soon } from '../../support/merge-requests.js'
import { ScriptedRunner } from '../../support/runner.js'
import { receiver } from '../../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver(() => t.ctx.jobs.drain())
const client = gitClient(t)

const ZERO = '0'.repeat(40)
const STAMP = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/
let counter = 0

const ALL = Object.fromEntries(
  ['push', 'tag_push', 'issues', 'confidential_issues', 'merge_requests', 'note', 'confidential_note', 'pipeline', 'wiki_page', 'releases'].map(
    (event) => [`${event}_events`, true],
  ),
)

/** A project with a hook that listens to everything unless said otherwise, at its own path. */
async function hooked(more: object = {}) {
  const creator = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator, files: { 'readme.md': 'one\n' } })
  const path = `/hook${++counter}`
  const { body } = await t
    .api('post', `${project.path}/hooks`, creator)
    .send({ url: r.url + path, ...ALL, ...more })
    .expect(201)
  return { creator, project, path, hook: body }
}

const person = (user: TestUser) => ({ id: user.id, name: user.name, username: user.username, avatar_url: drawnOf(user), email: user.email })

const projectOf = ({ id, fullPath }: { id: number; fullPath: string }, creator: TestUser) => ({
  id,
  name: fullPath.split('/')[1],
  description: null,
  web_url: `http://roost.test/${fullPath}`,
  avatar_url: null,
  git_ssh_url: `git@roost.test:${fullPath}.git`,
  git_http_url: `http://roost.test/${fullPath}.git`,
  namespace: creator.username,
  visibility_level: 0,
  path_with_namespace: fullPath,
  default_branch: 'main',
  ci_config_path: null,
  homepage: `http://roost.test/${fullPath}`,
  url: `git@roost.test:${fullPath}.git`,
  ssh_url: `git@roost.test:${fullPath}.git`,
  http_url: `http://roost.test/${fullPath}.git`,
})

describe('a delivery', () => {
  it('has the headers of HK-10, and its attempt is listed (HK-6)', async () => {
    const { creator, project, path, hook } = await hooked({ token: 'a secret' })
    r.reply(path, { status: 202, headers: { 'x-build': '17' }, body: 'queued' })
    await aCommit(t.ctx, project, { 'a.txt': 'a\n' })
    const { headers, body } = await r.next(path)
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-gitlab-event': 'Push Hook',
      'x-gitlab-token': 'a secret',
      'x-gitlab-instance': 'http://roost.test',
      'x-gitlab-event-uuid': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'user-agent': expect.any(String),
    })
    const list = async () => (await t.api('get', `${project.path}/hooks/${hook.id}/events`, creator).expect(200)).body
    await soon(async () => (await list()).length === 1)
    expect(await list()).toMatchObject([
      {
        id: expect.any(Number),
        url: r.url + path,
        trigger: 'push_hooks',
        request_headers: { 'X-Gitlab-Event': 'Push Hook', 'X-Gitlab-Token': '[REDACTED]' },
        request_data: body,
        response_headers: { 'x-build': '17' },
        response_body: 'queued',
        response_status: '202',
        execution_duration: expect.any(Number),
      },
    ])
    expect((await t.api('get', `${project.path}/hooks/${hook.id}/events?status=server_failure`, creator).expect(200)).body).toEqual([])
    expect((await t.api('get', `${project.path}/hooks/${hook.id}/events?status=202`, creator).expect(200)).body).toHaveLength(1)
    await t.api('get', `${project.path}/hooks/${hook.id}/events?status=odd`, creator).expect(400)
  })
})

describe('a push (HK-15)', () => {
  it('by API has its commits with their files', async () => {
    const { creator, project, path } = await hooked()
    const before = await gitHead(project, creator)
    const first = await aCommit(t.ctx, project, { 'a.txt': 'a\n' }, { message: 'Add a\n\nIn full.' })
    const { body } = await r.next(path, (got) => got.body.after === first)
    expect(body).toEqual({
      object_kind: 'push',
      event_name: 'push',
      before,
      after: first,
      ref: 'refs/heads/main',
      checkout_sha: first,
      message: null,
      user_id: creator.id,
      user_name: creator.name,
      user_username: creator.username,
      user_email: creator.email,
      user_avatar: drawnOf(creator),
      project_id: project.id,
      project: projectOf(project, creator),
      commits: [
        {
          id: first,
          message: expect.stringMatching(/^Add a\n\nIn full\.\n?$/),
          title: 'Add a',
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          url: `http://roost.test/${project.fullPath}/commit/${first}`,
          author: { name: creator.name, email: creator.email },
          added: ['a.txt'],
          modified: [],
          removed: [],
        },
      ],
      total_commits_count: 1,
      repository: {
        name: project.fullPath.split('/')[1],
        url: `git@roost.test:${project.fullPath}.git`,
        description: null,
        homepage: `http://roost.test/${project.fullPath}`,
        git_http_url: `http://roost.test/${project.fullPath}.git`,
        git_ssh_url: `git@roost.test:${project.fullPath}.git`,
        visibility_level: 0,
      },
      push_options: {},
    })
  })

  it('over Git fires once for each ref, with the newest 20 commits, oldest first (HK-14, PU-7)', async () => {
    const { creator, project, path } = await hooked()
    const work = await client.cloned(client.url(project.fullPath, creator))
    for (let n = 0; n < 25; n++) await gitOut(work, 'commit', '-q', '--allow-empty', '-m', `commit ${n}`)
    await gitOut(work, 'mv', 'readme.md', 'moved.md')
    await commitIn(work, 'b.txt')
    await gitOut(work, 'branch', 'second')
    await gitOut(work, 'tag', 'light')
    await gitOut(work, 'tag', '-a', 'full', '-m', 'About it')
    await gitOut(work, 'push', '-q', 'origin', 'main', 'second', 'light', 'full')
    const head = (await gitOut(work, 'rev-parse', 'HEAD')).trim()
    const tag = (await gitOut(work, 'rev-parse', 'full')).trim()
    const { body: main } = await r.next(path, (got) => got.body.ref === 'refs/heads/main')
    expect(main).toMatchObject({ after: head, total_commits_count: 26 })
    expect(main.commits).toHaveLength(20)
    expect(main.commits.at(-1)).toMatchObject({ id: head, added: expect.arrayContaining(['b.txt', 'moved.md']), removed: ['readme.md'] })
    expect(main.commits[0].title).toBe('commit 6')
    const { body: second } = await r.next(path, (got) => got.body.ref === 'refs/heads/second')
    expect(second).toMatchObject({ before: ZERO, after: head, commits: [], total_commits_count: 0 })
    // HK-16
    const { body: full, headers } = await r.next(path, (got) => got.body.ref === 'refs/tags/full')
    expect(headers['x-gitlab-event']).toBe('Tag Push Hook')
    expect(full).toMatchObject({
      object_kind: 'tag_push',
      event_name: 'tag_push',
      before: ZERO,
      after: tag,
      checkout_sha: head,
      message: 'About it',
      commits: [{ id: head }],
      total_commits_count: 1,
    })
    const { body: light } = await r.next(path, (got) => got.body.ref === 'refs/tags/light')
    expect(light).toMatchObject({ after: head, checkout_sha: head, message: null })
    await gitOut(work, 'push', '-q', 'origin', ':second', ':light')
    const { body: gone } = await r.next(path, (got) => got.body.ref === 'refs/heads/second' && got.body.after === ZERO)
    expect(gone).toMatchObject({ before: head, checkout_sha: null, commits: [], total_commits_count: 0 })
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(6)
  })

  it('is limited by the filter of branches (HK-14)', async () => {
    const { project, path } = await hooked({ push_events_branch_filter: 'release/*' })
    await aCommit(t.ctx, project, { 'a.txt': 'a\n' })
    await aCommit(t.ctx, project, { 'b.txt': 'b\n' }, { branch: 'release/1', start_branch: 'main' })
    await r.next(path)
    await t.ctx.jobs.drain()
    expect(r.at(path).map(({ body }) => body.ref)).toEqual(['refs/heads/release/1'])
    const all = await hooked({ push_events_branch_filter: '' })
    await aCommit(t.ctx, all.project, { 'a.txt': 'a\n' })
    expect((await r.next(all.path)).body.ref).toBe('refs/heads/main')
  })
})

const gitHead = async (project: { path: string }, user: TestUser) =>
  (await t.api('get', `${project.path}/repository/branches/main`, user).expect(200)).body.commit.id

describe('an issue (HK-17)', () => {
  it('is sent for its creation, changes, closing and reopening', async () => {
    const { creator, project, path } = await hooked()
    const issues = `${project.path}/issues`
    const { body: issue } = await t.api('post', issues, creator).send({ title: 'Broken', description: 'It is.', labels: 'bug' }).expect(201)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Issue Hook')
    const label = {
      id: expect.any(Number),
      title: 'bug',
      color: expect.stringMatching(/^#/),
      project_id: project.id,
      created_at: expect.stringMatching(STAMP),
      updated_at: expect.stringMatching(STAMP),
      template: false,
      description: null,
      type: 'ProjectLabel',
      group_id: null,
    }
    expect(body).toEqual({
      object_kind: 'issue',
      event_type: 'issue',
      user: person(creator),
      project: projectOf(project, creator),
      object_attributes: {
        id: issue.id,
        iid: issue.iid,
        title: 'Broken',
        description: 'It is.',
        state: 'opened',
        action: 'open',
        author_id: creator.id,
        assignee_ids: [],
        assignee_id: null,
        milestone_id: null,
        project_id: project.id,
        confidential: false,
        due_date: null,
        created_at: expect.stringMatching(STAMP),
        updated_at: expect.stringMatching(STAMP),
        closed_at: null,
        updated_by_id: null,
        last_edited_at: null,
        last_edited_by_id: null,
        moved_to_id: null,
        time_estimate: 0,
        total_time_spent: 0,
        human_time_estimate: null,
        human_total_time_spent: null,
        url: `http://roost.test/${project.fullPath}/issues/${issue.iid}`,
        labels: [label],
      },
      labels: [label],
      changes: {},
      repository: expect.objectContaining({ url: `git@roost.test:${project.fullPath}.git` }),
    })
    const one = `${issues}/${issue.iid}`
    await t.api('put', one, creator).send({ title: 'Mended', labels: 'fine', assignee_id: creator.id }).expect(200)
    const { body: updated } = await r.next(path, (got) => got.body.object_attributes.action === 'update')
    expect(updated).toMatchObject({
      object_attributes: { title: 'Mended', assignee_ids: [creator.id], updated_by_id: creator.id, last_edited_by_id: creator.id },
      assignees: [person(creator)],
      changes: {
        title: { previous: 'Broken', current: 'Mended' },
        assignees: { previous: [], current: [person(creator)] },
        labels: { previous: [{ title: 'bug' }], current: [{ title: 'fine' }] },
        updated_at: { previous: expect.stringMatching(STAMP), current: expect.stringMatching(STAMP) },
      },
    })
    await t.api('post', `${one}/add_spent_time`, creator).send({ duration: '1h' }).expect(201)
    const { body: timed } = await r.next(path, (got) => got.body.changes.total_time_spent)
    expect(timed).toMatchObject({
      changes: { total_time_spent: { previous: 0, current: 3_600 } },
      object_attributes: { human_total_time_spent: '1h' },
    })
    await t.api('put', one, creator).send({ state_event: 'close' }).expect(200)
    const { body: closed } = await r.next(path, (got) => got.body.object_attributes.action === 'close')
    expect(closed.object_attributes).toMatchObject({ state: 'closed', closed_at: expect.stringMatching(STAMP) })
    await t.api('put', one, creator).send({ state_event: 'reopen' }).expect(200)
    await r.next(path, (got) => got.body.object_attributes.action === 'reopen')
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(5)
  })

  it('that is confidential fires only hooks for those, and so do notes on it (HK-14)', async () => {
    const { creator, project, path } = await hooked({ confidential_issues_events: false, confidential_note_events: false })
    const hidden = `/hook${++counter}`
    await t
      .api('post', `${project.path}/hooks`, creator)
      .send({ url: r.url + hidden, push_events: false, confidential_issues_events: true, confidential_note_events: true })
      .expect(201)
    const { body: issue } = await t.api('post', `${project.path}/issues`, creator).send({ title: 'Hidden', confidential: true }).expect(201)
    await t.api('post', `${project.path}/issues/${issue.iid}/notes`, creator).send({ body: 'Quietly' }).expect(201)
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'Open' }).expect(201)
    const { headers, body } = await r.next(hidden, (got) => got.body.object_kind === 'issue')
    expect(headers['x-gitlab-event']).toBe('Confidential Issue Hook')
    expect(body.event_type).toBe('confidential_issue')
    const note = await r.next(hidden, (got) => got.body.object_kind === 'note')
    expect(note.headers['x-gitlab-event']).toBe('Confidential Note Hook')
    expect(note.body.event_type).toBe('confidential_note')
    await r.next(path)
    await t.ctx.jobs.drain()
    expect(r.at(path).map((got) => got.body.object_attributes.title)).toEqual(['Open'])
    expect(r.at(hidden)).toHaveLength(2)
  })

  it('fires nothing when a label that it has is deleted (HK-28)', async () => {
    const { creator, project, path } = await hooked()
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'Labelled', labels: 'gone' }).expect(201)
    await r.next(path)
    await t.api('delete', `${project.path}/labels/gone`, creator).expect(204)
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(1)
  })
})

describe('a merge request (HK-18)', () => {
  it('is sent for its creation, a moved head, changes and its merge', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    const request = await aMergeRequest(t, { project })
    const { body, headers } = await r.next(path)
    const shown = await showRequest(t, request)
    expect(headers['x-gitlab-event']).toBe('Merge Request Hook')
    expect(body).toMatchObject({
      object_kind: 'merge_request',
      event_type: 'merge_request',
      user: person(creator),
      project: projectOf(project, creator),
      object_attributes: {
        id: request.id,
        iid: request.iid,
        state: 'opened',
        action: 'open',
        source_branch: request.source,
        target_branch: 'main',
        source_project_id: project.id,
        target_project_id: project.id,
        author_id: creator.id,
        assignee_id: null,
        milestone_id: null,
        merge_status: expect.any(String),
        merge_commit_sha: null,
        merge_error: null,
        merge_params: expect.any(Object),
        merge_user_id: null,
        merge_when_pipeline_succeeds: false,
        head_pipeline_id: null,
        work_in_progress: false,
        created_at: expect.stringMatching(STAMP),
        url: shown.web_url,
        source: projectOf(project, creator),
        target: projectOf(project, creator),
        last_commit: { id: shown.sha, title: `Work on ${request.source}` },
        assignee: null,
      },
      labels: [],
      changes: {},
    })
    expect(body.object_attributes).not.toHaveProperty('oldrev')
    const moved = await aCommit(t.ctx, project, { 'more.txt': 'more\n' }, { branch: request.source })
    const { body: update } = await r.next(path, (got) => got.body.object_attributes.oldrev)
    expect(update).toMatchObject({ user: person(creator), object_attributes: { action: 'update', oldrev: shown.sha, last_commit: { id: moved } } })
    await t.api('put', request.path, creator).send({ title: 'Other', labels: 'urgent' }).expect(200)
    const { body: renamed } = await r.next(path, (got) => got.body.changes.title)
    expect(renamed.changes).toMatchObject({ title: { current: 'Other' }, labels: { previous: [], current: [{ title: 'urgent' }] } })
    await t.api('put', `${request.path}/merge`, creator).expect(200)
    const { body: merged } = await r.next(path, (got) => got.body.object_attributes.action === 'merge')
    expect(merged).toMatchObject({
      user: person(creator),
      object_attributes: { state: 'merged', merge_commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/), merge_user_id: creator.id },
    })
    await t.ctx.jobs.drain()
    expect(r.at(path).map((got) => got.body.object_attributes.action)).toEqual(['open', 'update', 'update', 'merge'])
  })

  it('names all assignees and reviewers, before and after (HK-18, MR-620)', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    const [ann, ben] = [await aUser(t.ctx), await aUser(t.ctx)]
    for (const { id } of [ann, ben]) await t.api('post', `${project.path}/members`, creator).send({ user_id: id, access_level: 30 }).expect(201)
    const request = await aMergeRequest(t, { project, sent: { assignee_ids: [ann.id], reviewer_ids: [ann.id] } })
    expect((await r.next(path)).body.assignees).toEqual([person(ann)])
    await t
      .api('put', request.path, creator)
      .send({ assignee_ids: [ben.id, ann.id], reviewer_ids: [ann.id, ben.id] })
      .expect(200)
    const { body } = await r.next(path, (got) => got.body.changes.reviewers)
    expect(body).toMatchObject({
      object_attributes: { assignee_id: ben.id, assignee_ids: [ben.id, ann.id], reviewer_ids: [ann.id, ben.id], assignee: person(ben) },
      assignees: [person(ben), person(ann)],
      reviewers: [person(ann), person(ben)],
    })
    const { updated_at: _, ...changes } = body.changes
    expect(changes).toEqual({
      assignee_id: { previous: ann.id, current: ben.id },
      assignees: { previous: [person(ann)], current: [person(ben), person(ann)] },
      reviewers: { previous: [person(ann)], current: [person(ann), person(ben)] },
    })
  })

  it('is sent for an approval and for one that is taken back, and names the reviewer (MR-110)', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    const reviewer = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, creator).send({ user_id: reviewer.id, access_level: 30 }).expect(201)
    const request = await aMergeRequest(t, { project })
    const opened = (await r.next(path)).body
    expect([opened.object_attributes.reviewer_ids, opened.reviewers]).toEqual([[], undefined])
    await t
      .api('put', request.path, creator)
      .send({ reviewer_ids: [reviewer.id] })
      .expect(200)
    const { body } = await r.next(path, (got) => got.body.changes.reviewers)
    expect(body).toMatchObject({ object_attributes: { action: 'update', reviewer_ids: [reviewer.id] }, reviewers: [person(reviewer)] })
    expect(body.changes).toMatchObject({ reviewers: { previous: [], current: [person(reviewer)] } })
    expect(Object.keys(body.changes).sort()).toEqual(['reviewers', 'updated_at'])
    for (const [verb, action] of [
      ['approve', 'approved'],
      ['unapprove', 'unapproved'],
    ] as const) {
      await t.api('post', `${request.path}/${verb}`, reviewer).expect(201)
      expect((await r.next(path, (got) => got.body.object_attributes.action === action)).body).toMatchObject({
        object_kind: 'merge_request',
        user: person(reviewer),
        object_attributes: { iid: request.iid, action, state: 'opened' },
        changes: {},
      })
    }
    await t.api('post', `${request.path}/approve`, reviewer).expect(201)
    await t.ctx.jobs.drain()
    await t.api('delete', `/users/${reviewer.id}`, await anAdmin(t.ctx)).expect(204)
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(5)
  })

  it('is sent for a merge by a push, and for the loss of its branch (PU-3, PU-4)', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    const pushed = await aMergeRequest(t, { project })
    const lost = await aMergeRequest(t, { project })
    const work = await client.cloned(client.url(project.fullPath, creator))
    await gitOut(work, 'merge', '-q', '--no-ff', '-m', 'By hand', `origin/${pushed.source}`)
    await gitOut(work, 'push', '-q', 'origin', 'main', `:${lost.source}`)
    expect((await r.next(path, (got) => got.body.object_attributes.action === 'merge')).body.object_attributes.iid).toBe(pushed.iid)
    const { body } = await r.next(path, (got) => got.body.object_attributes.action === 'close')
    expect(body).toMatchObject({ user: person(creator), object_attributes: { iid: lost.iid, state: 'closed' } })
  })
})

describe('a note (HK-19)', () => {
  it('is sent for its creation and change on each kind of item, and system notes send nothing', async () => {
    const { creator, project, path } = await hooked({ issues_events: false, push_events: false, merge_requests_events: false })
    const { body: issue } = await t.api('post', `${project.path}/issues`, creator).send({ title: 'Broken' }).expect(201)
    const request = await aMergeRequest(t, { project })
    const { body: snippet } = await t
      .api('post', `${project.path}/snippets`, creator)
      .send({ title: 'S', file_name: 's.txt', content: 'x', visibility: 'private' })
      .expect(201)
    const { sha } = await showRequest(t, request)
    const { body: note } = await t.api('post', `${project.path}/issues/${issue.iid}/notes`, creator).send({ body: 'Said' }).expect(201)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Note Hook')
    expect(body).toMatchObject({
      object_kind: 'note',
      event_type: 'note',
      user: person(creator),
      project_id: project.id,
      project: { id: project.id },
      object_attributes: {
        id: note.id,
        note: 'Said',
        description: 'Said',
        noteable_type: 'Issue',
        noteable_id: issue.id,
        commit_id: null,
        author_id: creator.id,
        project_id: project.id,
        system: false,
        type: null,
        line_code: null,
        position: null,
        discussion_id: expect.any(String),
        attachment: null,
        st_diff: null,
        created_at: expect.stringMatching(STAMP),
        updated_at: expect.stringMatching(STAMP),
        action: 'create',
        url: `${issue.web_url}#note_${note.id}`,
      },
      issue: { id: issue.id, title: 'Broken' },
    })
    await t.api('put', `${project.path}/issues/${issue.iid}/notes/${note.id}`, creator).send({ body: 'Said better' }).expect(200)
    await r.next(path, (got) => got.body.object_attributes.action === 'update' && got.body.object_attributes.note === 'Said better')
    await t.api('post', `${request.path}/notes`, creator).send({ body: 'On it' }).expect(201)
    expect((await r.next(path, (got) => got.body.merge_request)).body.merge_request).toMatchObject({ id: request.id, last_commit: { id: sha } })
    await t.api('post', `${project.path}/snippets/${snippet.id}/notes`, creator).send({ body: 'On that' }).expect(201)
    expect((await r.next(path, (got) => got.body.snippet)).body.snippet).toMatchObject({ id: snippet.id, content: 'x', type: 'ProjectSnippet' })
    await t.api('post', `${project.path}/repository/commits/${sha}/comments`, creator).send({ note: 'On this' }).expect(201)
    expect((await r.next(path, (got) => got.body.commit)).body).toMatchObject({
      object_attributes: { noteable_type: 'Commit', commit_id: sha, noteable_id: null },
      commit: { id: sha },
    })
    await t.api('put', `${project.path}/issues/${issue.iid}`, creator).send({ title: 'Noted by the system' }).expect(200)
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(5)
  })
})

describe('a deployment (CI-289)', () => {
  it('is sent when it begins and when it ends', async () => {
    const { creator, project, path } = await hooked({ push_events: false, deployment_events: true })
    const sha = await gitHead(project, creator)
    const { body: deployment } = await t
      .api('post', `${project.path}/deployments`, creator)
      .send({ environment: 'review/1', sha, ref: 'main', status: 'running' })
      .expect(201)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Deployment Hook')
    expect(body).toMatchObject({
      object_kind: 'deployment',
      status: 'running',
      status_changed_at: expect.stringMatching(STAMP),
      deployment_id: deployment.id,
      deployable_id: null,
      environment: 'review/1',
      environment_tier: 'development',
      project: { id: project.id },
      ref: 'main',
      short_sha: sha.slice(0, 8),
      user: { id: creator.id },
      commit_url: expect.stringContaining(`/-/commit/${sha}`),
    })
    await t.api('put', `${project.path}/deployments/${deployment.id}`, creator).send({ status: 'failed' }).expect(200)
    expect((await r.next(path, (got) => got.body.status === 'failed')).body).toMatchObject({ deployment_id: deployment.id })
  })
})

describe('a feature flag (FF-13)', () => {
  it('is sent when it is switched, and not when it is only described', async () => {
    const { creator, project, path } = await hooked({ push_events: false, feature_flag_events: true })
    const put = (given: object) => t.api('put', `${project.path}/feature_flags/one`, creator).send(given).expect(200)
    await t.api('post', `${project.path}/feature_flags`, creator).send({ name: 'one' }).expect(201)
    await put({ description: 'Said' })
    await put({ active: false })
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Feature Flag Hook')
    expect(body).toMatchObject({
      object_kind: 'feature_flag',
      project: { id: project.id },
      user: { id: creator.id },
      object_attributes: { name: 'one', description: 'Said', active: false },
    })
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(1)
  })
})

describe('a pipeline (HK-20)', () => {
  it('is sent for every change of its status', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    const sha = await gitHead(project, creator)
    const post = (state: string) => t.api('post', `${project.path}/statuses/${sha}`, creator).send({ state, name: 'build', ref: 'main' }).expect(201)
    await post('running')
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Pipeline Hook')
    expect(body).toMatchObject({
      object_kind: 'pipeline',
      object_attributes: {
        id: expect.any(Number),
        iid: 1,
        ref: 'main',
        tag: false,
        sha,
        before_sha: ZERO,
        source: 'external',
        status: 'running',
        detailed_status: 'running',
        stages: ['external'],
        created_at: expect.stringMatching(STAMP),
        finished_at: null,
        duration: null,
        variables: [],
        url: expect.stringContaining(`/${project.fullPath}/pipelines/`),
      },
      merge_request: null,
      user: person(creator),
      project: { id: project.id },
      commit: { id: sha },
      builds: [
        {
          name: 'build',
          stage: 'external',
          status: 'running',
          when: 'on_success',
          manual: false,
          allow_failure: false,
          user: person(creator),
          runner: null,
        },
      ],
    })
    await post('success')
    const { body: done } = await r.next(path, (got) => got.body.object_attributes.status === 'success')
    expect(done.object_attributes).toMatchObject({ finished_at: expect.stringMatching(STAMP), duration: expect.any(Number) })
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(2)
  })
})

describe('a pipeline of a merge request (CI-214)', () => {
  it('is sent with the merge request, and the source branch as its ref', async () => {
    const { creator, project, path } = await hooked({ push_events: false })
    await aCommit(t.ctx, project, { '.gitlab-ci.yml': 'job: { script: x, only: [merge_requests] }' }, { branch: 'topic', start_branch: 'main' })
    const sent = { title: 'T', source_branch: 'topic', target_branch: 'main' }
    const { body: request } = await t.api('post', `${project.path}/merge_requests`, creator).send(sent).expect(201)
    await t.ctx.jobs.drain()
    const { body } = await r.next(path, (got) => got.body.object_kind === 'pipeline' && got.body.object_attributes.status === 'pending')
    expect(body).toMatchObject({
      object_attributes: { source: 'merge_request_event', ref: 'topic', sha: request.sha },
      merge_request: { id: request.id, iid: request.iid, title: 'T', source_branch: 'topic', target_branch: 'main', target_project_id: project.id },
    })
  })
})

describe('a job (CI-246)', () => {
  it('is sent when it is made and whenever its state changes, and stands in its pipeline (HK-20)', async () => {
    const { creator, project, path, hook } = await hooked({ push_events: false, job_events: true })
    const sha = await aCommit(t.ctx, project, { '.gitlab-ci.yml': 'job: { stage: build, script: x, artifacts: { paths: [a] } }' })
    await t.ctx.jobs.drain()
    const jobs = () => r.at(path).filter(({ body }) => body.object_kind === 'build')
    // both are sent at once, and one may overtake the other
    expect(
      jobs()
        .map(({ body }) => body.build_status)
        .sort(),
    ).toEqual(['created', 'pending'])
    const runner = await ScriptedRunner.make(t.ctx, t.url, { kind: 'project_type', project_id: project.id }, { tags: ['x'], description: 'mine' })
    const job = await runner.takeNamed('job')
    await runner.upload(job, Buffer.from('a'), '?artifact_type=archive&artifact_format=zip')
    await runner.end(job, 'failed', { failure_reason: 'script_failure' })
    const { body, headers } = await r.next(path, (got) => got.body.build_status === 'failed')
    expect(headers['x-gitlab-event']).toBe('Job Hook')
    const mine = { id: runner.id, description: 'mine', runner_type: 'project_type', active: true, is_shared: false, tags: ['x'] }
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
    expect(body).toEqual({
      object_kind: 'build',
      ref: 'main',
      tag: false,
      before_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      sha,
      build_id: job.id,
      build_name: 'job',
      build_stage: 'build',
      build_status: 'failed',
      build_created_at: at,
      build_started_at: at,
      build_finished_at: at,
      build_duration: expect.any(Number),
      build_queued_duration: expect.any(Number),
      build_allow_failure: false,
      build_failure_reason: 'script_failure',
      pipeline_id: expect.any(Number),
      runner: mine,
      project_id: project.id,
      project_name: `${creator.username} / ${project.fullPath.split('/')[1]}`,
      user: person(creator),
      commit: {
        id: body.pipeline_id,
        sha,
        message: expect.any(String),
        author_name: creator.name,
        author_email: creator.email,
        author_url: `http://roost.test/${creator.username}`,
        status: 'failed',
        duration: expect.any(Number),
        started_at: at,
        finished_at: at,
      },
      repository: {
        name: project.fullPath.split('/')[1],
        url: `git@roost.test:${project.fullPath}.git`,
        description: null,
        homepage: `http://roost.test/${project.fullPath}`,
        git_http_url: `http://roost.test/${project.fullPath}.git`,
        git_ssh_url: `git@roost.test:${project.fullPath}.git`,
        visibility_level: 0,
      },
      environment: null,
    })
    const { body: ended } = await r.next(path, (got) => got.body.object_kind === 'pipeline' && got.body.object_attributes.status === 'failed')
    expect(ended.object_attributes).toMatchObject({ stages: ['build'], source: 'push', before_sha: body.before_sha })
    expect(ended.builds).toMatchObject([
      {
        id: job.id,
        stage: 'build',
        name: 'job',
        status: 'failed',
        manual: false,
        runner: mine,
        artifacts_file: { filename: 'artifacts.zip', size: 1 },
      },
    ])
    await t.api('post', `${project.path}/hooks/${hook.id}/test/job_events`, creator).expect(201)
    expect(jobs().at(-1)?.body).toMatchObject({ object_kind: 'build', build_id: job.id })
  })

  it('is no status that another server has reported', async () => {
    const { creator, project, path } = await hooked({ push_events: false, job_events: true, pipeline_events: false })
    const sha = await gitHead(project, creator)
    await t.api('post', `${project.path}/statuses/${sha}`, creator).send({ state: 'running', name: 'build', ref: 'main' }).expect(201)
    await t.ctx.jobs.drain()
    expect(r.at(path)).toEqual([])
  })
})

describe('a wiki page (HK-21)', () => {
  it('is sent for its creation, change and deletion, by API and over Git', async () => {
    const { creator, project, path } = await hooked()
    await t.api('post', `${project.path}/wikis`, creator).send({ title: 'Start here', content: 'Hello' }).expect(201)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Wiki Page Hook')
    expect(body).toMatchObject({
      object_kind: 'wiki_page',
      user: person(creator),
      project: { id: project.id },
      wiki: {
        web_url: `http://roost.test/${project.fullPath}/wikis/home`,
        git_ssh_url: `git@roost.test:${project.fullPath}.wiki.git`,
        git_http_url: `http://roost.test/${project.fullPath}.wiki.git`,
        path_with_namespace: `${project.fullPath}.wiki`,
        default_branch: 'main',
      },
      object_attributes: {
        slug: 'Start-here',
        title: 'Start here',
        format: 'markdown',
        message: expect.stringContaining('created page'),
        content: 'Hello',
        url: `http://roost.test/${project.fullPath}/wikis/Start-here`,
        version_id: expect.stringMatching(/^[0-9a-f]{40}$/),
        action: 'create',
      },
    })
    await t.api('put', `${project.path}/wikis/Start-here`, creator).send({ content: 'Hello again' }).expect(200)
    await r.next(path, (got) => got.body.object_attributes.action === 'update' && got.body.object_attributes.content === 'Hello again')
    const work = await client.cloned(client.url(`${project.fullPath}.wiki`, creator))
    await commitIn(work, 'by-git.md', 'Pushed')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD')
    const { body: pushed } = await r.next(path, (got) => got.body.object_attributes.slug === 'by-git')
    expect(pushed).toMatchObject({ user: person(creator), object_attributes: { action: 'create', content: 'Pushed' } })
    await t.api('delete', `${project.path}/wikis/Start-here`, creator).expect(204)
    const { body: gone } = await r.next(path, (got) => got.body.object_attributes.action === 'delete')
    expect(gone.object_attributes).toMatchObject({ slug: 'Start-here', content: 'Hello again' })
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(4)
  })
})

describe('a release (HK-22)', () => {
  it('is sent for its creation, change and deletion', async () => {
    const { creator, project, path } = await hooked({ push_events: false, tag_push_events: false })
    const releases = `${project.path}/releases`
    const links = [{ name: 'binary', url: 'https://example.com/binary' }]
    await t.api('post', releases, creator).send({ tag_name: 'v1', ref: 'main', name: 'One', description: 'First', assets: { links } }).expect(201)
    const sha = await gitHead(project, creator)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Release Hook')
    expect(body).toMatchObject({
      object_kind: 'release',
      id: expect.any(Number),
      name: 'One',
      tag: 'v1',
      description: 'First',
      created_at: expect.stringMatching(STAMP),
      released_at: expect.stringMatching(STAMP),
      url: `http://roost.test/${project.fullPath}/-/releases/v1`,
      action: 'create',
      project: { id: project.id },
      commit: { id: sha },
      assets: { count: 5, links: [{ name: 'binary' }] },
    })
    await t.api('put', `${releases}/v1`, creator).send({ description: 'Better' }).expect(200)
    await r.next(path, (got) => got.body.action === 'update' && got.body.description === 'Better')
    await t.api('delete', `${releases}/v1`, creator).expect(200)
    await r.next(path, (got) => got.body.action === 'delete' && got.body.tag === 'v1')
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(3)
  })
})

describe('hooks of a group (HK-24)', () => {
  it('receive the events of all projects of the group and its subgroups, and of the subgroups themselves', async () => {
    const creator = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator })
    const path = `/hook${++counter}`
    await t
      .api('post', `/groups/${group.id}/hooks`, creator)
      .send({ url: r.url + path, issues_events: true, subgroup_events: true })
      .expect(201)
    const { body: sub } = await t
      .api('post', '/groups', creator)
      .send({ name: 'Sub', path: `sub${counter}`, parent_id: group.id })
      .expect(201)
    const { body, headers } = await r.next(path)
    expect(headers['x-gitlab-event']).toBe('Subgroup Hook')
    expect(body).toMatchObject({
      event_name: 'subgroup_create',
      name: 'Sub',
      path: sub.path,
      full_path: sub.full_path,
      group_id: sub.id,
      parent_group_id: group.id,
      parent_full_path: group.fullPath,
    })
    const project = await aProject(t.ctx, { creator, namespace_id: sub.id, files: { 'a.txt': 'a\n' } })
    await r.next(path, (got) => got.body.object_kind === 'push')
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'Below' }).expect(201)
    await r.next(path, (got) => got.body.object_kind === 'issue')
    const other = await aProject(t.ctx, { creator, files: { 'a.txt': 'a\n' } })
    await t.api('post', `${other.path}/issues`, creator).send({ title: 'Elsewhere' }).expect(201)
    await t.ctx.jobs.drain()
    expect(r.at(path)).toHaveLength(3)
  })
})

describe('hooks of the system (HK-23)', () => {
  it('receive the events of users, keys, groups, projects and members, and those that their flags say', async () => {
    const admin = await anAdmin(t.ctx)
    const path = `/hook${++counter}`
    const { body: hook } = await t
      .api('post', '/hooks', admin)
      .send({ url: r.url + path, push_events: true, tag_push_events: true, merge_requests_events: true })
      .expect(201)
    const next = async (event: string) => {
      const { body, headers } = await r.next(path, (got) => (got.body.event_name ?? got.body.object_kind) === event)
      expect(headers['x-gitlab-event']).toBe('System Hook')
      return body
    }
    const owner = await aUser(t.ctx)
    expect(await next('user_create')).toMatchObject({
      created_at: expect.stringMatching(STAMP),
      updated_at: expect.stringMatching(STAMP),
      ...{ name: owner.name, email: owner.email, user_id: owner.id, username: owner.username },
    })
    const member = await aUser(t.ctx)
    await t
      .api('put', `/users/${member.id}`, admin)
      .send({ username: `${member.username}x` })
      .expect(200)
    expect(await next('user_rename')).toMatchObject({ username: `${member.username}x`, old_username: member.username, user_id: member.id })

    const { body: group } = await t
      .api('post', '/groups', owner)
      .send({ name: 'G', path: `g${counter}` })
      .expect(201)
    expect(await next('group_create')).toMatchObject({ name: 'G', path: group.path, full_path: group.full_path, group_id: group.id })
    await t
      .api('put', `/groups/${group.id}`, owner)
      .send({ path: `gg${counter}` })
      .expect(200)
    expect(await next('group_rename')).toMatchObject({ full_path: `gg${counter}`, old_path: group.path, old_full_path: group.path })
    await t.api('post', `/groups/${group.id}/members`, owner).send({ user_id: member.id, access_level: 30 }).expect(201)
    expect(await r.next(path, (got) => got.body.event_name === 'user_add_to_group' && got.body.user_id === member.id)).toMatchObject({
      body: { group_name: 'G', group_path: `gg${counter}`, group_id: group.id, user_email: member.email, group_access: 'Developer' },
    })
    await t.api('put', `/groups/${group.id}/members/${member.id}`, owner).send({ access_level: 20 }).expect(200)
    expect(await next('user_update_for_group')).toMatchObject({ group_access: 'Reporter' })
    await t.api('delete', `/groups/${group.id}/members/${member.id}`, owner).expect(204)
    await next('user_remove_from_group')

    const project = await aProject(t.ctx, { creator: owner, files: { 'a.txt': 'a\n' } })
    const name = project.fullPath.split('/')[1]
    expect(await next('project_create')).toMatchObject({
      ...{ name, path: name, path_with_namespace: project.fullPath, project_id: project.id },
      ...{ owner_name: owner.name, owner_email: owner.email, project_visibility: 'private' },
    })
    expect(await next('push')).toMatchObject({ object_kind: 'push', project_id: project.id })
    expect(await next('repository_update')).toMatchObject({
      ...{ user_id: owner.id, project_id: project.id, refs: ['refs/heads/main'] },
      changes: [{ before: ZERO, ref: 'refs/heads/main' }],
    })
    await aMergeRequest(t, { project })
    await next('merge_request')
    await t.api('post', `${project.path}/members`, owner).send({ user_id: member.id, access_level: 40 }).expect(201)
    expect(await r.next(path, (got) => got.body.event_name === 'user_add_to_team' && got.body.user_id === member.id)).toMatchObject({
      body: { project_name: name, project_path_with_namespace: project.fullPath, access_level: 'Maintainer', project_visibility: 'private' },
    })
    await t.api('put', `${project.path}/members/${member.id}`, owner).send({ access_level: 30 }).expect(200)
    await next('user_update_for_team')
    await t.api('delete', `${project.path}/members/${member.id}`, owner).expect(204)
    await next('user_remove_from_team')
    await t.api('put', project.path, owner).send({ description: 'Changed' }).expect(200)
    await next('project_update')
    await t
      .api('put', project.path, owner)
      .send({ path: `${name}-renamed` })
      .expect(200)
    expect(await next('project_rename')).toMatchObject({ old_path_with_namespace: project.fullPath, path: `${name}-renamed` })
    await t.api('put', `${project.path}/transfer`, owner).send({ namespace: group.id }).expect(200)
    expect(await next('project_transfer')).toMatchObject({
      path_with_namespace: `gg${counter}/${name}-renamed`,
      old_path_with_namespace: `${owner.username}/${name}-renamed`,
    })
    await t.api('delete', `${project.path}?permanently_remove=true`, owner).expect(202)
    expect(await next('project_destroy')).toMatchObject({ path_with_namespace: `gg${counter}/${name}-renamed`, project_id: project.id })
    await t.api('delete', `/groups/${group.id}?permanently_remove=true`, owner)
    expect(await next('group_destroy')).toMatchObject({ group_id: group.id, full_path: `gg${counter}` })

    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILZ5JMXwTRM61tsqXcJGkbgmbXFkVSMmO6QQHH1qCtgl'
    const { body: added } = await t.api('post', '/user/keys', owner).send({ title: 'k', key }).expect(201)
    expect(await next('key_create')).toMatchObject({ username: owner.username, key, id: added.id })
    await t.api('delete', `/user/keys/${added.id}`, owner).expect(204)
    await next('key_destroy')
    await t.app.inject({ method: 'POST', url: '/oauth/token', payload: { grant_type: 'password', username: owner.username, password: 'wrong' } })
    expect(await next('user_failed_login')).toMatchObject({ username: owner.username, user_id: owner.id })
    await t.api('delete', `/users/${member.id}`, admin).expect(204)
    expect(await next('user_destroy')).toMatchObject({ user_id: member.id, email: member.email })
    expect(JSON.stringify(r.at(path))).not.toContain('argon2')
    await t.api('delete', `/hooks/${hook.id}`, admin).expect(204)
  })
})

describe('the test endpoint (HK-5)', () => {
  it('delivers a sample of each trigger, and names missing parameters', async () => {
    const { creator, project, path, hook } = await hooked()
    const test = (trigger: string) => t.api('post', `${project.path}/hooks/${hook.id}/test/${trigger}`, creator)
    const first = await test('push_events').expect(201)
    expect(first.body).toEqual({ message: '201 Created' })
    expect(r.at(path)).toMatchObject([{ headers: { 'x-gitlab-event': 'Push Hook' }, body: { object_kind: 'push', ref: 'refs/heads/main' } }])
    for (const trigger of [
      'tag_push',
      'issues',
      'confidential_issues',
      'merge_requests',
      'note',
      'pipeline',
      'wiki_page',
      'releases',
      'deployment',
      'feature_flag',
    ])
      expect((await test(`${trigger}_events`).expect(422)).body.message, trigger).toMatch(/^Ensure the /)
    await test('odd_events').expect(400)

    const request = await aMergeRequest(t, { project })
    const sha = await gitHead(project, creator)
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'One' }).expect(201)
    await t.api('post', `${project.path}/issues`, creator).send({ title: 'Two', confidential: true }).expect(201)
    await t.api('post', `${request.path}/notes`, creator).send({ body: 'Said' }).expect(201)
    await t.api('post', `${project.path}/statuses/${sha}`, creator).send({ state: 'success' }).expect(201)
    await t.api('post', `${project.path}/wikis`, creator).send({ title: 'Home', content: 'Hello' }).expect(201)
    await t.api('post', `${project.path}/releases`, creator).send({ tag_name: 'v1', ref: 'main', description: 'First' }).expect(201)
    await t.api('post', `${project.path}/deployments`, creator).send({ environment: 'live', sha, ref: 'main', status: 'success' }).expect(201)
    await t.api('post', `${project.path}/feature_flags`, creator).send({ name: 'one' }).expect(201)
    await t.ctx.jobs.drain()
    const events: Record<string, string> = {
      tag_push: 'Tag Push Hook',
      issues: 'Issue Hook',
      confidential_issues: 'Confidential Issue Hook',
      merge_requests: 'Merge Request Hook',
      note: 'Note Hook',
      pipeline: 'Pipeline Hook',
      wiki_page: 'Wiki Page Hook',
      releases: 'Release Hook',
      deployment: 'Deployment Hook',
      feature_flag: 'Feature Flag Hook',
    }
    for (const [trigger, event] of Object.entries(events)) {
      await test(`${trigger}_events`).expect(201)
      expect(r.at(path).at(-1)?.headers['x-gitlab-event']).toBe(event)
    }
  })

  it('answers 422 if the sample cannot be delivered', async () => {
    const { creator, project, path, hook } = await hooked()
    r.reply(path, { hangUp: true })
    const { body } = await t.api('post', `${project.path}/hooks/${hook.id}/test/push_events`, creator).expect(422)
    expect(body).toEqual({ message: 'The connection was closed without an answer' })
  })
})
