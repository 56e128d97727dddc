import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { pathNumber } from '../../../access/path-number.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { bool, clearableDate, list, opt, rowId, str } from '../../../http/params.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { createIssue } from '../../../services/issuables/issues/create.js'
import { createIssueFromThreads } from '../../../services/notes/issue-from-threads.js'
import { createIssueWithCommands } from '../../../services/quick-actions/descriptions.js'
import { Editor, EditorForm } from '../../components/editor.js'
import { Checkbox, Field, FormFaults, SelectField, Submit } from '../../components/form.js'
import { ProjectLayout } from '../../layout/project.js'
import { form, page, Redirect } from '../../page.js'
import { LabelFields, within } from './issue.js'
import { assigneeOf, choicesFor, Suggestions } from './people.js'
import { TemplateForm, templateNamed, templatesOf } from './templates.js'

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
    const [templates, template, choices] = await Promise.all([
      templatesOf(ctx, subject, 'issue'),
      templateNamed(ctx, subject, 'issue', input.issuable_template ?? ''),
      subject.can('manage_issue') ? choicesFor(ctx, subject) : null,
    ])
    const { issue, merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
    return {
      title: `New issue · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>New issue</h1>
          <TemplateForm action={`${view.links.prefix}${within(subject)}/new`} names={templates} chosen={input.issuable_template ?? ''} />
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
            {choices && (
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
                      ...choices.milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
                    ]}
                  />
                  <Field view={view} name="issue[due_date]" label="Due date" type="date" value={issue?.due_date} />
                </div>
                <Suggestions members={choices.members} />
                <LabelFields view={view} labels={choices.labels} chosen={issue?.labels ?? []} of="issue" />
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
      labels: [...labels, other_labels],
      ...(milestone_id && { milestone_id: pathNumber(milestone_id) ?? 0 }),
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
