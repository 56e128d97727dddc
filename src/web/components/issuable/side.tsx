import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { pathNumber } from '../../../access/path-number.js'
import type { Context } from '../../../context.js'
import { list, opt, str } from '../../../http/params.js'
import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import { MAX_CHOICES } from '../../../services/issuables/choices.js'
import { MAX_PEOPLE } from '../../../services/issuables/readers.js'
import type { Control, Fields } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { wasSent } from '../discussion/asked.js'
import { Field, FilterField, FormTag, Hidden, listed, Submit, typed } from '../form.js'
import { Icon } from '../icon.js'
import { Avatar } from '../people/avatar.js'
import { type Choices, peopleOf } from './choices.js'
import { LabelFields, labelNames } from './labels.js'

/** What the forms of the side column send, beside the attribute that one is about: nothing is sent of boxes that are not checked. */
export const sideFields = z.object({
  usernames: opt(list(str(), MAX_PEOPLE)),
  other_usernames: opt(str()),
  ...labelNames.shape,
  milestone_id: opt(str()),
})
type SideFields = z.infer<typeof sideFields>

/** The change that a form of the side column asks for. */
export async function sideChange(ctx: Context, attribute: 'assignee' | 'reviewer' | 'labels' | 'milestone', given: SideFields) {
  const people = () => {
    const others = given.other_usernames?.trim() ?? ''
    return peopleOf(ctx, [...(given.usernames ?? []), others].join(' '), others === '' ? 'usernames' : 'other_usernames')
  }
  switch (attribute) {
    case 'assignee':
      return { assignee_ids: await people() }
    case 'reviewer':
      return { reviewer_ids: await people() }
    case 'labels':
      return { labels: [...(given.labels ?? []), given.other_labels ?? ''] }
    case 'milestone':
      return { milestone_id: pathNumber(given.milestone_id ?? '') ?? 0 }
  }
}

interface SideProps {
  view: PageView
  /** The field that says which attribute its form is about. */
  attribute: Control
  /** The attribute. */
  name: string
  title: string
  /** Of its form, without the prefix of the service; null: the reader may not change it. */
  action: string | null
  /** The fields of its form. */
  fields: ComponentChildren
  children: ComponentChildren
}

/** A part of the side column, with a menu in which it is changed (WB-602). */
export function SidePart({ view, attribute, name, title, action, fields, children }: SideProps) {
  const id = `side_${name}`
  return (
    <section id={id}>
      {action === null ? (
        <h2>{title}</h2>
      ) : (
        <details class="menu end side-menu" open={wasSent(view, (sent) => sent['attribute'] === name)}>
          <summary>
            <h2>
              {title}
              <span class="hidden">{t(': change')}</span>
              <Icon name="pencil" />
            </h2>
          </summary>
          <div class="items large">
            <FormTag view={view} action={action} attributes={{ 'data-into': id }}>
              <Hidden {...attribute} value={name} />
              {fields}
              <Submit label={t('Save')} />
            </FormTag>
          </div>
        </details>
      )}
      {children}
    </section>
  )
}

interface RadiosProps {
  view: PageView
  name: string
  legend: string
  filter: string
  value: string
  choices: { value: string; label: ComponentChildren }[]
}

function FilteredRadios({ view, name, legend, filter, value, choices }: RadiosProps) {
  const chosen = typed(view, name) ?? value
  return (
    <fieldset>
      <legend class="hidden">{legend}</legend>
      <FilterField label={filter} />
      <div class="choices">
        {choices.map((choice) => (
          <label class="check" key={choice.value}>
            <input type="radio" name={name} value={choice.value} checked={choice.value === chosen} />
            <span>{choice.label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

interface PartProps {
  view: PageView
  fields: Fields<SideFields>
  choices: Choices
}

interface PeopleProps extends PartProps {
  /** The attribute. */
  name: string
  legend: string
  people: readonly UserRefRecord[]
}

/** People of the project: who has the role now stands first, then the reader. */
export function PeopleFields({ view, fields: f, choices, name, legend, people }: PeopleProps) {
  const mine = view.viewer?.id
  const members = choices.members
    .filter(({ id }) => !people.some((each) => each.id === id))
    .sort((a, b) => Number(b.id === mine) - Number(a.id === mine))
  const marked = new Set(listed(view, f.usernames.name) ?? people.map(({ username }) => username))
  return (
    <>
      <fieldset>
        <legend class="hidden">{legend}</legend>
        <FilterField label={t('Filter by name')} />
        <div class="choices">
          {[...people, ...members].map((user) => (
            <label class="check" key={user.username}>
              <input type="checkbox" name={f.usernames.name} value={user.username} checked={marked.has(user.username)} />
              <span>
                <Avatar view={view} user={user} size="small" /> {user.name} <span class="dim">@{user.username}</span>
              </span>
            </label>
          ))}
          {people.length + members.length === 0 && <p class="dim">{t('The project has no members.')}</p>}
        </div>
      </fieldset>
      {choices.members.length >= MAX_CHOICES && (
        <Field {...f.other_usernames} within={name} label={t('Other users')} hint={t('Usernames, with spaces between.')} />
      )}
    </>
  )
}

export const LabelsFields = ({ view, fields, choices, names }: PartProps & { names: string[] }) => (
  <LabelFields view={view} labels={choices.labels} chosen={names} fields={fields} filtered />
)

/** One of the open milestones, or the one that it has. */
export function MilestoneFields({ view, fields: f, choices, milestone }: PartProps & { milestone: { id: number; title: string } | null }) {
  const offered = choices.milestones.slice(0, MAX_CHOICES)
  const all = [...(milestone && !offered.some(({ id }) => id === milestone.id) ? [milestone] : []), ...offered]
  return (
    <FilteredRadios
      view={view}
      name={f.milestone_id.name}
      legend={t('Milestone')}
      filter={t('Filter milestones')}
      value={String(milestone?.id ?? 0)}
      choices={[{ value: '0', label: t('None') }, ...all.map(({ id, title }) => ({ value: String(id), label: title }))]}
    />
  )
}
