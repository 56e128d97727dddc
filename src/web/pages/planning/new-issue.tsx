import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { nullOnFailure } from '../../../failures.js'
import { bool, clearableDate, list, opt, rowId, str } from '../../../http/params.js'
import { labelChoices, MAX_CHOICES, milestoneChoices } from '../../../services/issuables/choices.js'
import { createIssue } from '../../../services/issuables/issues/create.js'
import { createIssueFromThreads } from '../../../services/notes/issue-from-threads.js'
import { createIssueWithCommands } from '../../../services/quick-actions/descriptions.js'
import { readFile } from '../../../services/repository/files.js'
import { listTree } from '../../../services/repository/tree.js'
import { Editor, EditorForm } from '../../components/editor.js'
import { Checkbox, Field, FormFaults, SelectField, Submit } from '../../components/form.js'
import { ProjectLayout } from '../../layout/project.js'
import { inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { LabelFields } from './issue.js'
import { assigneeOf, membersOf, Suggestions } from './people.js'

const within = (subject: ProjectSubject) => `/${inUrl(fullPathOf(subject.project))}/-/issues`

const TEMPLATES = '.gitlab/issue_templates'
const MAX_TEMPLATES = 100

/** The names of the templates on the default branch. */
async function templatesOf(ctx: Context, subject: ProjectSubject): Promise<string[]> {
  if (!subject.can('download_code') || subject.project.empty_repo) return []
  const found = await nullOnFailure(listTree(ctx, subject, { path: TEMPLATES, recursive: false, page: 1, per_page: MAX_TEMPLATES }))
  return (found?.items ?? []).flatMap(({ type, name }) => (type === 'blob' && name.endsWith('.md') ? [name.slice(0, -3)] : []))
}

async function templateNamed(ctx: Context, subject: ProjectSubject, name: string | undefined): Promise<string | undefined> {
  if (!name || name.includes('/') || !subject.can('download_code')) return undefined
  const file = await nullOnFailure(readFile(ctx, subject, `${TEMPLATES}/${name}.md`, subject.project.default_branch))
  return file?.content.toString('utf8')
}

const attributes = z.object({
  title: opt(str()),
  description: opt(str()),
  confidential: opt(bool()),
  assignee_username: opt(str()),
  labels: opt(list(str(), 200)),
  other_labels: opt(str()),
  milestone_id: opt(str()),
  due_date: clearableDate().optional(),
})

const threads = { merge_request_to_resolve_discussions_of: opt(rowId()), discussion_to_resolve: opt(str()) }

export const newIssuePage = page({
  at: 'P/-/issues/new',
  access: onProjectSignedIn('create_issue'),
  input: z.object({ issue: attributes.optional(), issuable_template: opt(str()), ...threads }),
  async show({ ctx, subject, input, view }) {
    const manages = subject.can('manage_issue')
    const [templates, template, labels, milestones, members] = await Promise.all([
      templatesOf(ctx, subject),
      templateNamed(ctx, subject, input.issuable_template),
      manages ? labelChoices(ctx, { project: subject }) : [],
      manages ? milestoneChoices(ctx, { project: subject }) : [],
      manages ? membersOf(ctx, subject) : [],
    ])
    const { issue, merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
    return {
      title: `New issue · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>New issue</h1>
          {templates.length > 0 && (
            <form method="get" action={`${view.links.prefix}${within(subject)}/new`} class="search">
              <select name="issuable_template" aria-label="Template">
                <option value="">No template</option>
                {templates.map((name) => (
                  <option key={name} value={name} selected={name === input.issuable_template}>
                    {name}
                  </option>
                ))}
              </select>
              <button type="submit">Use template</button>
            </form>
          )}
          <EditorForm view={view} action={within(subject)} once>
            <FormFaults view={view} fields={['title', 'description', 'assignee_username', 'due_date', 'milestone_id']} />
            {request !== undefined && <input type="hidden" name="merge_request_to_resolve_discussions_of" value={request} />}
            {discussion !== undefined && <input type="hidden" name="discussion_to_resolve" value={discussion} />}
            <Field view={view} name="issue[title]" label="Title" value={issue?.title} required autofocus />
            <Editor
              view={view}
              name="issue[description]"
              label="Description"
              value={issue?.description ?? template}
              rows={10}
              hint="Markdown; lines such as /label ~bug are carried out."
              project={subject}
            />
            {manages && (
              <>
                <div class="columns">
                  <Field
                    view={view}
                    name="issue[assignee_username]"
                    label="Assignee"
                    value={issue?.assignee_username}
                    hint="A username."
                    list="people"
                  />
                  <SelectField
                    view={view}
                    name="issue[milestone_id]"
                    label="Milestone"
                    value={issue?.milestone_id}
                    choices={[
                      { value: '', label: 'None' },
                      ...milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
                    ]}
                  />
                  <Field view={view} name="issue[due_date]" label="Due date" type="date" value={issue?.due_date} />
                </div>
                <Suggestions id="people" values={members.map(({ username, name }) => ({ value: username, label: name }))} />
                <LabelFields view={view} labels={labels.slice(0, MAX_CHOICES)} chosen={issue?.labels ?? []} hasMore={labels.length > MAX_CHOICES} />
              </>
            )}
            <Checkbox
              view={view}
              name="issue[confidential]"
              label="Confidential"
              checked={issue?.confidential === true}
              hint="Only members from Reporter on, the author and the assignee see it."
            />
            <Submit label="Create issue" />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const newIssueForm = form({
  at: 'P/-/issues',
  files: true,
  access: onProjectSignedIn('create_issue'),
  input: z.object({ issue: attributes, ...threads }),
  on: newIssuePage,
  async submit({ ctx, caller, subject, input }) {
    const { issue, merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
    const { title = '', assignee_username, labels = [], other_labels = '', milestone_id, ...rest } = issue
    const given = {
      ...rest,
      title,
      labels: [...labels, ...other_labels.split(',')],
      ...(milestone_id && { milestone_id: Number(milestone_id) || 0 }),
      ...(assignee_username?.trim() && { assignee_ids: await assigneeOf(ctx, assignee_username) }),
    }
    const made = await createIssueWithCommands(ctx, caller, subject, given, (wanted) => create(ctx, caller, subject, wanted, { request, discussion }))
    return new Redirect(`${within(subject)}/${made.issue.iid}`, { notice: 'The issue is created.' })
  },
})

const create = (
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: Parameters<typeof createIssue>[3],
  { request, discussion }: { request: number | undefined; discussion: string | undefined },
) => (request === undefined ? createIssue(ctx, caller, subject, given) : createIssueFromThreads(ctx, caller, subject, given, { request, discussion }))
