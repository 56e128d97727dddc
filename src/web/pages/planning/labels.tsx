import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import { onProjectSignedIn } from '../../../access/rules.js'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, opt, orDefault, paging, searchText, str } from '../../../http/params.js'
import {
  createLabel,
  deleteLabel,
  getLabel,
  type LabelRecord,
  listLabels,
  subscribeToLabel,
  updateLabel,
} from '../../../services/issuables/labels.js'
import { promoteLabel } from '../../../services/issuables/promote-label.js'
import { ActionButton, DataList, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { LabelTag } from '../../components/issuable/labels.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { SearchForm } from '../../components/search.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Planning } from './sources.js'

const PER_PAGE = 50

const fields = z.object({
  label: z.object({
    title: orDefault(documented.labelTitle(), ''),
    color: orDefault(documented.filled(), ''),
    description: orDefault(str(), ''),
    priority: orDefault(str(), ''),
  }),
})

/** A priority as it was typed; none is no priority. */
function priorityOf(text: string): number | null {
  if (text.trim() === '') return null
  if (!/^\d{1,9}$/.test(text.trim())) throw invalidRecord({ priority: ['must be a number'] })
  return Number(text)
}

const COLORS = ['#d9534f', '#f0ad4e', '#5cb85c', '#428bca', '#7f5ab6', '#34495e']

const LabelFields = ({ view, label }: { view: PageView; label?: LabelRecord['label'] }) => {
  const f = fieldsOf(view, fields).label
  return (
    <>
      <FormFaults view={view} />
      <Field {...f.title} label={t('Name')} value={label?.title} hint={t('Without commas.')} autofocus />
      <Field {...f.color} label={t('Colour')} value={label?.color ?? '#428bca'} hint={t('Such as #428bca, or the name of a colour.')} list="colors" />
      <DataList id="colors" values={COLORS} />
      <Field {...f.description} label={t('Description')} value={label?.description} />
      <Field {...f.priority} type="number" label={t('Priority')} value={label?.priority?.toString()} hint={t('0 comes first; empty for none.')} />
    </>
  )
}

function labelsOf<Subject extends ProjectSubject | GroupSubject>(of: Planning<Subject>) {
  const list = (subject: Subject) => `${of.home(subject)}/-/labels`
  const edit = (subject: Subject, id: number) => `${list(subject)}/${id}/edit`

  const labelsPage = page({
    at: `${of.at}/labels`,
    access: of.readLabels,
    input: z.object({ search: opt(searchText()), page: paging.page }),
    async show({ ctx, caller, subject, input, view }) {
      const wanted = { search: input.search, include_ancestor_groups: true, page: input.page, per_page: PER_PAGE }
      const { items, total } = await listLabels(ctx, caller, of.source(subject), wanted)
      const mayManage = of.may(subject, 'manage_label')
      const at = list(subject)
      const sorted = [...items].sort((a, b) => (a.label.priority ?? Number.MAX_SAFE_INTEGER) - (b.label.priority ?? Number.MAX_SAFE_INTEGER))
      return {
        title: `${t('Labels')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="labels">
            <div class="heading">
              <h1>{t('Labels')}</h1>
              {mayManage && (
                <a class="button primary" href={`${view.links.prefix}${at}/new`}>
                  {t('New label')}
                </a>
              )}
            </div>
            <SearchForm action={view.links.prefix + at} label={t('Find a label')} value={input.search} />
            <Rows empty={input.search ? t('No label has this in its name.') : t('There are no labels yet.')}>
              {sorted.map(({ label, open_issues_count, open_merge_requests_count, subscribed }) => {
                const isOwn = 'project' in of.source(subject) ? label.project_id !== null : label.namespace_id === ownGroup(of.source(subject))
                const query = String(new URLSearchParams({ 'label_name[]': label.title }))
                return (
                  <Row
                    key={label.id}
                    actions={
                      <>
                        {of.at === 'P/-' && (
                          <ActionButton
                            view={view}
                            action={`${at}/${label.id}/toggle_subscription`}
                            label={subscribed ? t('Unsubscribe') : t('Subscribe')}
                            what={label.title}
                            fields={{ subscribed: String(!subscribed) }}
                          />
                        )}
                        {mayManage && isOwn && (
                          <a
                            class="button"
                            href={`${view.links.prefix}${edit(subject, label.id)}`}
                            aria-label={t('Edit {title}', { title: label.title })}
                          >
                            {t('Edit')}
                          </a>
                        )}
                      </>
                    }
                  >
                    <span>
                      <LabelTag label={{ name: label.title, color: label.color }} />{' '}
                      {label.priority !== null && (
                        <Badge>
                          <Phrase text="priority {priority}" priority={label.priority} />
                        </Badge>
                      )}{' '}
                      {!isOwn && <Badge>{t('of a group above')}</Badge>}
                    </span>
                    <span class="dim">
                      {label.description && `${label.description} · `}
                      <a href={`${view.links.prefix}${of.home(subject)}/-/issues?${query}`}>
                        {plural(open_issues_count, '{count} open issue', '{count} open issues')}
                      </a>
                      {' · '}
                      <a href={`${view.links.prefix}${of.home(subject)}/-/merge_requests?${query}`}>
                        {plural(open_merge_requests_count, '{count} open merge request', '{count} open merge requests')}
                      </a>
                    </span>
                  </Row>
                )
              })}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          </of.Frame>
        ),
      }
    },
  })

  const newLabelPage = page({
    at: `${of.at}/labels/new`,
    access: of.manageLabels,
    async show({ subject, view }) {
      return {
        title: `${t('New label')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="labels">
            <h1>{t('New label')}</h1>
            <FormTag view={view} action={list(subject)}>
              <LabelFields view={view} />
              <Submit label={t('Create label')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const newLabel = form({
    at: `${of.at}/labels`,
    access: of.manageLabels,
    input: fields,
    on: newLabelPage,
    async submit({ ctx, subject, input: { label } }) {
      await createLabel(ctx, of.source(subject), { ...label, name: label.title, priority: priorityOf(label.priority) })
      return new Redirect(list(subject), { notice: t('The label {title} is created.', { title: label.title.trim() }) })
    },
  })

  const editLabelPage = page({
    at: `${of.at}/labels/:label_id/edit`,
    access: of.manageLabels,
    input: z.object({ label_id: str() }),
    async show({ ctx, caller, subject, input, view }) {
      const { label } = await getLabel(ctx, caller, of.source(subject), input.label_id, 'own')
      const at = `${list(subject)}/${label.id}`
      const source = of.source(subject)
      const mayPromote = 'project' in source && source.project.project.namespace.kind === 'group' && source.project.can('manage_project')
      return {
        title: `${t('Edit {title}', { title: label.title })} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} tab="labels">
            <h1>{t('Edit label')}</h1>
            <FormTag view={view} action={at} method="PUT">
              <LabelFields view={view} label={label} />
              <Submit label={t('Save changes')} />
            </FormTag>
            {mayPromote && (
              <>
                <h2>{t('Promote')}</h2>
                <p>{t('The label becomes one of the group, and replaces the labels of this name of all its projects.')}</p>
                <ActionButton view={view} action={`${at}/promote`} label={t('Promote to a label of the group')} />
              </>
            )}
            <h2>{t('Delete')}</h2>
            <p>{t('Issues and merge requests lose this label.')}</p>
            <ActionButton view={view} action={at} method="DELETE" label={t('Delete label')} class="danger" />
          </of.Frame>
        ),
      }
    },
  })

  const labelChange = form({
    at: `${of.at}/labels/:label_id`,
    method: 'PUT',
    access: of.manageLabels,
    input: fields.extend({ label_id: str() }),
    on: editLabelPage,
    async submit({ ctx, caller, subject, input: { label_id, label } }) {
      const { title, color, description, priority } = label
      await updateLabel(ctx, caller, of.source(subject), label_id, { new_name: title, color, description, priority: priorityOf(priority) })
      return new Redirect(list(subject), { notice: t('The label {title} is changed.', { title: title.trim() }) })
    },
  })

  const labelRemoval = form({
    at: `${of.at}/labels/:label_id`,
    method: 'DELETE',
    access: of.manageLabels,
    input: z.object({ label_id: str() }),
    async submit({ ctx, caller, subject, input }) {
      await deleteLabel(ctx, caller, of.source(subject), input.label_id, () => undefined)
      return new Redirect(list(subject), { notice: t('Label deleted.') })
    },
  })

  return [labelsPage, newLabelPage, editLabelPage, newLabel, labelChange, labelRemoval]
}

const ownGroup = (source: { project: ProjectSubject } | { group: GroupSubject }) => ('group' in source ? source.group.group.id : null)

export const projectLabels = labelsOf(ofProject)
export const groupLabels = labelsOf(ofGroup)

export const labelSubscription = form({
  at: 'P/-/labels/:label_id/toggle_subscription',
  access: ofProject.readLabels,
  input: z.object({ label_id: str(), subscribed: orDefault(bool(), true) }),
  async submit({ ctx, caller, subject, input }) {
    await subscribeToLabel(ctx, caller, { project: subject }, input.label_id, input.subscribed)
    return new Redirect(`${ofProject.home(subject)}/-/labels`, {
      notice: input.subscribed ? t('You are subscribed.') : t('You are no longer subscribed.'),
    })
  },
})

/** Promotes a label of a project to one of its group (WB-130). */
export const labelPromotion = form({
  at: 'P/-/labels/:label_id/promote',
  access: onProjectSignedIn('manage_project'),
  input: z.object({ label_id: str() }),
  async submit({ ctx, caller, subject, input }) {
    const { label } = await getLabel(ctx, caller, { project: subject }, input.label_id, 'own')
    const group = await promoteLabel(ctx, caller, subject, label)
    return new Redirect(`/groups/${inUrl(group)}/-/labels`, { notice: t('The label {title} is one of the group now.', { title: label.title }) })
  },
})
