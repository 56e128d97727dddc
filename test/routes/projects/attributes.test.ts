import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { pipelines } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aCommit, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, showRequest, type TestRequest } from '../../support/merge-requests.js'
import { bareOf } from '../../support/repositories.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'Roost <roost@example.org>' })

const put = ({ path, creator }: TestProject, sent: object) => t.api('put', path, creator).send(sent)
const set = (project: TestProject, sent: object) => put(project, sent).expect(200)
const show = async ({ path, creator }: TestProject) => (await t.api('get', path, creator).expect(200)).body
const accept = ({ path, project }: TestRequest, sent: object = {}) => t.api('put', `${path}/merge`, project.creator).send(sent)

const CHANGED = {
  remove_source_branch_after_merge: true,
  allow_merge_on_skipped_pipeline: false,
  autoclose_referenced_issues: false,
  forking_access_level: 'private',
  merge_commit_template: 'Merge %{source_branch}',
  squash_commit_template: '%{title}',
  issue_branch_template: '%{id}-%{title}',
  suggestion_commit_message: 'Apply suggestions',
  emails_disabled: true,
}

describe('attributes of projects', () => {
  it('are shown as created and as updated, and copied to forks (PR-40 to PR-46)', async () => {
    const creator = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator })
    expect(await show(project)).toMatchObject({
      remove_source_branch_after_merge: false,
      allow_merge_on_skipped_pipeline: true,
      autoclose_referenced_issues: true,
      forking_access_level: 'enabled',
      merge_commit_template: null,
      squash_commit_template: null,
      issue_branch_template: null,
      suggestion_commit_message: null,
      emails_disabled: false,
    })
    expect((await set(project, CHANGED)).body).toMatchObject(CHANGED)
    expect((await set(project, { description: 'x' })).body).toMatchObject(CHANGED)
    expect(await show(await aProject(t.ctx, { creator, ...(CHANGED as object) }))).toMatchObject(CHANGED)
    const { body: fork } = await t.api('post', `${project.path}/fork`, creator).send({ path: 'fork', name: 'fork' }).expect(201)
    expect(fork).toMatchObject({ ...CHANGED, emails_disabled: false })
  })

  it('refuses unknown placeholders by name, and long templates (PR-44)', async () => {
    const project = await aProject(t.ctx)
    await put(project, { merge_commit_template: '%{title} %{nothing}' }).expect(400, {
      message: { merge_commit_template: ['has an unknown placeholder %{nothing}'] },
    })
    await put(project, { squash_commit_template: 'x'.repeat(501) }).expect(400, {
      message: { squash_commit_template: ['is too long (maximum is 500 characters)'] },
    })
  })

  it('forking_access_level decides who may fork (PR-43)', async () => {
    const [member, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { visibility: 'public', developer: member, files: { a: 'a' } })
    const fork = async (who: typeof member) => (await t.api('post', `${project.path}/fork`, who).send({})).status
    await set(project, { forking_access_level: 'disabled' })
    expect([await fork(member), await fork(stranger)]).toEqual([403, 403])
    await set(project, { forking_access_level: 'private' })
    expect([await fork(member), await fork(stranger)]).toEqual([201, 403])
    await set(project, { forking_access_level: 'enabled' })
    expect(await fork(stranger)).toBe(201)
  })

  it('new merge requests remove their source branch unless they say otherwise (PR-40)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await set(project, { remove_source_branch_after_merge: true })
    const [one, other] = [await aMergeRequest(t, { project }), await aMergeRequest(t, { project, sent: { remove_source_branch: false } })]
    expect(await showRequest(t, one)).toMatchObject({ force_remove_source_branch: true })
    expect(await showRequest(t, other)).toMatchObject({ force_remove_source_branch: false })
    await accept(one).expect(200)
    await t.ctx.jobs.drain()
    await t.api('get', `${project.path}/repository/branches/${one.source}`, project.creator).expect(404)
  })

  it('a skipped pipeline counts as one that succeeded, unless the project says otherwise (PR-41)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await set(project, { only_allow_merge_if_pipeline_succeeds: true, allow_merge_on_skipped_pipeline: false })
    const request = await aMergeRequest(t, { project })
    const { sha } = await showRequest(t, request)
    await t.api('post', `${project.path}/statuses/${sha}`, project.creator).send({ state: 'success', ref: request.source }).expect(201)
    await t.ctx.db.write.update(pipelines).set({ status: 'skipped' }).where(eq(pipelines.project_id, project.id))
    expect(await showRequest(t, request)).toMatchObject({ detailed_merge_status: 'ci_must_pass' })
    await accept(request).expect(405)
    await set(project, { allow_merge_on_skipped_pipeline: true })
    expect(await showRequest(t, request)).toMatchObject({ detailed_merge_status: 'mergeable' })
    await accept(request).expect(200)
  })

  it('neither commits nor merge requests close issues where autoclose_referenced_issues is off (PR-42)', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const issue = async () => (await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x' }).expect(201)).body.iid as number
    const state = async (iid: number) => (await t.api('get', `${project.path}/issues/${iid}`, project.creator).expect(200)).body.state
    const [byCommit, byRequest] = [await issue(), await issue()]
    await set(project, { autoclose_referenced_issues: false })
    await aCommit(t.ctx, project, { b: 'b' }, { message: `Closes #${byCommit}` })
    const request = await aMergeRequest(t, { project, sent: { description: `Closes #${byRequest}` } })
    const closing = async () => [
      (await t.api('get', `${request.path}/closes_issues`, project.creator).expect(200)).body.length,
      (await t.api('get', `${project.path}/issues/${byRequest}/closed_by`, project.creator).expect(200)).body.length,
    ]
    expect(await closing()).toEqual([0, 0])
    await set(project, { autoclose_referenced_issues: true })
    expect(await closing()).toEqual([1, 1])
    await set(project, { autoclose_referenced_issues: false })
    await accept(request).expect(200)
    await t.ctx.jobs.drain()
    expect([await state(byCommit), await state(byRequest)]).toEqual(['opened', 'opened'])
    expect(bareOf(t, project).git('log', '-1', '--format=%B', 'main')).not.toContain('Closes')
  })

  it('pages are kept and shown, and packages are on (PR-61, PK-3)', async () => {
    const project = await aProject(t.ctx)
    expect(await show(project)).toMatchObject({ packages_enabled: true, pages_access_level: 'disabled' })
    const given = { packages_enabled: false, pages_access_level: 'public' }
    expect((await set(project, given)).body).toMatchObject(given)
    await put(project, { pages_access_level: 'none' }).expect(400)
  })

  it('no mail is sent about a project with emails_disabled (PR-45)', async () => {
    const reader = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: reader })
    const issue = () => t.api('post', `${project.path}/issues`, project.creator).send({ title: 'x', assignee_ids: [reader.id] })
    await issue().expect(201)
    expect(await box.to(reader.email)).toHaveLength(1)
    await set(project, { emails_disabled: true })
    await issue().expect(201)
    expect(await box.to(reader.email)).toEqual([])
  })
})

describe('templates of commit messages (PR-44)', () => {
  const messageOf = (project: TestProject, commit: string) => bareOf(t, project).git('log', '-1', '--format=%B', commit).trim()

  it('fill what they name, and leave out lines that have nothing', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await set(project, {
      merge_commit_template:
        'Merge %{source_branch} into %{target_branch}\n\n%{issues}\n\n%{title} (%{first_commit})\n\n%{all_commits}\n\nMerged-by: %{merged_by}\nSee %{reference} %{url}',
      squash_commit_template: '%{title}\n\n%{description}\n%{co_authored_by}',
    })
    const source = 'topic'
    await aCommit(t.ctx, project, { b: 'b' }, { branch: source, start_branch: 'main', message: 'First' })
    await aCommit(t.ctx, project, { c: 'c' }, { branch: source, message: 'Second' })
    const request = await aMergeRequest(t, { project, source, files: null, title: 'A title', sent: { description: 'Why', squash: true } })
    await accept(request).expect(200)
    const at = `${project.fullPath}!${request.iid}`
    const by = `${project.creator.name} <${project.creator.email}>`
    const [merge, squash] = [messageOf(project, 'main'), messageOf(project, 'main^2')]
    expect(merge).toBe(
      [
        `Merge ${request.source} into main`,
        'A title (First)',
        '* First\n\n* Second',
        `Merged-by: ${by}\nSee ${at} ${t.ctx.links.project(project.fullPath)}/-/merge_requests/${request.iid}`,
      ].join('\n\n'),
    )
    expect(squash).toBe('A title\n\nWhy')
  })

  it('name who has approved, and the reviewer who has approved or commented, with no address that is not public', async () => {
    const [ann, ben, cid] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { files: { a: 'a' }, developer: [ann, ben, cid] })
    await set(project, { merge_commit_template: '%{title}\n\n%{reviewed_by}\n%{approved_by}' })
    await t
      .api('put', `/users/${ben.id}`, await anAdmin(t.ctx))
      .send({ public_email: ben.email })
      .expect(200)
    const merged = async (reviewer: TestUser, act: (path: string) => Promise<unknown>) => {
      const request = await aMergeRequest(t, { project, title: 'A title', sent: { reviewer_ids: [reviewer.id] } })
      await act(request.path)
      await accept(request).expect(200)
      return messageOf(project, 'main')
    }
    const approve = (path: string, who: TestUser) => t.api('post', `${path}/approve`, who).expect(201)
    const [asAnn, asBen] = [`${ann.name} (@${ann.username})`, `${ben.name} <${ben.email}>`]
    expect(
      await merged(ben, async (path) => {
        await approve(path, ben)
        await approve(path, ann)
      }),
    ).toBe(`A title\n\nReviewed-by: ${asBen}\nApproved-by: ${asBen}\nApproved-by: ${asAnn}`)
    const comment = (path: string) => t.api('post', `${path}/notes`, ann).send({ body: 'Well' }).expect(201)
    expect(await merged(ann, comment)).toBe(`A title\n\nReviewed-by: ${asAnn}`)
    expect(await merged(cid, async () => undefined)).toBe('A title')
  })

  it('a message of the caller comes first', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    await set(project, { merge_commit_template: 'From the template' })
    await accept(await aMergeRequest(t, { project }), { merge_commit_message: 'From the caller' }).expect(200)
    expect(messageOf(project, 'main')).toBe('From the caller')
  })
})
