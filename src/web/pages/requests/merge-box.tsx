import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import type { Context } from '../../../context.js'
import { detailedStatus } from '../../../entities/issuables/merge-request.js'
import * as documented from '../../../http/documented.js'
import { bool, orDefault, str } from '../../../http/params.js'
import { isDraft } from '../../../rules/draft.js'
import { isSquashed } from '../../../rules/squash.js'
import { type Environment, environmentsOfBranch } from '../../../services/ci/environments/environments.js'
import { mergeMessage, squashMessage } from '../../../services/issuables/merge-requests/merging/messages.js'
import { type BranchOptions, branchOptions } from '../../../services/issuables/merge-requests/reading/after-merge.js'
import { completeMergeRequest, type SingleMergeRequest, sourceOf } from '../../../services/issuables/merge-requests/reading/load.js'
import { type ApprovalsRecord, loadApprovals } from '../../../services/issuables/merge-requests/writing/approvals.js'
import { listReviewers, type ReviewerRecord } from '../../../services/issuables/merge-requests/writing/reviewers.js'
import { AppLink } from '../../components/app-link.js'
import { shortId } from '../../components/files/code.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Hidden, Submit, TextField } from '../../components/form.js'
import { Icon } from '../../components/icon.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'
import { ExposedArtifacts, FailedJobs, type HeadPipeline, HeadPipelineLine, loadHeadPipeline } from './head-pipeline.js'
import { MergeCommands } from './merge-commands.js'

export interface Merging {
  record: SingleMergeRequest
  approvals: ApprovalsRecord
  /** Who was asked for a review, and who has given one. */
  reviewers: ReviewerRecord[]
  branches: BranchOptions
  /** The messages that a merge has unless they are edited; null if there is nothing to merge with. */
  messages: { merge: string | null; squash: string | null } | null
  /** Where the source branch was deployed to last. */
  environments: Environment[]
  /** More about the head pipeline; null if there is none that the viewer may read. */
  head: HeadPipeline | null
}

/** The most reviewers that a page names. */
const MAX_REVIEWERS = 200

/** What the box needs to say how a merge request can be merged. */
export async function loadMerging(ctx: Context, caller: SignedIn, subject: MergeRequestSubject): Promise<Merging> {
  const [record, approvals, { items: reviewers }, source] = await Promise.all([
    completeMergeRequest(ctx, caller, subject),
    loadApprovals(ctx, caller, subject),
    listReviewers(ctx, subject, { page: 1, per_page: MAX_REVIEWERS }),
    sourceOf(ctx, caller, subject, subject.request),
  ])
  const branches = await branchOptions(ctx, caller, subject, record)
  const { request, rules } = record
  const readable = source?.can('read_pipeline') ? source : null
  const [environments, head] = await Promise.all([
    source?.can('read_environment') ? environmentsOfBranch(ctx, source, request.source_branch) : [],
    loadHeadPipeline(ctx, readable, record),
  ])
  if (!record.can_merge || request.state !== 'opened') return { record, approvals, reviewers, branches, messages: null, environments, head }
  const merging = { caller, subject, request }
  const [merge, squash] = await Promise.all([
    rules.merge_method === 'ff' ? null : mergeMessage(ctx, merging, undefined),
    rules.squash_option === 'never' ? null : squashMessage(ctx, merging, undefined),
  ])
  return { record, approvals, reviewers, branches, messages: { merge, squash }, environments, head }
}

const CHECK_ICONS = { done: 'circle-check', missing: 'circle-x', waiting: 'clock', info: 'circle-dot' } as const

/** A thing that must hold before a merge, or that is good to know. */
const Check = ({ state, children }: { state: 'done' | 'missing' | 'waiting' | 'info'; children: ComponentChildren }) => (
  <li class={state}>
    <Icon name={CHECK_ICONS[state]} />
    <span class="hidden">{{ done: `${t('Done:')} `, missing: `${t('Missing:')} `, waiting: `${t('Waiting:')} `, info: '' }[state]}</span>
    <div>{children}</div>
  </li>
)

interface BoxProps extends Merging {
  view: PageView
  subject: MergeRequestSubject
}

const isActive = (state: string | null) => state === 'created' || state === 'pending' || state === 'running'

/** What stands in the way of a merge and what to do about it, or what can be done afterwards (WB-103 to WB-106). */
export function MergeBox(props: BoxProps) {
  const { record, view, subject } = props
  const { request } = record
  const waits = request.state === 'opened' && (request.merge_status === 'unchecked' || request.rebase_user_id !== null)
  const refresh =
    request.state === 'opened' ? { 'data-refresh': `${view.links.prefix}${addressOf(subject)}/widget`, 'data-every': waits ? '2' : '10' } : {}
  return (
    <section class="box merge" id="merge" {...refresh}>
      {request.state === 'merged' ? <Merged {...props} /> : request.state === 'closed' ? <Closed {...props} /> : <Open {...props} />}
    </section>
  )
}

const headings = (): Record<string, string> => ({
  mergeable: t('This can be merged'),
  requested_changes: t('Changes are requested'),
  unchecked: t('Whether this can be merged is being checked'),
})

function Open(props: BoxProps) {
  const { record, approvals, reviewers, branches, view, subject } = props
  const own = reviewers.find(({ user }) => user.id === view.viewer?.id)
  const { request, can_merge, pipeline_status: pipeline } = record
  const at = addressOf(subject)
  const status = detailedStatus(record)
  const deferred = request.merge_when_pipeline_succeeds
  return (
    <>
      <h2 class="head">
        <span class={status === 'mergeable' ? 'success' : 'waiting'}>
          <Icon name={status === 'mergeable' ? 'circle-check' : 'clock'} />
        </span>
        {deferred
          ? t('This is merged when its pipeline succeeds')
          : status === 'mergeable' && !can_merge
            ? t('This is ready to be merged')
            : (headings()[status] ?? t('This cannot be merged yet'))}
      </h2>
      <Checks {...props} />
      <div class="act">
        <FormFaults view={view} />
        {request.merge_error && <p class="flash alert">{request.merge_error}</p>}
        {deferred ? (
          <>
            <p>
              {record.request.merge_user_id === view.viewer?.id ? t('You have asked for this.') : t('Somebody who may merge has asked for this.')}
            </p>
            {(can_merge || request.author_id === view.viewer?.id) && (
              <ActionButton view={view} action={`${at}/cancel_merge_when_pipeline_succeeds`} label={t('Cancel automatic merge')} into="merge" />
            )}
          </>
        ) : (
          can_merge &&
          (status === 'mergeable' || status === 'requested_changes' || (status === 'ci_still_running' && isActive(pipeline))) && (
            <MergeForm {...props} status={status} />
          )
        )}
        <div class="toolbar">
          {approvals.user_can_approve && !approvals.user_has_approved && (
            <ActionButton view={view} action={`${at}/approve`} label={t('Approve')} fields={{ sha: request.sha ?? '' }} />
          )}
          {own?.state === 'requested_changes' && <ActionButton view={view} action={`${at}/unapprove`} label={t('Withdraw request for changes')} />}
          {approvals.user_has_approved && <ActionButton view={view} action={`${at}/unapprove`} label={t('Revoke approval')} />}
          {branches.source && mayRebase(request, false) && record.rules.merge_method === 'merge' && (
            <ActionButton view={view} action={`${at}/rebase`} label={t('Rebase')} into="merge" />
          )}
        </div>
      </div>
    </>
  )
}

function Checks({ record, approvals, reviewers, branches, environments, head, view, subject }: BoxProps) {
  const { request, rules, pipeline_status: pipeline, can_merge } = record
  const at = addressOf(subject)
  const target = <code>{request.target_branch}</code>
  const threads = request.unresolved_discussions_count
  const names = approvals.approvers.map(({ name }) => name).join(', ')
  const asking = reviewers.filter(({ state }) => state === 'requested_changes').map(({ user }) => user.name)
  return (
    <ul class="checks">
      {isDraft(request.title) && (
        <Check state="missing">
          {t('This is a draft.')}{' '}
          {subject.may('update_merge_request') && (
            <ActionButton view={view} action={`${at}/ready`} label={t('Mark as ready')} fields={{ draft: 'false' }} />
          )}
        </Check>
      )}
      {request.merge_status === 'unchecked' ? (
        <Check state="waiting">
          <Phrase text="Conflicts with {target} are being looked for." target={target} />
        </Check>
      ) : request.merge_status === 'cannot_be_merged' ? (
        <Check state="missing">
          {record.version?.base_commit_sha === null ? (
            <Unrelated view={view} subject={subject} mayPush={branches.source !== null} />
          ) : (
            <Conflicts view={view} subject={subject} mayPush={branches.source !== null} />
          )}
        </Check>
      ) : (
        <Check state="done">
          <Phrase text="There are no conflicts with {target}." target={target} />
        </Check>
      )}
      {request.rebase_user_id !== null ? (
        <Check state="waiting">{t('The rebase is going on.')}</Check>
      ) : (
        request.behind_target && (
          <Check state={rules.merge_method === 'merge' ? 'info' : 'missing'}>
            <Phrase text="The source branch is behind {target}." target={target} />{' '}
            {rules.merge_method !== 'merge' &&
              (branches.source
                ? mayRebase(request, false) && <ActionButton view={view} action={`${at}/rebase`} label={t('Rebase')} into="merge" />
                : t('Who may push to the source branch can rebase it.'))}
          </Check>
        )
      )}
      {pipeline !== null && (
        <Check state={pipeline === 'success' ? 'done' : isActive(pipeline) ? 'waiting' : rules.pipeline_needed ? 'missing' : 'info'}>
          <HeadPipelineLine view={view} record={record} head={head} />
          {pipeline !== 'success' && rules.pipeline_needed && ` ${t('It must pass first.')}`}
          <FailedJobs view={view} record={record} head={head} />
          <ExposedArtifacts view={view} record={record} head={head} />
        </Check>
      )}
      {environments.map((environment) => (
        <Check key={environment.id} state="info">
          <Phrase text="Deployed to {name}. {appLink}" name={environment.name} appLink={<AppLink environment={environment} />} />
        </Check>
      ))}
      {pipeline === null && rules.pipeline_needed && (
        <Check state="missing">{t('A pipeline must pass first, and there is none for the newest commit.')}</Check>
      )}
      {threads > 0 && (
        <Check state={rules.discussions_block ? 'missing' : 'info'}>
          {plural(threads, 'One thread is not resolved.', '{count} threads are not resolved.')}
          {rules.discussions_block && ` ${t('All must be resolved first.')}`}
        </Check>
      )}
      {asking.length > 0 && (
        <Check state="waiting">
          <Phrase text="{names} requested changes." names={asking.join(', ')} />
        </Check>
      )}
      {names ? (
        <Check state="done">
          <Phrase text="Approved by {names}." names={names} />
        </Check>
      ) : (
        <Check state="info">{t('No approvals yet; none are needed.')}</Check>
      )}
      {!can_merge && (
        <Check state="info">
          <Phrase text="You may not merge into {target}: who may push or merge there can." target={target} />
        </Check>
      )}
    </ul>
  )
}

interface ConflictProps {
  view: PageView
  subject: MergeRequestSubject
  mayPush: boolean
}

/** How conflicts are resolved: by a page, or by commands. */
const Conflicts = ({ view, subject, mayPush }: ConflictProps) => (
  <>
    <Phrase text="There are conflicts with {targetBranch}." targetBranch={<code>{subject.request.target_branch}</code>} />{' '}
    {mayPush && <a href={`${view.links.prefix}${addressOf(subject)}/conflicts`}>{t('Resolve conflicts')}</a>}
    <details>
      <summary>{t('Resolve them by commands')}</summary>
      <MergeCommands view={view} subject={subject} />
    </details>
  </>
)

/** What remains where the branches have no common history. */
const Unrelated = ({ view, subject, mayPush }: ConflictProps) => (
  <>
    <Phrase
      text="{sourceBranch} and {targetBranch} have no common history, so they cannot be merged here. {advice}"
      sourceBranch={<code>{subject.request.source_branch}</code>}
      targetBranch={<code>{subject.request.target_branch}</code>}
      advice={
        mayPush
          ? `${t('A rebase puts the commits onto the target.')} `
          : `${t('Who may push to the source branch can rebase it, or merge both by commands.')} `
      }
    />
    {mayPush && mayRebase(subject.request, true) && (
      <ActionButton view={view} action={`${addressOf(subject)}/rebase`} label={t('Rebase')} into="merge" />
    )}
    <details>
      <summary>{t('Merge them by commands')}</summary>
      <MergeCommands view={view} subject={subject} unrelated />
    </details>
  </>
)

export const pick = z.object({ branch: orDefault(documented.filled(), '') })

export const merge = z.object({
  sha: orDefault(str(), ''),
  commit_message: orDefault(str(), ''),
  squash_commit_message: orDefault(str(), ''),
  squash: orDefault(bool(), false),
  should_remove_source_branch: orDefault(bool(), false),
  merge_when_pipeline_succeeds: orDefault(bool(), false),
})

function MergeForm({ record, messages, view, subject, status }: BoxProps & { status: string }) {
  const { request, rules, pipeline_status: pipeline } = record
  const squashes = isSquashed(rules, request)
  const waits = isActive(pipeline)
  const f = fieldsOf(view, merge)
  return (
    <FormTag view={view} action={`${addressOf(subject)}/merge`}>
      <Hidden {...f.sha} value={request.sha ?? ''} />
      {rules.squash_option === 'always' ? (
        <p class="dim">{t('The project squashes all commits into one.')}</p>
      ) : (
        rules.squash_option !== 'never' && <Checkbox {...f.squash} label={t('Squash the commits into one')} checked={squashes} />
      )}
      <Checkbox
        {...f.should_remove_source_branch}
        label={t('Delete the branch {sourceBranch}', { sourceBranch: request.source_branch })}
        checked={request.force_remove_source_branch === true}
      />
      <details>
        <summary>{t('Edit the message')}</summary>
        {messages?.merge != null && <TextField {...f.commit_message} label={t('Merge commit message')} rows={5} value={messages.merge} />}
        {messages?.squash != null && <TextField {...f.squash_commit_message} label={t('Squash commit message')} rows={4} value={messages.squash} />}
      </details>
      <div class="toolbar">
        {status !== 'ci_still_running' && <Submit label={status === 'requested_changes' ? t('Merge anyway') : t('Merge')} />}
        {waits && (
          <Submit
            label={t('Merge when pipeline succeeds')}
            name={f.merge_when_pipeline_succeeds.name}
            value="true"
            class={status === 'ci_still_running' ? 'primary' : ''}
          />
        )}
      </div>
    </FormTag>
  )
}

function Merged({ record, branches, view, subject }: BoxProps) {
  const { request, merged_by } = record
  const at = addressOf(subject)
  const f = fieldsOf(view, pick)
  return (
    <>
      <h2 class="head">
        {merged_by ? t('Merged by {name}', { name: merged_by.name }) : t('Merged')} {request.merged_at && <Time at={request.merged_at} />}
      </h2>
      <div class="note">
        <p>
          <Phrase text="The changes are in {targetBranch}" targetBranch={<code>{request.target_branch}</code>} />
          {branches.merged && (
            <>
              {' '}
              <Phrase text="as {shortId}" shortId={<code>{shortId(branches.merged)}</code>} />
            </>
          )}
          .
        </p>
        <div class="toolbar">
          <SourceBranch {...{ branches, view, subject }} />
          {branches.merged && (
            <>
              <ActionButton view={view} action={`${at}/revert`} label={t('Revert')} />
              <details>
                <summary>{t('Cherry-pick')}</summary>
                <FormTag view={view} action={`${at}/cherry_pick`}>
                  <Field {...f.branch} label={t('Onto the branch')} value={subject.project.default_branch} />
                  <Submit label={t('Cherry-pick')} class="" />
                </FormTag>
              </details>
            </>
          )}
        </div>
      </div>
    </>
  )
}

const Closed = ({ record, branches, view, subject }: BoxProps) => (
  <>
    <h2 class="head">
      {record.closed_by ? t('Closed by {name}', { name: record.closed_by.name }) : t('Closed')}{' '}
      {record.request.closed_at && <Time at={record.request.closed_at} />}
    </h2>
    <div class="note toolbar">
      <SourceBranch {...{ branches, view, subject }} />
      <span class="dim">{t('The changes were not merged.')}</span>
    </div>
  </>
)

function SourceBranch({ branches, view, subject }: Pick<BoxProps, 'branches' | 'view' | 'subject'>) {
  const { source_branch } = subject.request
  const at = addressOf(subject)
  if (branches.deletable)
    return <ActionButton view={view} action={`${at}/source_branch`} method="DELETE" label={t('Delete branch')} what={source_branch} class="danger" />
  return branches.restorable ? <ActionButton view={view} action={`${at}/source_branch`} label={t('Restore branch')} what={source_branch} /> : null
}

/** Whether a rebase is offered: the source branch is behind, there are no conflicts, and none is going on (WB-414). */
export const mayRebase = ({ state, behind_target, merge_status, rebase_user_id }: MergeRequestSubject['request'], unrelated: boolean): boolean =>
  state === 'opened' && behind_target && (unrelated || merge_status !== 'cannot_be_merged') && rebase_user_id === null
