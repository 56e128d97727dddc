import { z } from 'zod'
import { type MergeRequestSubject, onMergeRequest } from '../../../access/merge-requests.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import { detailedStatus } from '../../../entities/issuables/merge-request.js'
import { invalidRecord } from '../../../failures.js'
import { bool, oneOf, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { acceptMergeRequest } from '../../../services/issuables/merge-requests/merging/accept.js'
import { startRebase } from '../../../services/issuables/merge-requests/merging/rebase.js'
import { changesOfRequest, hasTruncatedChanges, listRequestCommits } from '../../../services/issuables/merge-requests/reading/contents.js'
import { listMergeRequests } from '../../../services/issuables/merge-requests/reading/list.js'
import { completeMergeRequest } from '../../../services/issuables/merge-requests/reading/load.js'
import { approve, loadApprovals, unapprove } from '../../../services/issuables/merge-requests/writing/approvals.js'
import { updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { resolveDiscussion } from '../../../services/notes/discussions.js'
import { listDiscussions } from '../../../services/notes/list.js'
import { aboutMergeRequest } from '../../../services/notes/noteables.js'
import { createMergeRequestWithCommands } from '../../../services/quick-actions/descriptions.js'
import { branchExists } from '../../../services/repository/branches.js'
import { PipelineBadge, shortId } from '../../components/code.js'
import { DiffFiles } from '../../components/diff.js'
import { Discussions } from '../../components/discussion.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { Time } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { CommitText } from '../code/commits.js'
import { noteForms } from './notes.js'
import { Labels, ListHead, PersonLink } from './parts.js'
import { renderNotes, renderText } from './texts.js'

const PER_PAGE = 20
const NOTES_PER_PAGE = 100
const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-/merge_requests`
const addressOf = (subject: MergeRequestSubject) => `${within(subject)}/${subject.request.iid}`

const STATES = {
  opened: ['Open', 'success'],
  closed: ['Closed', 'danger'],
  merged: ['Merged', 'merged'],
  locked: ['Merging', 'waiting'],
} as const

export const mergeRequestsPage = page({
  at: 'P/-/merge_requests',
  access: onProjectSignedIn('read_merge_request'),
  input: z.object({ state: orDefault(oneOf(['opened', 'merged', 'closed', 'all']), 'opened'), search: opt(searchText()), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { state, search, page: number } = input
    const { items, total } = await listMergeRequests(
      ctx,
      caller,
      { project: subject },
      { state, search, scope: 'all', in: ['title', 'description'], order_by: 'created_at', sort: 'desc', page: number, per_page: PER_PAGE },
    )
    const links = projectLinks(view, fullPathOf(subject.project))
    return {
      title: `Merge requests · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests" heading="Merge requests">
          <div class="toolbar">
            {subject.can('create_merge_request') && (
              <a class="button last" href={links.page('merge_requests/new')}>
                New merge request
              </a>
            )}
          </div>
          <ListHead at={links.page('merge_requests')} states={['opened', 'merged', 'closed', 'all']} state={state} search={search} />
          <Rows empty="There are no such merge requests.">
            {items.map(({ request, author, reviewer, labels }) => (
              <Row key={request.id} actions={<Badge kind={STATES[request.state][1]}>{STATES[request.state][0]}</Badge>}>
                <span>
                  <a href={links.page(`merge_requests/${request.iid}`)} class="title">
                    {request.title}
                  </a>{' '}
                  <Labels labels={labels} />
                </span>
                <span class="dim">
                  !{request.iid} · {author.name}, <Time at={request.created_at} /> · {request.source_branch} → {request.target_branch}
                  {reviewer && ` · reviewed by ${reviewer.name}`}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

const Head = ({ view, subject, tab }: { view: PageView; subject: MergeRequestSubject; tab: '' | '/commits' | '/diffs' }) => {
  const { request } = subject
  const at = view.links.prefix + addressOf(subject)
  return (
    <>
      <h1>
        {request.title} <span class="dim">!{request.iid}</span>
      </h1>
      <p class="dim">
        <Badge kind={STATES[request.state][1]}>{STATES[request.state][0]}</Badge> <code>{request.source_branch}</code> →{' '}
        <code>{request.target_branch}</code>
      </p>
      <nav class="tabs" aria-label="Merge request">
        {(
          [
            ['', 'Overview'],
            ['/commits', 'Commits'],
            ['/diffs', `Changes ${request.changes_count}`],
          ] as const
        ).map(([name, label]) => (
          <a key={name} href={at + name} {...(name === tab && { 'aria-current': 'page' })}>
            {label}
          </a>
        ))}
      </nav>
    </>
  )
}

/** What stands in the way of a merge, and what to do about it. */
const REASONS: Record<string, string> = {
  mergeable: 'This can be merged.',
  not_open: 'This is not open.',
  draft_status: 'This is a draft. Mark it as ready to merge it.',
  conflict: 'There are conflicts. Merge the target branch into the source branch, resolve them, and push.',
  need_rebase: 'The source branch is behind. Rebase it first.',
  discussions_not_resolved: 'There are unresolved threads.',
  ci_must_pass: 'A pipeline must pass first.',
  ci_still_running: 'The pipeline is still running.',
  unchecked: 'Whether this can be merged has not been checked yet. Reload in a moment.',
  checking: 'Whether this can be merged is being checked. Reload in a moment.',
}

const read = onMergeRequest('read_merge_request')

export const mergeRequestPage = page({
  at: 'P/-/merge_requests/:merge_request_iid',
  access: read,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { noteable } = aboutMergeRequest(subject)
    const [record, html, { items: discussions, total }, approvals] = await Promise.all([
      completeMergeRequest(ctx, caller, subject),
      renderText(ctx, caller, subject, subject.request.description),
      listDiscussions(ctx, caller, noteable, { page: input.page, per_page: NOTES_PER_PAGE }),
      loadApprovals(ctx, caller, subject),
    ])
    const { request, author, assignee, reviewer, milestone, can_merge, head_pipeline } = record
    const at = addressOf(subject)
    const status = detailedStatus(record)
    const isOpen = request.state === 'opened'
    const mayWrite = subject.may('create_note')
    const mayUpdate = subject.may('update_merge_request')
    return {
      title: `${request.title} (!${request.iid}) · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <Head view={view} subject={subject} tab="" />
          <div class="with-aside">
            <div>
              {html && (
                <section class="box">
                  <Prose html={html} />
                </section>
              )}
              {isOpen && (
                <section class="box">
                  <h2 class="head">{REASONS[status] ?? 'This cannot be merged yet.'}</h2>
                  <div class="note">
                    <FormFaults view={view} fields={['note']} />
                    {can_merge && status === 'mergeable' && (
                      <FormTag view={view} action={`${at}/merge`}>
                        <input type="hidden" name="sha" value={request.sha ?? ''} />
                        <details>
                          <summary>Merge message</summary>
                          <TextField
                            view={view}
                            name="commit_message"
                            label="Message"
                            rows={4}
                            hint="Empty: the title, and what the project's template says."
                          />
                        </details>
                        {record.rules.squash_option !== 'never' && (
                          <Checkbox view={view} name="squash" label="Squash the commits into one" checked={request.squash} />
                        )}
                        <Checkbox
                          view={view}
                          name="should_remove_source_branch"
                          label={`Delete the branch ${request.source_branch}`}
                          checked={request.force_remove_source_branch === true}
                        />
                        <Submit label="Merge" />
                      </FormTag>
                    )}
                    <div class="toolbar">
                      {status === 'need_rebase' && mayUpdate && <ActionButton view={view} action={`${at}/rebase`} label="Rebase" />}
                      {approvals.user_can_approve && !approvals.user_has_approved && (
                        <ActionButton view={view} action={`${at}/approve`} label="Approve" fields={{ sha: request.sha ?? '' }} />
                      )}
                      {approvals.user_has_approved && <ActionButton view={view} action={`${at}/unapprove`} label="Take back my approval" />}
                    </div>
                  </div>
                </section>
              )}
              <h2>Discussion</h2>
              <Discussions
                view={view}
                discussions={discussions}
                texts={await renderNotes(ctx, caller, subject, discussions)}
                replyTo={mayWrite ? (id) => `${at}/discussions/${id}/notes` : null}
                resolveAt={subject.may('resolve_thread') ? (id) => `${at}/discussions/${id}/resolve` : null}
              />
              <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
              {mayWrite && (
                <FormTag view={view} action={`${at}/notes`}>
                  <TextField
                    view={view}
                    name="note[note]"
                    label="Comment"
                    rows={5}
                    hint="Markdown; lines such as /approve or /assign me are carried out."
                    required
                  />
                  <Submit label="Comment" class="" />
                </FormTag>
              )}
              {mayUpdate && (isOpen || request.state === 'closed') && (
                <ActionButton
                  view={view}
                  action={at}
                  method="PUT"
                  label={isOpen ? 'Close merge request' : 'Reopen merge request'}
                  fields={{ 'merge_request[state_event]': isOpen ? 'close' : 'reopen' }}
                />
              )}
            </div>
            <aside>
              <h2>Author</h2>
              <p>
                <PersonLink view={view} user={author} />, <Time at={request.created_at} />
              </p>
              <h2>Assignee</h2>
              <p>
                <PersonLink view={view} user={assignee} />
              </p>
              <h2>Reviewer</h2>
              <p>
                <PersonLink view={view} user={reviewer} />
              </p>
              <h2>Approved by</h2>
              <p>{approvals.approvers.length > 0 ? approvals.approvers.map(({ name }) => name).join(', ') : <span class="dim">none</span>}</p>
              {head_pipeline && (
                <>
                  <h2>Pipeline</h2>
                  <p>
                    <PipelineBadge state={head_pipeline.status} />
                  </p>
                </>
              )}
              <h2>Labels</h2>
              <p>{record.labels.length > 0 ? <Labels labels={record.labels} /> : <span class="dim">none</span>}</p>
              <h2>Milestone</h2>
              <p>{milestone ? milestone.title : <span class="dim">none</span>}</p>
            </aside>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

export const requestCommitsPage = page({
  at: 'P/-/merge_requests/:merge_request_iid/commits',
  access: read,
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listRequestCommits(ctx, subject.project, subject.request, { page: input.page, per_page: NOTES_PER_PAGE })
    const users = await findUsersByAddress(
      ctx,
      items.map(({ author }) => author.email),
    )
    const links = projectLinks(view, fullPathOf(subject.project))
    return {
      title: `Commits of !${subject.request.iid} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <Head view={view} subject={subject} tab="/commits" />
          <Rows empty="There are no commits.">
            {items.map((commit) => (
              <Row
                key={commit.oid}
                actions={
                  <a href={links.commit(commit.oid)}>
                    <code>{shortId(commit.oid)}</code>
                  </a>
                }
              >
                <CommitText view={view} commit={commit} links={links} users={users} />
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={NOTES_PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const requestChangesPage = page({
  at: 'P/-/merge_requests/:merge_request_iid/diffs',
  access: read,
  input: z.object({ view: opt(oneOf(['inline', 'parallel'])) }),
  async show({ ctx, caller, subject, input, view }) {
    const [files, { version }] = await Promise.all([
      changesOfRequest(ctx, subject.project, subject.request),
      completeMergeRequest(ctx, caller, subject),
    ])
    const links = projectLinks(view, fullPathOf(subject.project))
    const at = view.links.prefix + addressOf(subject)
    const isParallel = input.view === 'parallel'
    return {
      title: `Changes of !${subject.request.iid} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <Head view={view} subject={subject} tab="/diffs" />
          <p class="toolbar end">
            {isParallel ? <a href={`${at}/diffs?view=inline`}>Unified</a> : <strong>Unified</strong>}
            {isParallel ? <strong>Side by side</strong> : <a href={`${at}/diffs?view=parallel`}>Side by side</a>}
          </p>
          <DiffFiles
            files={files}
            truncated={hasTruncatedChanges(subject.request)}
            links={links}
            from={version?.base_commit_sha ?? null}
            to={version?.head_commit_sha ?? subject.request.target_branch}
            parallel={isParallel}
            raw={`${at}.diff`}
          />
        </ProjectLayout>
      ),
    }
  },
})

export const requestNotes = noteForms({
  at: mergeRequestPage.at,
  access: onMergeRequest('create_note'),
  on: mergeRequestPage,
  about: aboutMergeRequest,
  addressOf,
})

export const requestState = form({
  at: 'P/-/merge_requests/:merge_request_iid',
  method: 'PUT',
  access: onMergeRequest('update_merge_request'),
  input: z.object({ merge_request: z.object({ state_event: oneOf(['close', 'reopen']) }) }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    await updateMergeRequest(ctx, caller, subject, input.merge_request)
    return new Redirect(addressOf(subject), {
      notice: input.merge_request.state_event === 'close' ? 'The merge request is closed.' : 'The merge request is open again.',
    })
  },
})

export const requestMerge = form({
  at: 'P/-/merge_requests/:merge_request_iid/merge',
  method: 'POST',
  access: onMergeRequest('accept_merge_request'),
  input: z.object({
    sha: orDefault(str(), ''),
    commit_message: orDefault(str(), ''),
    squash: orDefault(bool(), false),
    should_remove_source_branch: orDefault(bool(), false),
  }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    const { sha, commit_message, squash, should_remove_source_branch } = input
    await acceptMergeRequest(ctx, caller, subject, {
      sha: sha || undefined,
      merge_commit_message: commit_message.trim() || undefined,
      squash: subject.project.squash_option === 'never' ? undefined : squash,
      should_remove_source_branch,
    })
    return new Redirect(addressOf(subject), { notice: 'Merged.' })
  },
})

export const requestRebase = form({
  at: 'P/-/merge_requests/:merge_request_iid/rebase',
  method: 'POST',
  access: onMergeRequest('read_merge_request'),
  input: z.object({}),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    await startRebase(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: 'The rebase has begun. Reload in a moment.' })
  },
})

const approving = (name: 'approve' | 'unapprove', notice: string) =>
  form({
    at: `P/-/merge_requests/:merge_request_iid/${name}`,
    method: 'POST',
    access: onMergeRequest('approve_merge_request'),
    input: z.object({ sha: orDefault(str(), '') }),
    on: mergeRequestPage,
    async submit({ ctx, caller, subject, input }) {
      await (name === 'approve' ? approve(ctx, caller, subject, input.sha || undefined) : unapprove(ctx, caller, subject))
      return new Redirect(addressOf(subject), { notice })
    },
  })

export const requestApproval = approving('approve', 'You have approved this.')
export const requestUnapproval = approving('unapprove', 'Your approval is taken back.')

export const threadResolution = form({
  at: 'P/-/merge_requests/:merge_request_iid/discussions/:discussion_id/resolve',
  method: 'POST',
  access: onMergeRequest('resolve_thread'),
  input: z.object({ discussion_id: str(), resolved: orDefault(bool(), true) }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    await resolveDiscussion(ctx, caller, aboutMergeRequest(subject), { discussion: input.discussion_id, resolved: input.resolved })
    return new Redirect(`${addressOf(subject)}#discussion_${input.discussion_id}`)
  },
})

export const newMergeRequestPage = page({
  at: 'P/-/merge_requests/new',
  access: onProjectSignedIn('create_merge_request'),
  input: z.object({
    merge_request: z.object({ source_branch: opt(str()), target_branch: opt(str()), title: opt(str()), description: opt(str()) }).optional(),
  }),
  async show({ subject, input: { merge_request: given }, view }) {
    return {
      title: `New merge request · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <h1>New merge request</h1>
          <FormTag view={view} action={within(subject)}>
            <FormFaults view={view} fields={['title', 'description', 'source_branch', 'target_branch']} />
            <div class="columns">
              <Field view={view} name="merge_request[source_branch]" label="From the branch" value={given?.source_branch} required />
              <Field
                view={view}
                name="merge_request[target_branch]"
                label="Into the branch"
                value={given?.target_branch ?? subject.project.default_branch}
                required
              />
            </div>
            <Field
              view={view}
              name="merge_request[title]"
              label="Title"
              value={given?.title ?? given?.source_branch?.replace(/[-_/]+/g, ' ')}
              hint="“Draft: ” in front marks a draft."
              required
              autofocus
            />
            <TextField
              view={view}
              name="merge_request[description]"
              label="Description"
              value={given?.description}
              rows={8}
              hint="Markdown. “Closes #1” closes the issue with the merge."
            />
            <Checkbox view={view} name="merge_request[force_remove_source_branch]" label="Delete the source branch with the merge" />
            <Submit label="Create merge request" />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const newMergeRequestForm = form({
  at: 'P/-/merge_requests',
  method: 'POST',
  access: onProjectSignedIn('create_merge_request'),
  input: z.object({
    merge_request: z.object({
      source_branch: orDefault(str(), ''),
      target_branch: orDefault(str(), ''),
      title: orDefault(str(), ''),
      description: opt(str()),
      force_remove_source_branch: orDefault(bool(), false),
    }),
  }),
  on: newMergeRequestPage,
  async submit({ ctx, caller, subject, input: { merge_request } }) {
    const { force_remove_source_branch, ...given } = merge_request
    for (const name of ['source_branch', 'target_branch'] as const)
      if (!(await branchExists(ctx, subject, given[name]))) throw invalidRecord({ [name]: ['does not exist'] })
    const made = await createMergeRequestWithCommands(ctx, caller, subject, { ...given, remove_source_branch: force_remove_source_branch })
    return new Redirect(`${within(subject)}/${made.request.iid}`, { notice: 'The merge request is open.' })
  },
})
