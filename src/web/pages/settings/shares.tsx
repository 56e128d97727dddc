import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, getGroupFor, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { Failure, invalidRecord, notFound } from '../../../failures.js'
import { clearableDate, int, opt, orDefault, rowId, str, where } from '../../../http/params.js'
import { loadProject } from '../../../services/projects/load.js'
import { changeShare, shareProject, unshareProject } from '../../../services/projects/shares.js'
import { ActionButton, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { levelChoices, levelName } from '../../components/levels.js'
import { Row, Rows } from '../../components/list.js'
import { dayText } from '../../components/time.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const LEVELS = [10, 20, 30, 40]
const manage = onProjectSignedIn('manage_shares')
const list = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/project_members`
const level = () => where(int(), (given) => LEVELS.includes(given), 'does not have a valid value')
const byGroup = { group_id: rowId() }

/** The groups that a project is shared with. */
export async function sharesSection(ctx: Context, { user }: SignedIn, subject: ProjectSubject, view: PageView) {
  const shares = (await loadProject(ctx, user, subject.project.id)).shares ?? []
  const manages = subject.can('manage_shares')
  if (shares.length === 0 && !manages) return null
  const at = `${homeOfProject(subject)}/-/group_links`
  return (
    <section>
      <div class="heading">
        <h2>Groups with access</h2>
        {manages && (
          <a class="button" href={`${view.links.prefix}${at}/new`}>
            Share with a group
          </a>
        )}
      </div>
      <Rows empty="This project is shared with no group.">
        {shares.map(({ group_id, group_full_path, group_access_level, expires_at }) => (
          <Row
            key={group_id}
            actions={
              manages && (
                <>
                  <a class="button" href={`${view.links.prefix}${at}/${group_id}`} aria-label={`Change ${group_full_path}`}>
                    Change
                  </a>
                  <ActionButton view={view} action={`${at}/${group_id}`} method="DELETE" label="Remove" what={group_full_path} class="danger" />
                </>
              )
            }
          >
            <strong>
              <a href={`${view.links.prefix}/groups/${inUrl(group_full_path)}`}>{group_full_path}</a>
            </strong>
            <span class="dim">
              At most {levelName(group_access_level)}
              {expires_at && ` · until ${dayText(new Date(expires_at))}`}
            </span>
          </Row>
        ))}
      </Rows>
    </section>
  )
}

const fields = { group_access: orDefault(level(), 30), expires_at: opt(clearableDate()) }

const ShareFields = ({ view, share }: { view: PageView; share?: { group_access: number; expires_at: string | null } }) => (
  <>
    <SelectField
      view={view}
      name="share[group_access]"
      label="Highest role"
      value={String(share?.group_access ?? 30)}
      choices={levelChoices(LEVELS)}
      hint="Members of the group have their role there, but at most this one."
    />
    <Field view={view} name="share[expires_at]" label="Until" type="date" value={share?.expires_at} hint="Empty: for good." />
  </>
)

export const newSharePage = page({
  at: 'P/-/group_links/new',
  access: manage,
  input: z.object({}),
  async show({ subject, view }) {
    return {
      title: `Share with a group · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="members">
          <div class="page-form">
            <h1>Share with a group</h1>
            <FormTag view={view} action={`${homeOfProject(subject)}/-/group_links`}>
              <FormFaults view={view} fields={['group', 'group_access', 'expires_at']} />
              <Field view={view} name="share[group]" label="Group" hint="Its path." autofocus required />
              <ShareFields view={view} />
              <Submit label="Share project" />
            </FormTag>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

export const shareForm = form({
  at: 'P/-/group_links',
  method: 'POST',
  access: manage,
  input: z.object({ share: z.object({ group: orDefault(str(), ''), ...fields }) }),
  on: newSharePage,
  async submit({ ctx, caller, subject, input: { share } }) {
    const { group } = await getGroupFor(ctx, caller, share.group.trim()).catch((error: unknown) => {
      throw error instanceof Failure ? invalidRecord({ group: ['is none that you may see'] }) : error
    })
    await shareProject(ctx, caller, subject, { ...share, group_id: group.id })
    return new Redirect(list(subject), { notice: `The project is shared with ${group.full_path}.` })
  },
})

export const sharePage = page({
  at: 'P/-/group_links/:group_id',
  access: manage,
  input: z.object(byGroup),
  async show({ ctx, caller, subject, input, view }) {
    const shares = (await loadProject(ctx, caller.user, subject.project.id)).shares ?? []
    const share = shares.find(({ group_id }) => group_id === input.group_id)
    if (!share) throw notFound('Group Link')
    return {
      title: `${share.group_full_path} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="members">
          <div class="page-form">
            <h1>{share.group_full_path}</h1>
            <FormTag view={view} action={`${homeOfProject(subject)}/-/group_links/${share.group_id}`} method="PUT">
              <FormFaults view={view} fields={['group_access', 'expires_at']} />
              <ShareFields view={view} share={{ group_access: share.group_access_level, expires_at: share.expires_at }} />
              <Submit label="Save changes" />
            </FormTag>
          </div>
        </ProjectLayout>
      ),
    }
  },
})

export const shareChange = form({
  at: 'P/-/group_links/:group_id',
  method: 'PUT',
  access: manage,
  input: z.object({ ...byGroup, share: z.object(fields) }),
  on: sharePage,
  async submit({ ctx, subject, input: { group_id, share } }) {
    await changeShare(ctx, subject, { group_id, ...share })
    return new Redirect(list(subject), { notice: 'The share is changed.' })
  },
})

export const shareRemoval = form({
  at: 'P/-/group_links/:group_id',
  method: 'DELETE',
  access: manage,
  input: z.object(byGroup),
  async submit({ ctx, subject, input }) {
    await unshareProject(ctx, subject, input.group_id)
    return new Redirect(list(subject), { notice: 'The project is no longer shared with the group.' })
  },
})
