import type { IssueSubject } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import { bool, clearableDate, oneOf, orDefault } from '../../../../http/params.js'
import type { IssueRecord } from '../../../../services/issuables/issues/list.js'
import { Checkbox, Field } from '../../../components/form.js'
import type { Choices } from '../../../components/issuable/choices.js'
import { Labels } from '../../../components/issuable/labels.js'
import { LabelsFields, MilestoneFields, PeopleFields, SidePart, sideFields } from '../../../components/issuable/side.js'
import { PersonLines } from '../../../components/people/person-link.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
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

export const attributes = sideFields.extend({
  attribute: oneOf(['assignee', 'labels', 'milestone', 'due_date', 'access']),
  due_date: clearableDate().optional(),
  confidential: orDefault(bool(), false),
  discussion_locked: orDefault(bool(), false),
})

/** What an issue has, each part with a menu in which it is changed. */
export function Attributes({ view, subject, record, choices, mayUpdate }: AttributesProps) {
  const { issue, assignees, milestone, milestone_path } = record
  const links = projectLinks(view, fullPathOf(subject.project))
  const names = record.labels.map((label) => (typeof label === 'string' ? label : label.name))
  const colors = new Map(choices?.labels.map(({ name, color }) => [name, color]))
  const shown = names.map((name) => ({ name, color: colors.get(name) })).map(({ name, color }) => (color ? { name, color } : name))
  const milestoneAt = milestone_path ? `${view.links.prefix}/groups/${inUrl(milestone_path)}/-/milestones` : links.page('milestones')
  const none = <span class="dim">{t('none')}</span>
  const f = fieldsOf(view, attributes)
  const to = `${addressOf(subject)}/attributes`
  const managed = { view, attribute: f.attribute, action: choices ? to : null }
  const of = choices && { view, fields: f, choices }
  return (
    <>
      <SidePart
        {...managed}
        name="assignee"
        title={t('Assignees')}
        fields={of && <PeopleFields {...of} name="assignee" legend={t('Assignees')} people={assignees} />}
      >
        <PersonLines view={view} people={assignees} />
      </SidePart>
      <SidePart {...managed} name="labels" title={t('Labels')} fields={of && <LabelsFields {...of} names={names} />}>
        <p class="labels">{names.length > 0 ? <Labels labels={shown} at={links.page('issues')} /> : none}</p>
      </SidePart>
      <SidePart {...managed} name="milestone" title={t('Milestone')} fields={of && <MilestoneFields {...of} milestone={milestone} />}>
        <p>{milestone ? view.viewer ? <a href={`${milestoneAt}/${milestone.iid}`}>{milestone.title}</a> : milestone.title : none}</p>
      </SidePart>
      <SidePart {...managed} name="due_date" title={t('Due')} fields={of && <Field {...f.due_date} label={t('Due date')} value={issue.due_date} />}>
        <p>{issue.due_date ?? none}</p>
      </SidePart>
      {mayUpdate && (
        <SidePart
          view={view}
          attribute={f.attribute}
          action={to}
          name="access"
          title={t('Access')}
          fields={
            <>
              <Checkbox {...f.confidential} label={t('Confidential')} checked={issue.confidential} />
              {choices && <Checkbox {...f.discussion_locked} label={t('Only members may comment')} checked={issue.discussion_locked === true} />}
            </>
          }
        >
          <p>
            {issue.confidential ? t('Confidential') : t('For all who see the issues')}
            {issue.discussion_locked && t('; only members comment')}
          </p>
        </SidePart>
      )}
    </>
  )
}
