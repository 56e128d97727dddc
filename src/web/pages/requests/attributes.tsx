import type { MergeRequestSubject } from '../../../access/merge-requests.js'
import { fullPathOf } from '../../../access/rules.js'
import { oneOf } from '../../../http/params.js'
import type { Choices } from '../../components/issuable/choices.js'
import { Labels, type ShownLabel } from '../../components/issuable/labels.js'
import { LabelsFields, MilestoneFields, PeopleFields, SidePart, sideFields } from '../../components/issuable/side.js'
import { TimeTracking } from '../../components/issuable/time-tracking.js'
import { PersonLines } from '../../components/people/person-link.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { addressOf } from './address.js'
import type { Merging } from './merge-box.js'
import { Reviewers } from './reviewers.js'

export const attributes = sideFields.extend({ attribute: oneOf(['assignee', 'reviewer', 'labels', 'milestone']) })

interface AttributesProps extends Pick<Merging, 'record' | 'reviewers' | 'approvals'> {
  view: PageView
  subject: MergeRequestSubject
  labels: readonly ShownLabel[]
  choices: Choices | null
}

/** What a merge request has, each part with a menu in which it is changed. */
export function Attributes({ view, subject, record, labels, choices, ...reviewing }: AttributesProps) {
  const { assignees, reviewers, milestone } = record
  const at = addressOf(subject)
  const f = fieldsOf(view, attributes)
  const part = { view, attribute: f.attribute, action: choices ? `${at}/attributes` : null }
  const of = choices && { view, fields: f, choices }
  const none = <span class="dim">{t('none')}</span>
  return (
    <>
      <SidePart
        {...part}
        name="reviewer"
        title={t('Reviewers')}
        fields={of && <PeopleFields {...of} name="reviewer" legend={t('Reviewers')} people={reviewers} />}
      >
        <Reviewers view={view} {...reviewing} at={choices && at} />
      </SidePart>
      <SidePart
        {...part}
        name="assignee"
        title={t('Assignees')}
        fields={of && <PeopleFields {...of} name="assignee" legend={t('Assignees')} people={assignees} />}
      >
        <PersonLines view={view} people={assignees} />
      </SidePart>
      <SidePart {...part} name="labels" title={t('Labels')} fields={of && <LabelsFields {...of} names={record.labels} />}>
        <p class="labels">
          {labels.length > 0 ? <Labels labels={labels} at={projectLinks(view, fullPathOf(subject.project)).page('merge_requests')} /> : none}
        </p>
      </SidePart>
      <SidePart {...part} name="milestone" title={t('Milestone')} fields={of && <MilestoneFields {...of} milestone={milestone} />}>
        <p>{milestone ? milestone.title : none}</p>
      </SidePart>
      <TimeTracking view={view} at={at} times={record.request} mayUpdate={subject.may('update_merge_request')} />
    </>
  )
}
