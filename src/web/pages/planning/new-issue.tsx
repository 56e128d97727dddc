import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { pathNumber } from '../../../access/path-number.js'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import * as documented from '../../../http/documented.js'
import { bool, clearableDate, opt, rowId, str } from '../../../http/params.js'
import { findDescriptionTemplate, listDescriptionTemplates } from '../../../services/content/description-templates.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { createIssue } from '../../../services/issuables/issues/create.js'
import { createIssueFromThreads } from '../../../services/notes/issue-from-threads.js'
import { createIssueWithCommands } from '../../../services/quick-actions/descriptions.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { Checkbox, Field, FormFaults, Hidden, SelectField, Submit } from '../../components/form.js'
import { choicesFor, peopleOf, Suggestions } from '../../components/issuable/choices.js'
import { LabelFields, labelNames } from '../../components/issuable/labels.js'
import { TemplateForm } from '../../components/issuable/template-form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { form, page, Redirect } from '../../page.js'
import { within } from './issue/address.js'

const attributes = z.object({
  title: opt(documented.title()),
  description: opt(str()),
  confidential: opt(bool()),
  assignee_username: opt(str()),
  ...labelNames.shape,
  milestone_id: opt(str()),
  due_date: clearableDate().optional(),
})

const threads = { merge_request_to_resolve_discussions_of: opt(rowId()), discussion_to_resolve: opt(str()) }

const newIssue = z.object({ issue: attributes, ...threads })

export const newIssuePage = page({
  at: 'P/-/issues/new',
  access: onProjectSignedIn('create_issue'),
  input: z.object({ issue: attributes.optional(), issuable_template: opt(str()), ...threads }),
  async show({ ctx, subject, input, view }) {
    const [templates, template, choices] = await Promise.all([
      listDescriptionTemplates(ctx, subject, 'issues'),
      findDescriptionTemplate(ctx, subject, 'issues', input.issuable_template ?? ''),
      subject.can('manage_issue') ? choicesFor(ctx, subject) : null,
    ])
    const { issue, merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
    const f = fieldsOf(view, newIssue)
    return {
      title: `${t('New issue')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>{t('New issue')}</h1>
          <TemplateForm action={`${view.links.prefix}${within(subject)}/new`} names={templates} chosen={input.issuable_template ?? ''} />
          <EditorForm view={view} action={within(subject)} once>
            <FormFaults view={view} />
            {request !== undefined && <Hidden {...f.merge_request_to_resolve_discussions_of} value={request} />}
            {discussion !== undefined && <Hidden {...f.discussion_to_resolve} value={discussion} />}
            <Field {...f.issue.title} label={t('Title')} value={issue?.title} autofocus />
            <Editor
              {...f.issue.description}
              label={t('Description')}
              value={issue?.description ?? template}
              rows={10}
              hint={t('Markdown; lines such as /label ~bug are carried out.')}
              project={subject}
            />
            {choices && (
              <>
                <div class="columns">
                  <Field
                    {...f.issue.assignee_username}
                    label={t('Assignees')}
                    value={issue?.assignee_username}
                    hint={t('Usernames, with spaces between.')}
                    list="people"
                  />
                  <SelectField
                    {...f.issue.milestone_id}
                    label={t('Milestone')}
                    value={issue?.milestone_id}
                    choices={[
                      { value: '', label: t('None') },
                      ...choices.milestones.slice(0, MAX_CHOICES).map(({ id, title }) => ({ value: String(id), label: title })),
                    ]}
                  />
                  <Field {...f.issue.due_date} label={t('Due date')} value={issue?.due_date} />
                </div>
                <Suggestions members={choices.members} />
                <LabelFields view={view} labels={choices.labels} chosen={issue?.labels ?? []} fields={f.issue} />
              </>
            )}
            <Checkbox
              {...f.issue.confidential}
              label={t('Confidential')}
              checked={issue?.confidential === true}
              hint={t('Only members from Reporter on, the author and the assignees see it.')}
            />
            <Submit label={t('Create issue')} />
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
  input: newIssue,
  on: newIssuePage,
  async submit({ ctx, caller, subject, input }) {
    const { issue, merge_request_to_resolve_discussions_of: request, discussion_to_resolve: discussion } = input
    const { title = '', assignee_username, labels = [], other_labels = '', milestone_id, ...rest } = issue
    const given = {
      ...rest,
      title,
      labels: [...labels, other_labels],
      ...(milestone_id && { milestone_id: pathNumber(milestone_id) ?? 0 }),
      ...(assignee_username?.trim() && { assignee_ids: await peopleOf(ctx, assignee_username, 'assignee_username') }),
    }
    const made = await createIssueWithCommands(ctx, caller, subject, given, (wanted) => create(ctx, caller, subject, wanted, { request, discussion }))
    return new Redirect(`${within(subject)}/${made.issue.iid}`, { notice: t('Issue created.') })
  },
})

const create = (
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  given: Parameters<typeof createIssue>[3],
  { request, discussion }: { request: number | undefined; discussion: string | undefined },
) => (request === undefined ? createIssue(ctx, caller, subject, given) : createIssueFromThreads(ctx, caller, subject, given, { request, discussion }))
