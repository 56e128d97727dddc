import { z } from 'zod'
import { onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, rowId, str } from '../../../http/params.js'
import type { Mirror } from '../../../services/projects/mirrors/address.js'
import { findPullMirror, startPull } from '../../../services/projects/mirrors/follow.js'
import {
  createPushMirror,
  deletePushMirror,
  getPushMirror,
  listPushMirrors,
  maySetUpMirrors,
  type PushMirrorAttributes,
  syncPushMirror,
  updatePushMirror,
} from '../../../services/projects/mirrors/mirrors.js'
import { updateProject } from '../../../services/projects/update.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, type BadgeKind, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t, text } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { titled, unchecked } from './project/settings.js'

const AT = '-/settings/mirrors'
const at = `P/${AT}` as const
const access = onProjectSignedIn('manage_mirrors')
const byId = { mirror_id: rowId() }
const address = () => orDefault(str(), '')
/** More than a project may have. */
const ALL = { page: 1, per_page: 100 }

const push = z.object({
  mirror: z.object({
    url: orDefault(documented.filled(), ''),
    enabled: unchecked(),
    only_protected_branches: unchecked(),
    keep_divergent_refs: unchecked(),
  }),
})
const pull = z.object({
  project: z.object({
    import_url: address(),
    mirror: unchecked(),
    mirror_trigger_builds: unchecked(),
    only_mirror_protected_branches: unchecked(),
    mirror_overwrites_diverged_branches: unchecked(),
  }),
})

const pathOf = (subject: ProjectSubject) => `${homeOfProject(subject)}/${AT}`

const STATES = {
  none: ['', text('not updated yet')],
  scheduled: ['waiting', text('waiting')],
  started: ['running', text('running')],
  finished: ['success', text('up to date')],
  to_retry: ['waiting', text('tried again soon')],
  failed: ['danger', text('failed')],
} as const satisfies Record<Mirror['update_status'], readonly [BadgeKind, string]>

function State({ mirror }: { mirror: Mirror }) {
  const [kind, label] = mirror.enabled ? STATES[mirror.update_status] : (['outline', text('off')] as const)
  const { last_successful_update_at: last } = mirror
  return (
    <>
      <span>
        <Badge kind={kind}>{t(label)}</Badge>{' '}
        {last && (
          <span class="dim">
            <Phrase text="updated {time}" time={<Time at={last} />} />
          </span>
        )}
      </span>
      {mirror.enabled && mirror.last_error && <pre class="wrap">{mirror.last_error}</pre>}
    </>
  )
}

function PushFields({ view, mirror }: { view: PageView; mirror?: Mirror }) {
  const f = fieldsOf(view, push).mirror
  return (
    <>
      <FormFaults view={view} />
      <Field
        {...f.url}
        label={t('Address')}
        value={mirror?.url}
        autocomplete="off"
        hint={
          mirror?.sealed_url
            ? t('As it is shown here, it keeps its user and password.')
            : t('Begins with https. A user and a password or token stand before the host: https://user:token@host/path.git')
        }
      />
      <Checkbox {...f.enabled} label={t('Push to it with each push')} checked={mirror?.enabled ?? true} />
      <Checkbox {...f.only_protected_branches} label={t('Only protected branches')} checked={mirror?.only_protected_branches ?? false} />
      <Checkbox
        {...f.keep_divergent_refs}
        label={t('Keep what it has of other commits')}
        hint={t('Nothing is overwritten or deleted there.')}
        checked={mirror ? !mirror.overwrites_diverged : false}
      />
    </>
  )
}

interface ShownMirror<M> {
  view: PageView
  subject: ProjectSubject
  mirror: M
  mayChange: boolean
}

function PushRow({ view, subject, mirror, mayChange }: ShownMirror<Mirror>) {
  const to = `${pathOf(subject)}/${mirror.id}`
  return (
    <Row
      actions={
        <>
          {mirror.enabled && <ActionButton view={view} action={`${to}/sync`} label={t('Update now')} what={mirror.url} />}
          {mayChange && (
            <a class="button" href={`${view.links.prefix}${to}`} aria-label={t('Change {url}', { url: mirror.url })}>
              {t('Change')}
            </a>
          )}
          <ActionButton view={view} action={to} method="DELETE" label={t('Delete')} what={mirror.url} class="danger" />
        </>
      }
    >
      <code class="wrap">{mirror.url}</code>
      <State mirror={mirror} />
    </Row>
  )
}

function PullSection({ view, subject, mirror, mayChange }: ShownMirror<Mirror | null>) {
  const f = fieldsOf(view, pull).project
  return (
    <>
      <h2>{t('Pull from another repository')}</h2>
      <p>{t('The project follows that repository: every 30 minutes its branches and tags are brought here.')}</p>
      {mirror?.enabled && (
        <ul class="rows">
          <Row actions={<ActionButton view={view} action={`${pathOf(subject)}/pull`} label={t('Update now')} what={mirror.url} />}>
            <code class="wrap">{mirror.url}</code>
            <State mirror={mirror} />
          </Row>
        </ul>
      )}
      {!mayChange && mirror?.enabled && (
        <ActionButton
          view={view}
          action={`${pathOf(subject)}/pull`}
          method="PUT"
          label={t('Stop following')}
          fields={{ 'project[import_url]': mirror.url }}
          class="danger"
        />
      )}
      {mayChange && (
        <FormTag view={view} action={`${pathOf(subject)}/pull`} method="PUT">
          <Field
            {...f.import_url}
            label={t('Address')}
            value={mirror?.url ?? subject.project.import_url ?? ''}
            autocomplete="off"
            hint={mirror?.sealed_url ? t('As it is shown here, it keeps its user and password.') : undefined}
          />
          <Checkbox {...f.mirror} label={t('Follow it')} hint={t('With your rights, as your pushes.')} checked={mirror?.enabled ?? false} />
          <Checkbox {...f.mirror_trigger_builds} label={t('Run pipelines for what it brings')} checked={mirror?.trigger_builds ?? false} />
          <Checkbox {...f.only_mirror_protected_branches} label={t('Only protected branches')} checked={mirror?.only_protected_branches ?? false} />
          <Checkbox
            {...f.mirror_overwrites_diverged_branches}
            label={t('Overwrite branches that have other commits here')}
            hint={t('Those commits are lost.')}
            checked={mirror?.overwrites_diverged ?? false}
          />
          <Submit label={t('Save')} />
        </FormTag>
      )}
    </>
  )
}

/** Both kinds of mirrors (PM-26). */
const mirrorsPage = page({
  at,
  access,
  async show({ ctx, subject, view }) {
    const [{ items }, pulled, mayChange] = await Promise.all([
      listPushMirrors(ctx, subject, ALL),
      findPullMirror(ctx, subject.project.id),
      maySetUpMirrors(ctx, subject.user),
    ])
    return {
      title: titled(t('Mirrors'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at={AT} title={t('Mirrors')}>
          {!mayChange && <p>{t('Only administrators set up mirrors on this service; those that are there go on.')}</p>}
          <h2>{t('Push to other repositories')}</h2>
          <p>{t('Branches and tags go there after each push. Neither the wiki nor files of Git LFS are sent.')}</p>
          <Rows empty={t('There are no mirrors.')}>
            {items.map((mirror) => (
              <PushRow key={mirror.id} view={view} subject={subject} mirror={mirror} mayChange={mayChange} />
            ))}
          </Rows>
          {mayChange && (
            <>
              <h3>{t('New mirror')}</h3>
              <FormTag view={view} action={pathOf(subject)} once>
                <PushFields view={view} />
                <Submit label={t('Add mirror')} />
              </FormTag>
            </>
          )}
          <PullSection view={view} subject={subject} mirror={pulled} mayChange={mayChange} />
        </ProjectSettings>
      ),
    }
  },
})

const mirrorPage = page({
  at: `${at}/:mirror_id`,
  access,
  input: z.object(byId),
  async show({ ctx, subject, input, view }) {
    const mirror = await getPushMirror(ctx, subject, input.mirror_id)
    return {
      title: titled(t('Mirror'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at={AT} title={t('Mirror')}>
          <State mirror={mirror} />
          <FormTag view={view} action={`${pathOf(subject)}/${mirror.id}`} method="PUT">
            <PushFields view={view} mirror={mirror} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

const addition = form({
  at,
  access,
  input: push,
  on: mirrorsPage,
  async submit({ ctx, subject, input: { mirror } }) {
    await createPushMirror(ctx, subject, mirror satisfies PushMirrorAttributes)
    return new Redirect(pathOf(subject), { notice: t('The mirror is added. It is updated with the next push.') })
  },
})

const change = form({
  at: `${at}/:mirror_id`,
  method: 'PUT',
  access,
  input: z.object({ ...byId, ...push.shape }),
  on: mirrorPage,
  async submit({ ctx, subject, input: { mirror_id, mirror } }) {
    await updatePushMirror(ctx, subject, mirror_id, mirror)
    return new Redirect(pathOf(subject), { notice: t('The changes are saved.') })
  },
})

const removal = form({
  at: `${at}/:mirror_id`,
  method: 'DELETE',
  access,
  input: z.object(byId),
  async submit({ ctx, subject, input }) {
    await deletePushMirror(ctx, subject, input.mirror_id)
    return new Redirect(pathOf(subject), { notice: t('The mirror is deleted. What it has got stays there.') })
  },
})

const sync = form({
  at: `${at}/:mirror_id/sync`,
  access,
  input: z.object(byId),
  async submit({ ctx, subject, input }) {
    await syncPushMirror(ctx, subject, input.mirror_id)
    return new Redirect(pathOf(subject), { notice: t('It is updated within a minute.') })
  },
})

const following = form({
  at: `${at}/pull`,
  method: 'PUT',
  access,
  input: pull,
  on: mirrorsPage,
  async submit({ ctx, caller, subject, input: { project } }) {
    const known = await findPullMirror(ctx, subject.project.id)
    // without a mirror there is nothing to switch off
    if (project.mirror || known) {
      const { import_url, ...rest } = project
      const isSame = import_url.trim() === known?.url || (!project.mirror && !known?.enabled)
      await updateProject(ctx, caller, subject, { ...rest, ...(!isSame && { import_url }) })
    }
    return new Redirect(pathOf(subject), { notice: project.mirror ? t('The project follows it.') : t('The project follows no other repository.') })
  },
})

const pulling = form({
  at: `${at}/pull`,
  access,
  async submit({ ctx, subject }) {
    await startPull(ctx, subject)
    return new Redirect(pathOf(subject), { notice: t('It is updated soon.') })
  },
})

export const mirrors = [mirrorsPage, mirrorPage, addition, change, removal, sync, following, pulling]
