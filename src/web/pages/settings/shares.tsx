import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import type { SignedIn } from '../../../access/actor.js'
import { type GroupSubject, getGroupFor, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { Failure, invalidRecord, notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { clearableDate, oneOfNumbers, opt, orDefault, rowId } from '../../../http/params.js'
import { listGroups } from '../../../services/groups/list.js'
import { changeGroupShare, listGroupShares, type NewShare, shareGroup, unshareGroup } from '../../../services/groups/shares.js'
import { loadProject } from '../../../services/projects/load.js'
import { changeShare, shareProject, unshareProject } from '../../../services/projects/shares.js'
import { ActionButton, DataList, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { levelChoices, levelName } from '../../components/projects/levels.js'
import { dayText } from '../../components/time.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject, type Place } from './places.js'

/** How many of one's groups are offered; the path of any other can be typed. */
const MAX_OFFERED = 100

/** A share as the API shows it. */
interface Shown {
  group_id: number
  group_full_path: string
  group_access_level: number
  expires_at: string | null
}

/** What shares of a project and of a group differ in. */
interface Sharing<Subject> {
  of: Place<Subject>
  access: Access<Subject, true>
  levels: number[]
  hint: () => string
  list(ctx: Context, caller: SignedIn, subject: Subject): Promise<Shown[]>
  share(ctx: Context, caller: SignedIn, subject: Subject, given: NewShare): Promise<unknown>
  change(ctx: Context, subject: Subject, given: NewShare): Promise<void>
  unshare(ctx: Context, subject: Subject, groupId: number): Promise<void>
}

const projectSharing: Sharing<ProjectSubject> = {
  of: ofProject,
  access: onProjectSignedIn('manage_shares'),
  levels: [10, 20, 30, 40],
  hint: () => t('Members of the group have their role there, but at most this one.'),
  list: async (ctx, { user }, { project }) => (await loadProject(ctx, user, project.id)).shares ?? [],
  share: shareProject,
  change: changeShare,
  unshare: unshareProject,
}

const groupSharing: Sharing<GroupSubject> = {
  of: ofGroup,
  access: onGroupSignedIn('manage_members'),
  levels: [10, 20, 30, 40, 50],
  hint: () => t('Direct members of that group have their role there, but at most this one, here and in all that is in this group.'),
  list: (ctx, caller, { group }) => listGroupShares(ctx, caller, group.id),
  share: shareGroup,
  change: changeGroupShare,
  unshare: unshareGroup,
}

interface SectionProps {
  kind: Place<unknown>['kind']
  at: string
  view: PageView
  shares: Shown[]
  manages: boolean
}

const Section = ({ kind, at, view, shares, manages }: SectionProps) => (
  <section>
    <div class="heading">
      <h2>{t('Groups with access')}</h2>
      {manages && (
        <a class="button" href={`${view.links.prefix}${at}/new`}>
          {t('Share with a group')}
        </a>
      )}
    </div>
    <Rows empty={kind === 'project' ? t('This project is shared with no group.') : t('This group is shared with no group.')}>
      {shares.map(({ group_id, group_full_path, group_access_level, expires_at }) => (
        <Row
          key={group_id}
          actions={
            manages && (
              <>
                <a
                  class="button"
                  href={`${view.links.prefix}${at}/${group_id}`}
                  aria-label={t('Change {groupFullPath}', { groupFullPath: group_full_path })}
                >
                  {t('Change')}
                </a>
                <ActionButton view={view} action={`${at}/${group_id}`} method="DELETE" label={t('Remove')} what={group_full_path} class="danger" />
              </>
            )
          }
        >
          <strong>
            <a href={`${view.links.prefix}/groups/${inUrl(group_full_path)}`}>{group_full_path}</a>
          </strong>
          <span class="dim">
            <Phrase text="At most {levelName}" levelName={levelName(group_access_level)} />
            {expires_at && ` · ${t('until {day}', { day: dayText(new Date(expires_at)) })}`}
          </span>
        </Row>
      ))}
    </Rows>
  </section>
)

/** The groups that a project or a group is shared with. */
export async function sharesSection(ctx: Context, caller: SignedIn, subject: ProjectSubject | GroupSubject, view: PageView) {
  const isProject = 'project' in subject
  const shares = await (isProject ? projectSharing.list(ctx, caller, subject) : groupSharing.list(ctx, caller, subject))
  const manages = isProject ? subject.can('manage_shares') : subject.can('manage_members')
  if (shares.length === 0 && !manages) return null
  const at = `${isProject ? ofProject.home(subject) : ofGroup.home(subject)}/-/group_links`
  return <Section kind={isProject ? 'project' : 'group'} at={at} view={view} shares={shares} manages={manages} />
}

const shareFields = (levels: number[]) => z.object({ group_access: orDefault(oneOfNumbers(levels), 30), expires_at: opt(clearableDate()) })

interface FieldsProps {
  fields: Fields<z.infer<ReturnType<typeof shareFields>>>
  levels: number[]
  hint: () => string
  share?: Shown
}

const ShareFields = ({ fields: f, levels, hint, share }: FieldsProps) => {
  return (
    <>
      <SelectField
        {...f.group_access}
        label={t('Max role')}
        value={String(share?.group_access_level ?? 30)}
        choices={levelChoices(levels)}
        hint={hint()}
      />
      <Field {...f.expires_at} label={t('Until')} value={share?.expires_at} hint={t('Empty: for good.')} />
    </>
  )
}

function sharesOf<Subject extends ProjectSubject | GroupSubject>({ of, access, levels, hint, ...act }: Sharing<Subject>) {
  const at = `${of.at}/group_links` as const
  const home = (subject: Subject) => `${of.home(subject)}/-/group_links`
  const members = (subject: Subject) => `${of.home(subject)}/-/${of.members}`
  const newShare = z.object({ share: shareFields(levels).extend({ group: orDefault(documented.filled(), '') }) })
  const changedShare = z.object({ share: shareFields(levels) })
  const byGroup = { group_id: rowId() }

  const newSharePage = page({
    at: `${at}/new`,
    access,
    async show({ ctx, caller, subject, view }) {
      const filter = { min_access_level: 10, order_by: 'path', sort: 'asc', page: 1, per_page: MAX_OFFERED } as const
      const { items: own } = await listGroups(ctx, caller, filter)
      const { fullPath } = of.source(subject)
      const offered = own.filter(({ full_path }) => !`${fullPath}/`.startsWith(`${full_path}/`))
      const f = fieldsOf(view, newShare).share
      return {
        title: `${t('Share with a group')} · ${of.source(subject).name}`,
        body: (
          <of.MemberFrame view={view} subject={subject}>
            <div class="page-form">
              <h1>{t('Share with a group')}</h1>
              <FormTag view={view} action={home(subject)}>
                <FormFaults view={view} />
                <Field {...f.group} label={t('Group')} list="groups" hint={t('Its path.')} autofocus />
                <DataList id="groups" values={offered.map(({ full_path }) => full_path)} />
                <ShareFields fields={f} levels={levels} hint={hint} />
                <Submit label={of.kind === 'project' ? t('Share project') : t('Share group')} />
              </FormTag>
            </div>
          </of.MemberFrame>
        ),
      }
    },
  })

  const shareForm = form({
    at,
    access,
    input: newShare,
    on: newSharePage,
    async submit({ ctx, caller, subject, input: { share } }) {
      const { group } = await getGroupFor(ctx, caller, share.group.trim()).catch((error: unknown) => {
        throw error instanceof Failure ? invalidRecord({ group: ['is none that you may see'] }) : error
      })
      await act.share(ctx, caller, subject, { ...share, group_id: group.id })
      return new Redirect(members(subject), {
        notice:
          of.kind === 'project'
            ? t('The project is shared with {path}.', { path: group.full_path })
            : t('The group is shared with {path}.', { path: group.full_path }),
      })
    },
  })

  const sharePage = page({
    at: `${at}/:group_id`,
    access,
    input: z.object(byGroup),
    async show({ ctx, caller, subject, input, view }) {
      const share = (await act.list(ctx, caller, subject)).find(({ group_id }) => group_id === input.group_id)
      if (!share) throw notFound('Group Link')
      return {
        title: `${share.group_full_path} · ${of.source(subject).name}`,
        body: (
          <of.MemberFrame view={view} subject={subject}>
            <div class="page-form">
              <h1>{share.group_full_path}</h1>
              <FormTag view={view} action={`${home(subject)}/${share.group_id}`} method="PUT">
                <FormFaults view={view} />
                <ShareFields fields={fieldsOf(view, changedShare).share} levels={levels} hint={hint} share={share} />
                <Submit label={t('Save changes')} />
              </FormTag>
            </div>
          </of.MemberFrame>
        ),
      }
    },
  })

  const shareChange = form({
    at: `${at}/:group_id`,
    method: 'PUT',
    access,
    input: changedShare.extend(byGroup),
    on: sharePage,
    async submit({ ctx, subject, input: { group_id, share } }) {
      await act.change(ctx, subject, { group_id, ...share })
      return new Redirect(members(subject), { notice: t('Share updated.') })
    },
  })

  const shareRemoval = form({
    at: `${at}/:group_id`,
    method: 'DELETE',
    access,
    input: z.object(byGroup),
    async submit({ ctx, subject, input }) {
      await act.unshare(ctx, subject, input.group_id)
      return new Redirect(members(subject), {
        notice: of.kind === 'project' ? t('The project is no longer shared with the group.') : t('The group is no longer shared with the group.'),
      })
    },
  })

  return [newSharePage, sharePage, shareForm, shareChange, shareRemoval]
}

export const projectShares = sharesOf(projectSharing)
export const groupShares = sharesOf(groupSharing)
