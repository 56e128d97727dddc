import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import { oneOf, opt, paging, rowId, str } from '../../../../http/params.js'
import { type DeploymentRecord, lastDeployments, listDeployments } from '../../../../services/ci/environments/deployments.js'
import { type Environment, getEnvironment, listEnvironments } from '../../../../services/ci/environments/environments.js'
import { stopEnvironment, stoppableEnvironments } from '../../../../services/ci/environments/stop.js'
import { AppLink } from '../../../components/app-link.js'
import { Facts } from '../../../components/facts.js'
import { PipelineBadge, shortId } from '../../../components/files/code.js'
import { ActionButton } from '../../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../../components/list.js'
import { PersonLink } from '../../../components/people/person-link.js'
import { SearchForm } from '../../../components/search.js'
import { Time } from '../../../components/time.js'
import { said, t } from '../../../language/language.js'
import { ProjectLayout } from '../../../layout/project.js'
import { projectLinks } from '../../../links.js'
import { form, type PageView, page, Redirect } from '../../../page.js'
import { ciAddress } from './shared.js'

const PER_PAGE = 30
const reads = onProjectSignedIn('read_environment')
const STATES = ['available', 'stopped'] as const

interface Props {
  view: PageView
  subject: ProjectSubject
  environment: Environment
}

const StateBadge = ({ state }: Pick<Environment, 'state'>) =>
  state === 'available' ? null : <Badge kind={state === 'stopping' ? 'waiting' : 'outline'}>{said(state)}</Badge>

const Actions = ({ view, subject, environment, mayStop }: Props & { mayStop: boolean }) => (
  <>
    <AppLink environment={environment} class="button" />
    {mayStop && (
      <ActionButton view={view} action={ciAddress(subject, `environments/${environment.id}/stop`)} label={t('Stop')} what={environment.name} />
    )}
  </>
)

/** What was deployed: the commit, by which job, by whom and when. */
function Deployed({ view, subject, record: { deployment, user, job } }: Omit<Props, 'environment'> & { record: DeploymentRecord }) {
  const links = projectLinks(view, fullPathOf(subject.project))
  return (
    <span class="dim">
      {deployment.ref}{' '}
      <a href={links.commit(deployment.sha)}>
        <code>{shortId(deployment.sha)}</code>
      </a>{' '}
      {job && (
        <>
          · <a href={links.page(`jobs/${job.status.id}`)}>{job.status.name}</a>{' '}
        </>
      )}
      {user && (
        <>
          · <PersonLink view={view} user={user} />{' '}
        </>
      )}
      · <Time at={deployment.finished_at ?? deployment.created_at} />
    </span>
  )
}

export const environmentsPage = page({
  at: 'P/-/environments',
  access: reads,
  input: z.object({ scope: opt(oneOf(STATES)), search: opt(str()), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { scope, search } = input
    const { items, total } = await listEnvironments(ctx, subject, { states: scope, search, page: input.page, per_page: PER_PAGE })
    const ids = items.map(({ id }) => id)
    const [last, stoppable] = await Promise.all([lastDeployments(ctx, subject, ids), stoppableEnvironments(ctx, subject, caller, items)])
    const links = projectLinks(view, fullPathOf(subject.project))
    const tools = (
      <>
        <nav class="group" aria-label={t('State of environments')}>
          {[undefined, ...STATES].map((state) => (
            <a
              key={state}
              class="button"
              href={`${links.page('environments')}?${new URLSearchParams({ ...(state && { scope: state }), ...(search && { search }) })}`}
              {...(state === scope && { 'aria-current': 'page' })}
            >
              {state ? said(state.charAt(0).toUpperCase() + state.slice(1)) : t('All')}
            </a>
          ))}
        </nav>
        <a class="button" href={links.page('pipelines')}>
          {t('Pipelines')}
        </a>
      </>
    )
    return {
      title: `${t('Environments')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci" heading={t('Environments')} tools={tools}>
          <SearchForm action={links.page('environments')} label={t('Name')} name="search" value={search} hidden={scope ? { scope } : {}} />
          <Rows
            empty={
              search || scope
                ? t('There are no such environments.')
                : t('There is no environment yet: a job with environment makes one, and so does a program that reports deployments.')
            }
          >
            {items.map((environment) => {
              const record = last.get(environment.id)
              return (
                <Row
                  key={environment.id}
                  actions={<Actions view={view} subject={subject} environment={environment} mayStop={stoppable.has(environment.id)} />}
                >
                  <span>
                    <a href={links.page(`environments/${environment.id}`)}>
                      <strong>{environment.name}</strong>
                    </a>{' '}
                    {environment.tier !== 'other' && <Badge kind="outline">{said(environment.tier)}</Badge>} <StateBadge state={environment.state} />
                  </span>
                  {record ? <Deployed view={view} subject={subject} record={record} /> : <span class="dim">{t('Nothing was deployed yet.')}</span>}
                </Row>
              )
            })}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const environmentPage = page({
  at: 'P/-/environments/:environment_id',
  access: reads,
  input: z.object({ environment_id: rowId(), page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const environment = await getEnvironment(ctx, subject, input.environment_id)
    const paged = { page: input.page, per_page: PER_PAGE }
    const { items, total } = await listDeployments(ctx, subject, { environment: environment.name, order_by: 'id', sort: 'desc', ...paged })
    const stoppable = await stoppableEnvironments(ctx, subject, caller, [environment])
    return {
      title: `${environment.name} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <div class="heading">
            <h1>
              {environment.name} <StateBadge state={environment.state} />
            </h1>
            <div class="toolbar">
              <Actions view={view} subject={subject} environment={environment} mayStop={stoppable.has(environment.id)} />
            </div>
          </div>
          <Facts
            facts={[
              [t('Tier'), environment.tier],
              [t('Slug'), environment.slug],
              [t('Stops'), environment.auto_stop_at && <Time at={environment.auto_stop_at} />],
              [t('Created'), <Time key="created" at={environment.created_at} />],
            ]}
          />
          <h2>{t('Deployments')}</h2>
          <Rows empty={t('Nothing was deployed yet.')}>
            {items.map((record) => (
              <Row key={record.deployment.id} actions={<PipelineBadge state={record.deployment.status} />}>
                <strong>#{record.deployment.iid}</strong>
                <Deployed view={view} subject={subject} record={record} />
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const environmentStop = form({
  at: 'P/-/environments/:environment_id/stop',
  access: onProjectSignedIn('manage_environment'),
  input: z.object({ environment_id: rowId() }),
  async submit({ ctx, subject, caller, input }) {
    const { state } = await stopEnvironment(ctx, subject, caller, input.environment_id)
    const notice = state === 'stopping' ? t('The job that stops the environment is started.') : t('The environment is stopped.')
    return new Redirect(ciAddress(subject, 'environments'), { notice })
  },
})
