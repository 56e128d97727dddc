import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { onMergeRequest } from '../../../access/merge-requests.js'
import { pathNumber } from '../../../access/path-number.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { conflict, invalidRecord, nullOnFailure } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, oneOf, opt, orDefault, rowId, str } from '../../../http/params.js'
import { partsOfMessage } from '../../../rules/commit-title.js'
import { isDraft, withoutDraftMark } from '../../../rules/draft.js'
import { squashesByDefault } from '../../../rules/squash.js'
import { findDescriptionTemplate, listDescriptionTemplates } from '../../../services/content/description-templates.js'
import { findVisibleProject } from '../../../services/identity/acting-users.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { completeMergeRequest } from '../../../services/issuables/merge-requests/reading/load.js'
import { compareAcross, getInNetwork, networkOf } from '../../../services/projects/comparisons.js'
import { createMergeRequestWithCommands, updateMergeRequestWithCommands } from '../../../services/quick-actions/descriptions.js'
import { branchExists } from '../../../services/repository/branches.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { diffFiles } from '../../components/diff/diff-tables.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { checkVersion, Version } from '../../components/editor/version.js'
import { shortId } from '../../components/files/code.js'
import { titleOf } from '../../components/files/commit.js'
import { Checkbox, Field, FormFaults, Hidden, SelectField, Submit } from '../../components/form.js'
import { type Choices, choicesFor, namesOf, peopleOf, Suggestions } from '../../components/issuable/choices.js'
import { LabelFields, labelNames } from '../../components/issuable/labels.js'
import { TemplateForm } from '../../components/issuable/template-form.js'
import { Row, Rows } from '../../components/list.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { AT, addressOf, within } from './address.js'

/** Commits and changed lines that are shown before a merge request is opened. */
const MAX_COMMITS = 50
const MAX_TEXT = 200_000

const attributes = z.object({
  title: opt(documented.title()),
  description: opt(str()),
  target_branch: opt(documented.filled()),
  draft: orDefault(bool(), false),
  squash: orDefault(bool(), false),
  force_remove_source_branch: orDefault(bool(), false),
  assignee_username: opt(str()),
  reviewer_username: opt(str()),
  ...labelNames.shape,
  milestone_id: opt(str()),
})
const newRequest = z.object({
  merge_request: attributes.extend({ source_branch: opt(documented.filled()), target_project_id: opt(rowId()) }),
})
export const changedRequest = z.object({ version: opt(str()), merge_request: attributes.extend({ state_event: opt(oneOf(['close', 'reopen'])) }) })
type Attributes = z.infer<typeof attributes>

/** Attributes as the service takes them; only what the caller manages. */
async function given(ctx: Context, target: ProjectSubject, { draft, ...input }: Attributes) {
  const {
    title = '',
    description,
    squash,
    force_remove_source_branch,
    assignee_username,
    reviewer_username,
    labels = [],
    other_labels = '',
    milestone_id,
  } = input
  const manages = target.can('manage_merge_request')
  const bare = withoutDraftMark(title)
  return {
    title: draft ? `Draft: ${bare}` : bare,
    description,
    remove_source_branch: force_remove_source_branch,
    ...(target.project.squash_option !== 'never' && target.project.squash_option !== 'always' && { squash }),
    ...(manages && {
      labels: [...labels, other_labels],
      ...(milestone_id !== undefined && { milestone_id: pathNumber(milestone_id) ?? 0 }),
      ...(assignee_username !== undefined && { assignee_ids: await peopleOf(ctx, assignee_username, 'assignee_username') }),
      ...(reviewer_username !== undefined && { reviewer_ids: await peopleOf(ctx, reviewer_username, 'reviewer_username') }),
    }),
  }
}

interface FieldsProps {
  view: PageView
  fields: Fields<Attributes>
  target: ProjectSubject
  values: Partial<Attributes>
  choices: Choices | null
}

/** The fields that new and existing merge requests share. */
const SharedFields = ({ view, fields: f, target, values, choices }: FieldsProps) => {
  return (
    <>
      <Field {...f.title} label={t('Title')} value={values.title} />
      <Checkbox {...f.draft} label={t('Draft')} checked={values.draft === true} hint={t('A draft cannot be merged before it is marked as ready.')} />
      <Editor
        {...f.description}
        label={t('Description')}
        value={values.description}
        rows={10}
        hint={t('Markdown; “Closes #1” closes the issue with the merge, lines such as /label ~bug are carried out.')}
        project={target}
      />
      {choices && (
        <>
          <div class="columns">
            <Field
              {...f.assignee_username}
              label={t('Assignees')}
              value={values.assignee_username}
              hint={t('Usernames, with spaces between.')}
              list="people"
            />
            <Field
              {...f.reviewer_username}
              label={t('Reviewers')}
              value={values.reviewer_username}
              hint={t('Usernames, with spaces between.')}
              list="people"
            />
            <SelectField
              {...f.milestone_id}
              label={t('Milestone')}
              value={values.milestone_id}
              choices={[
                { value: '', label: t('None') },
                ...choices.milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
              ]}
            />
          </div>
          <Suggestions members={choices.members} />
          <LabelFields view={view} labels={choices.labels} chosen={values.labels ?? []} fields={f} />
        </>
      )}
      {target.project.squash_option !== 'never' && target.project.squash_option !== 'always' && (
        <Checkbox {...f.squash} label={t('Squash the commits into one with the merge')} checked={values.squash === true} />
      )}
      <Checkbox
        {...f.force_remove_source_branch}
        label={t('Delete source branch when merge request is accepted')}
        checked={values.force_remove_source_branch === true}
      />
    </>
  )
}

const isTarget = (project: ProjectSubject | null): project is ProjectSubject =>
  project?.can('read_merge_request') === true && !project.project.archived

/** The project that changes are to be merged into: the one that is named, of the fork network, or what it was forked from. */
async function targetFor(ctx: Context, caller: SignedIn, subject: ProjectSubject, named: number | undefined): Promise<ProjectSubject> {
  const { id, forked_from_id } = subject.project
  if (named === id) return subject
  const wanted = named === undefined ? null : await nullOnFailure(getInNetwork(ctx, caller, subject, named))
  if (isTarget(wanted)) return wanted
  const parent = forked_from_id === null ? null : await findVisibleProject(ctx, caller, forked_from_id)
  return isTarget(parent) ? parent : subject
}

/** What a new merge request would have: its commits and changes; null if there is nothing to compare here. */
async function preview(ctx: Context, source: ProjectSubject, target: ProjectSubject, { from, to }: { from: string; to: string }) {
  if (!source.can('download_code') || !target.can('download_code')) return null
  const compared = { from, to, straight: false }
  return nullOnFailure(compareAcross(ctx, source, target, compared))
}

/** Opens a merge request: first its branches are chosen, then its texts, beside a preview (WB-109). */
export const newMergeRequestPage = page({
  at: 'P/-/merge_requests/new',
  access: onProjectSignedIn('create_merge_request'),
  input: z.object({ merge_request: newRequest.shape.merge_request.partial().optional(), issuable_template: opt(str()) }),
  async show({ ctx, caller, subject, input, view }) {
    const wanted = input.merge_request ?? {}
    const target = await targetFor(ctx, caller, subject, wanted.target_project_id)
    const targets = subject.can('download_code') ? await networkOf(ctx, caller, subject) : []
    if (!targets.some(({ id }) => id === target.project.id)) targets.push({ id: target.project.id, fullPath: fullPathOf(target.project) })
    const targetBranch = wanted.target_branch || target.project.default_branch
    const sourceBranch = wanted.source_branch ?? ''
    const hasSource = sourceBranch !== '' && (await branchExists(ctx, subject, sourceBranch))
    const heading = <h1>{t('New merge request')}</h1>
    const frame = (body: preact.ComponentChildren) => ({
      title: `${t('New merge request')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          {heading}
          {body}
        </ProjectLayout>
      ),
    })
    const f = fieldsOf(view, newRequest).merge_request
    const branches = (
      <form method="get" action={`${view.links.prefix}${within(subject)}/new`}>
        {sourceBranch !== '' && !hasSource && (
          <p class="flash alert" role="alert">
            <Phrase text="There is no branch {sourceBranch}." sourceBranch={sourceBranch} />
          </p>
        )}
        <div class="columns">
          <Field {...f.source_branch} label={t('Source branch')} value={sourceBranch} />
          {targets.length > 1 && (
            <SelectField
              {...f.target_project_id}
              label={t('Target project')}
              value={String(target.project.id)}
              choices={targets.map(({ id, fullPath }) => ({ value: String(id), label: fullPath }))}
            />
          )}
          <Field {...f.target_branch} label={t('Target branch')} value={targetBranch} />
        </div>
        <Submit label={hasSource ? t('Change branches') : t('Continue')} class={hasSource ? '' : 'primary'} />
      </form>
    )
    if (!hasSource && !view.submitted) return frame(branches)
    const names = await listDescriptionTemplates(ctx, target, 'merge_requests')
    const template = input.issuable_template ?? (names.includes('Default') ? 'Default' : '')
    const [text, choices, compared] = await Promise.all([
      findDescriptionTemplate(ctx, target, 'merge_requests', template),
      target.can('manage_merge_request') ? choicesFor(ctx, target) : null,
      hasSource ? preview(ctx, subject, target, { from: targetBranch, to: sourceBranch }) : null,
    ])
    const commits = [...(compared?.commits ?? [])].reverse()
    const only = commits.length === 1 ? commits[0] : undefined
    const title = wanted.title || (only ? titleOf(only) : sourceBranch.replace(/[-_/]+/g, ' '))
    const body = only && partsOfMessage(only.message).text
    const values = {
      ...wanted,
      title: withoutDraftMark(title),
      draft: wanted.draft || isDraft(title),
      description: wanted.description ?? text ?? (body || undefined),
      squash: wanted.squash || squashesByDefault(target.project),
      force_remove_source_branch: wanted.force_remove_source_branch ?? false,
    }
    const links = projectLinks(view, fullPathOf(subject.project))
    const isAcross = target.project.id !== subject.project.id
    const comparison = `${links.page('compare')}/${encodeURIComponent(targetBranch)}...${encodeURIComponent(sourceBranch)}`
    const hidden = (
      <>
        <Hidden {...f.source_branch} value={sourceBranch} />
        <Hidden {...f.target_branch} value={targetBranch} />
        <Hidden {...f.target_project_id} value={target.project.id} />
      </>
    )
    return frame(
      <>
        <p class="dim">
          <code>{sourceBranch}</code> → <code>{isAcross ? `${fullPathOf(target.project)}:${targetBranch}` : targetBranch}</code>
        </p>
        <details open={!hasSource}>
          <summary>{t('Other branches')}</summary>
          {branches}
        </details>
        <TemplateForm action={`${view.links.prefix}${within(subject)}/new`} names={names} chosen={template}>
          {hidden}
        </TemplateForm>
        <EditorForm view={view} action={within(subject)} once>
          <FormFaults view={view} />
          {hidden}
          <SharedFields view={view} fields={f} target={target} values={values} choices={choices} />
          <Submit label={t('Create merge request')} />
        </EditorForm>
        {compared && (
          <section aria-label={t('Preview')}>
            <h2>{plural(commits.length, '1 commit', '{count} commits')}</h2>
            <Rows empty={t('Everything in the source branch is in the target branch already.')}>
              {commits.slice(0, MAX_COMMITS).map((commit) => (
                <Row
                  key={commit.oid}
                  actions={
                    <a href={links.commit(commit.oid)}>
                      <code>{shortId(commit.oid)}</code>
                    </a>
                  }
                >
                  <span>{titleOf(commit)}</span>
                  <span class="dim">{commit.author.name}</span>
                </Row>
              ))}
            </Rows>
            {commits.length > MAX_COMMITS && (
              <p class="dim">
                <Phrase text="{count} more commits are not shown here." count={commits.length - MAX_COMMITS} />
              </p>
            )}
            {compared.diffs.reduce((sum, { diff }) => sum + diff.length, 0) <= MAX_TEXT ? (
              await diffFiles(ctx, {
                files: compared.diffs,
                truncated: compared.overflow,
                similarity: compared.similarity,
                blobs: compared.blobs,
                repository: repositoryOf(ctx, subject.project),
                links,
                from: compared.base,
                to: compared.head,
                parallel: false,
                raw: isAcross ? null : `${comparison}.diff`,
              })
            ) : (
              <p>
                <Phrase
                  text="{count} files are changed: {link}"
                  count={compared.diffs.length}
                  link={<a href={`${comparison}${isAcross ? `?from_project_id=${target.project.id}` : ''}`}>{t('compare the branches')}</a>}
                />
              </p>
            )}
          </section>
        )}
      </>,
    )
  },
})

export const newMergeRequestForm = form({
  at: 'P/-/merge_requests',
  files: true,
  access: onProjectSignedIn('create_merge_request'),
  input: newRequest,
  on: newMergeRequestPage,
  async submit({ ctx, caller, subject, input: { merge_request: wanted } }) {
    const { source_branch = '', target_branch = '', target_project_id } = wanted
    const target = await targetFor(ctx, caller, subject, target_project_id ?? subject.project.id)
    for (const [name, project, branch] of [
      ['source_branch', subject, source_branch],
      ['target_branch', target, target_branch],
    ] as const)
      if (!(await branchExists(ctx, project, branch))) throw invalidRecord({ [name]: ['does not exist'] })
    const made = await createMergeRequestWithCommands(ctx, caller, subject, {
      ...(await given(ctx, target, wanted)),
      source_branch,
      target_branch,
      target_project_id: target.project.id,
    })
    return new Redirect(`${within(target)}/${made.request.iid}`, { notice: t('Merge request created.') })
  },
})

export const editMergeRequestPage = page({
  at: `${AT}/edit`,
  access: onMergeRequest('update_merge_request'),
  async show({ ctx, caller, subject, view }) {
    const { request } = subject
    const [record, choices] = await Promise.all([
      completeMergeRequest(ctx, caller, subject),
      subject.can('manage_merge_request') ? choicesFor(ctx, subject) : null,
    ])
    const values = {
      title: withoutDraftMark(request.title),
      draft: isDraft(request.title),
      description: request.description,
      squash: request.squash,
      force_remove_source_branch: request.force_remove_source_branch,
      assignee_username: namesOf(record.assignees),
      reviewer_username: namesOf(record.reviewers),
      labels: record.labels,
      milestone_id: request.milestone_id === null ? '' : String(request.milestone_id),
    }
    const { version, merge_request: f } = fieldsOf(view, changedRequest)
    return {
      title: `${t('Edit !{iid}', { iid: request.iid })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="merge_requests">
          <h1>
            <Phrase text="Edit !{iid}" iid={request.iid} />
          </h1>
          <EditorForm view={view} action={addressOf(subject)} method="PUT">
            <FormFaults view={view} />
            <Version
              {...version}
              texts={[
                { label: t('Title'), text: request.title },
                { label: t('Description'), text: request.description },
              ]}
            />
            {request.state === 'opened' && <Field {...f.target_branch} label={t('Target branch')} value={request.target_branch} />}
            <SharedFields view={view} fields={f} target={subject} values={values} choices={choices} />
            <Submit label={t('Save changes')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

/** Changes a merge request by its page, or closes or reopens it by a button. */
export const requestChange = form({
  at: AT,
  method: 'PUT',
  files: true,
  access: onMergeRequest('update_merge_request'),
  input: changedRequest,
  on: editMergeRequestPage,
  async submit({ ctx, caller, subject, input: { version = '', merge_request: wanted } }) {
    const { state_event, target_branch } = wanted
    if (state_event) {
      if (subject.request.state === 'merged') throw conflict(t('The merge request is merged'))
      await updateMergeRequestWithCommands(ctx, caller, subject, { state_event })
      return new Redirect(addressOf(subject), {
        notice: state_event === 'close' ? t('Merge request closed.') : t('Merge request reopened.'),
      })
    }
    const isMoved = target_branch !== undefined && target_branch !== subject.request.target_branch
    if (isMoved && !(await branchExists(ctx, subject, target_branch))) throw invalidRecord({ target_branch: ['does not exist'] })
    await updateMergeRequestWithCommands(ctx, caller, subject, {
      ...(await given(ctx, subject, wanted)),
      ...(isMoved && { target_branch }),
      check: (before) => checkVersion(version, before.title, before.description),
    })
    return new Redirect(addressOf(subject), { notice: t('Merge request updated.') })
  },
})
