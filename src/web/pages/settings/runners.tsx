import type { VNode } from 'preact'
import { z } from 'zod'
import type { Access } from '../../../access/access.js'
import { adminPage, type GroupSubject, type ProjectSubject } from '../../../access/rules.js'
import { notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, commaList, orDefault, paging, rowId } from '../../../http/params.js'
import { newRunnerOf } from '../../../services/ci/runners/create.js'
import { getRunner, listRunners, type RunnerList, type RunnerRecord, updateRunner } from '../../../services/ci/runners/list.js'
import { type RunnerScope, removeRunner, type SeenRunner, tagsOf } from '../../../services/ci/runners/runners.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t, text } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import type { SettingsProps } from '../../layout/manage.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { ofGroup, ofProject } from './places.js'

const PER_PAGE = 30
const SECRET = { 'cache-control': 'no-store' }

/** What the runners of the service, of a group and of a project differ in. */
interface RunnerPlace<Subject> {
  at: string
  access: Access<Subject, true>
  /** The address of the list, without the prefix of the service. */
  home(subject: Subject): string
  name(subject: Subject): string
  list(subject: Subject): RunnerList
  scope(subject: Subject): RunnerScope
  /** Whether a runner of the list is changed here. */
  isOwn(subject: Subject, runner: SeenRunner): boolean
  /** Whether this is a runner of the place. */
  has(subject: Subject, record: RunnerRecord): boolean
  Frame(props: Omit<SettingsProps<Subject>, 'at'>): VNode
}

const theService: RunnerPlace<null> = {
  at: '/admin/runners',
  access: adminPage,
  home: () => '/admin/runners',
  name: () => t('Administration'),
  list: () => ({ of: 'all' }),
  scope: () => ({ kind: 'instance_type', group_id: null, project_id: null }),
  isOwn: () => true,
  has: () => true,
  Frame: ({ view, title, children }) => (
    <AdminLayout view={view} at="/admin/runners" title={title}>
      {children}
    </AdminLayout>
  ),
}

const theGroup: RunnerPlace<GroupSubject> = {
  at: 'G/-/runners',
  access: ofGroup.on('manage_runners'),
  home: (subject) => `${ofGroup.home(subject)}/-/runners`,
  name: ({ group }) => group.full_path,
  list: ({ group }) => ({ of: 'group', group: group.id }),
  scope: ({ group }) => ({ kind: 'group_type', group_id: group.id, project_id: null }),
  isOwn: ({ group }, runner) => runner.group_id === group.id,
  has: ({ group }, { runner }) => runner.group_id === group.id,
  Frame: (props) => <ofGroup.Frame at="-/runners" {...props} />,
}

const theProject: RunnerPlace<ProjectSubject> = {
  at: 'P/-/runners',
  access: ofProject.on('manage_runners'),
  home: (subject) => `${ofProject.home(subject)}/-/runners`,
  name: (subject) => ofProject.source(subject).name,
  list: ({ project }) => ({ of: 'project', project: project.id }),
  scope: ({ project }) => ({ kind: 'project_type', group_id: null, project_id: project.id }),
  isOwn: (_, runner) => runner.kind === 'project_type',
  has: ({ project }, { projects }) => projects.some(({ id }) => id === project.id),
  Frame: (props) => <ofProject.Frame at="-/runners" {...props} />,
}

const KINDS = { instance_type: text('Of all projects'), group_type: text('Of a group'), project_type: text('Of projects') } as const

function RunnerState({ runner }: { runner: SeenRunner }) {
  if (runner.paused) return <Badge kind="waiting">{t('paused')}</Badge>
  if (runner.contacted_at === null) return <Badge>{t('never seen')}</Badge>
  return runner.online ? <Badge kind="success">{t('online')}</Badge> : <Badge kind="danger">{t('offline')}</Badge>
}

interface RunnerRowProps {
  view: PageView
  runner: SeenRunner
  /** The address of the runner's forms; null: it is changed elsewhere. */
  action: string | null
}

const RunnerRow = ({ view, runner, action }: RunnerRowProps) => (
  <Row
    actions={
      action && (
        <>
          <ActionButton
            view={view}
            action={`${action}/${runner.paused ? 'resume' : 'pause'}`}
            label={runner.paused ? t('Resume') : t('Pause')}
            what={`#${runner.id}`}
          />
          <ActionButton view={view} action={action} method="DELETE" label={t('Remove')} what={`#${runner.id}`} class="danger" />
        </>
      )
    }
  >
    <span class="wrap">
      <strong>
        #{runner.id} {runner.description}
      </strong>{' '}
      <RunnerState runner={runner} />
      {runner.tags.map((tag) => (
        <>
          {' '}
          <Badge key={tag} kind="outline">
            {tag}
          </Badge>
        </>
      ))}
    </span>
    <span class="dim">
      {t(KINDS[runner.kind])}
      {!runner.run_untagged && t(', only jobs with tags')}
      {runner.protected && t(', only protected branches and tags')}
      {runner.locked && t(', locked')}
      {runner.info.version && ` · ${t('version {version}', { version: runner.info.version })}`}
      {runner.contacted_at && (
        <>
          {' · '}
          <Phrase text="seen {time}" time={<Time at={runner.contacted_at} />} />
        </>
      )}
    </span>
  </Row>
)

const flag = orDefault(bool(), false)
const newRunner = z.object({
  runner: z.object({
    description: orDefault(documented.short(), ''),
    tag_list: orDefault(commaList(), []),
    run_untagged: flag,
    protected: flag,
    locked: flag,
  }),
})
const byId = z.object({ runner_id: rowId() })

/** The runners of a place (WB-705). */
function runnersOf<Subject>(of: RunnerPlace<Subject>) {
  const { at, access } = of

  const runnersPage = page({
    at,
    access,
    input: z.object({ page: paging.page }),
    async show({ ctx, subject, input, view }) {
      const { items, total } = await listRunners(ctx, of.list(subject), { page: input.page, per_page: PER_PAGE })
      const home = of.home(subject)
      const f = fieldsOf(view, newRunner).runner
      return {
        title: `${t('Runners')} · ${of.name(subject)}`,
        body: (
          <of.Frame view={view} subject={subject} title={t('Runners')}>
            <p>{t('Runners take the jobs of pipelines: machines of yours on which GitLab Runner is installed.')}</p>
            <Rows empty={t('There are no runners: jobs wait until there is one.')}>
              {items.map((runner) => (
                <RunnerRow key={runner.id} view={view} runner={runner} action={of.isOwn(subject, runner) ? `${home}/${runner.id}` : null} />
              ))}
            </Rows>
            <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
            <h2>{t('New runner')}</h2>
            <FormTag view={view} action={home} once>
              <FormFaults view={view} />
              <Field {...f.description} label={t('Description')} hint={t('The machine, or what it is for.')} />
              <Field {...f.tag_list} label={t('Tags')} hint={t('Separated by commas. A job with tags runs where all of them are.')} />
              <Checkbox {...f.run_untagged} label={t('Takes jobs without tags')} checked />
              <Checkbox {...f.protected} label={t('Only for protected branches and tags')} />
              <Checkbox {...f.locked} label={t('Locked')} hint={t('It cannot be given to other projects.')} />
              <Submit label={t('New runner')} />
            </FormTag>
          </of.Frame>
        ),
      }
    },
  })

  const addition = form({
    at,
    access,
    input: newRunner,
    on: runnersPage,
    async submit({ ctx, caller, subject, input: { runner: given }, view }) {
      const { tag_list, description, ...rest } = given
      const { runner, token } = await newRunnerOf(ctx, caller, {
        ...of.scope(subject),
        ...rest,
        description: description.trim() || undefined,
        tags: tagsOf(tag_list),
      })
      return {
        title: t('New runner'),
        headers: SECRET,
        body: (
          <of.Frame view={view} subject={subject} title={t('Runner #{id}', { id: runner.id })}>
            <p>
              <Phrase
                text="{strong} Run this on the machine of the runner, where GitLab Runner is installed:"
                strong={<strong>{t('This is the only time that the token is shown.')}</strong>}
              />
            </p>
            <Copied
              id="register"
              label={t('Command')}
              value={`gitlab-runner register --non-interactive --url ${view.links.base} --token ${token} --executor shell`}
            />
            <p>
              <Phrase text="With Docker it ends in {code}." code={<code>--executor docker --docker-image alpine</code>} />
            </p>
            <p>
              <a href={view.links.prefix + of.home(subject)}>{t('All runners')}</a>
            </p>
          </of.Frame>
        ),
      }
    },
  })

  const pausing = (word: 'pause' | 'resume') =>
    form({
      at: `${at}/:runner_id/${word}`,
      access,
      input: byId,
      async submit({ ctx, caller, subject, input }) {
        if (!of.has(subject, await getRunner(ctx, caller.user, input.runner_id))) throw notFound()
        await updateRunner(ctx, caller.user, input.runner_id, { paused: word === 'pause' })
        return new Redirect(of.home(subject), { notice: word === 'pause' ? t('The runner takes no more jobs.') : t('The runner takes jobs again.') })
      },
    })

  const removal = form({
    at: `${at}/:runner_id`,
    method: 'DELETE',
    access,
    input: byId,
    async submit({ ctx, caller, subject, input }) {
      if (!of.has(subject, await getRunner(ctx, caller.user, input.runner_id))) throw notFound()
      await removeRunner(ctx, input.runner_id)
      return new Redirect(of.home(subject), { notice: t('The runner is removed.') })
    },
  })

  return [runnersPage, addition, pausing('pause'), pausing('resume'), removal]
}

export const serviceRunners = runnersOf(theService)
export const groupRunners = runnersOf(theGroup)
export const projectRunners = runnersOf(theProject)
