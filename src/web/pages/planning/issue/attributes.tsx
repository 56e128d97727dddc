import { z } from 'zod'
import type { IssueSubject } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import { bool, clearableDate, opt, orDefault, str } from '../../../../http/params.js'
import { MAX_CHOICES } from '../../../../services/issuables/choices.js'
import type { IssueRecord } from '../../../../services/issuables/issues/list.js'
import { Checkbox, Field, FormTag, SelectField, Submit } from '../../../components/form.js'
import { type Choices, Suggestions } from '../../../components/issuable/choices.js'
import { LabelFields, Labels, labelNames } from '../../../components/issuable/labels.js'
import { Section } from '../../../components/issuable/section.js'
import { PersonLine } from '../../../components/people/person-link.js'
import { type Fields, fieldsOf } from '../../../fields.js'
import { inUrl, projectLinks } from '../../../links.js'
import type { PageView } from '../../../page.js'
import { addressOf } from './address.js'

interface AttributesProps {
  view: PageView
  subject: IssueSubject
  record: IssueRecord
  choices: Choices | null
  mayUpdate: boolean
}

export const attributes = z.object({
  // nothing is sent of boxes that are not checked
  issue: z
    .object({
      assignee_username: opt(str()),
      ...labelNames.shape,
      milestone_id: opt(str()),
      due_date: clearableDate().optional(),
      confidential: orDefault(bool(), false),
      discussion_locked: orDefault(bool(), false),
    })
    .optional(),
})

export function Attributes({ view, subject, record, choices, mayUpdate }: AttributesProps) {
  const { issue, assignee, milestone, milestone_path } = record
  const links = projectLinks(view, fullPathOf(subject.project))
  const names = record.labels.map((label) => (typeof label === 'string' ? label : label.name))
  const colors = new Map(choices?.labels.map(({ name, color }) => [name, color]))
  const shown = names.map((name) => ({ name, color: colors.get(name) })).map(({ name, color }) => (color ? { name, color } : name))
  const milestoneAt = milestone_path ? `${view.links.prefix}/groups/${inUrl(milestone_path)}/-/milestones` : links.page('milestones')
  const none = <span class="dim">none</span>
  const f = fieldsOf(view, attributes).issue
  return (
    <>
      <Section title="Assignee">
        <PersonLine view={view} user={assignee} />
      </Section>
      <Section title="Labels">
        <p class="labels">{names.length > 0 ? <Labels labels={shown} at={links.page('issues')} /> : none}</p>
      </Section>
      <Section title="Milestone">
        <p>{milestone ? view.viewer ? <a href={`${milestoneAt}/${milestone.iid}`}>{milestone.title}</a> : milestone.title : none}</p>
      </Section>
      <Section title="Due">
        <p>{issue.due_date ?? none}</p>
      </Section>
      {mayUpdate && (
        <details class="box attributes" open={view.submitted?.values['attributes'] !== undefined}>
          <summary class="head">Change these</summary>
          <FormTag view={view} action={`${addressOf(subject)}/attributes`} class="form note">
            <input type="hidden" name="attributes" value="1" />
            {choices && <ChoiceFields view={view} fields={f} record={record} choices={choices} names={names} />}
            <Checkbox {...f.confidential} label="Confidential" checked={issue.confidential} />
            {choices && <Checkbox {...f.discussion_locked} label="Only members may comment" checked={issue.discussion_locked === true} />}
            <Submit label="Save" class="" />
          </FormTag>
        </details>
      )}
    </>
  )
}

interface ChoiceFieldsProps {
  view: PageView
  fields: Fields<z.infer<typeof attributes>>['issue']
  record: IssueRecord
  choices: Choices
  names: string[]
}

function ChoiceFields({ view, fields: f, record, choices, names }: ChoiceFieldsProps) {
  const { issue, assignee, milestone } = record
  const milestones = choices.milestones.slice(0, MAX_CHOICES)
  return (
    <>
      <Field {...f.assignee_username} label="Assignee" value={assignee?.username} hint="A username; empty for nobody." list="people" />
      <Suggestions members={choices.members} />
      <LabelFields view={view} labels={choices.labels} chosen={names} fields={f} />
      <SelectField
        {...f.milestone_id}
        label="Milestone"
        value={String(milestone?.id ?? 0)}
        choices={[
          { value: '0', label: 'None' },
          ...(milestone && !milestones.some(({ id }) => id === milestone.id) ? [{ value: String(milestone.id), label: milestone.title }] : []),
          ...milestones.map(({ id, title }) => ({ value: String(id), label: title })),
        ]}
      />
      <Field {...f.due_date} label="Due date" value={issue.due_date} />
    </>
  )
}
