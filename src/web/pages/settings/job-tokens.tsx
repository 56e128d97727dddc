import { z } from 'zod'
import { getGroupFor, getProjectFor, onProjectSignedIn } from '../../../access/rules.js'
import { nullOnFailure, refused } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, orDefault, paging, rowId } from '../../../http/params.js'
import { allowJobs, disallowJobs, listAllowedGroups, listAllowedProjects, setJobTokenScope } from '../../../services/projects/job-token-scope.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectSettings } from '../../layout/manage.js'
import { homeOfProject } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { ofProject } from './places.js'

const PER_PAGE = 50
const at = 'P/-/job_token_scope'
const access = onProjectSignedIn('manage_project')

const scope = z.object({ job_token_scope: z.object({ enabled: orDefault(bool(), false) }) })
const newAllowed = z.object({ allowed: z.object({ path: orDefault(documented.filled(), '') }) })

/** Which jobs may use a project with their token (CI-244). */
const scopePage = page({
  at,
  access,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const paged = { page: input.page, per_page: PER_PAGE }
    const [found, groups, { enforce_ci_inbound_job_token_scope_enabled: enforced }] = await Promise.all([
      listAllowedProjects(ctx, caller, subject, paged),
      listAllowedGroups(ctx, caller, subject, { page: 1, per_page: PER_PAGE }),
      ctx.caches.settings.read(),
    ])
    const home = `${homeOfProject(subject)}/-/job_token_scope`
    const allowed = [
      ...groups.items.map(({ id, full_path }) => ({ kind: 'group', id, path: full_path })),
      ...found.items
        .filter(({ project }) => project.id !== subject.project.id)
        .map(({ project, namespace }) => ({ kind: 'project', id: project.id, path: `${namespace.full_path}/${project.path}` })),
    ]
    const { path } = fieldsOf(view, newAllowed).allowed
    return {
      title: `${t('Job tokens')} · ${ofProject.source(subject).name}`,
      body: (
        <ProjectSettings view={view} subject={subject} at="-/job_token_scope" title={t('Job tokens')}>
          <p>
            <Phrase
              text="A job has a token, {code}, that reads what the user who started it may read, while it runs."
              code={<code>CI_JOB_TOKEN</code>}
            />
          </p>
          {enforced ? (
            <p>{t('Only jobs of this project and of those below may use it here: the settings of the service demand it.')}</p>
          ) : (
            <FormTag view={view} action={home} method="PUT">
              <Checkbox
                {...fieldsOf(view, scope).job_token_scope.enabled}
                label={t('Only jobs of this project and of those below may use it here')}
                hint={t('Otherwise jobs of all projects may, with what their user may do here.')}
                checked={subject.project.job_token_scope_enabled}
              />
              <Submit label={t('Save changes')} />
            </FormTag>
          )}
          <h2>{t('Allowed')}</h2>
          <Rows empty={t('No other project is allowed.')}>
            {allowed.map((each) => (
              <Row
                key={`${each.kind} ${each.id}`}
                actions={
                  <ActionButton
                    view={view}
                    action={`${home}/${each.kind}/${each.id}`}
                    method="DELETE"
                    label={t('Remove')}
                    what={each.path}
                    class="danger"
                  />
                }
              >
                <span class="wrap">
                  <a href={`${view.links.prefix}/${each.kind === 'group' ? 'groups/' : ''}${each.path}`}>{each.path}</a>{' '}
                  {each.kind === 'group' && <Badge kind="outline">{t('group')}</Badge>}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={found.total} />
          <FormTag view={view} action={home}>
            <FormFaults view={view} />
            <Field {...path} label={t('Project or group')} hint={t('Its full path. A group allows all projects below it.')} autocomplete="off" />
            <Submit label={t('Allow')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

const scopeForm = form({
  at,
  method: 'PUT',
  access,
  input: scope,
  on: scopePage,
  async submit({ ctx, subject, input }) {
    await setJobTokenScope(ctx, subject, input.job_token_scope.enabled)
    return new Redirect(`${homeOfProject(subject)}/-/job_token_scope`, { notice: t('The changes are saved.') })
  },
})

const addition = form({
  at,
  access,
  input: newAllowed,
  on: scopePage,
  async submit({ ctx, caller, subject, input }) {
    const named = input.allowed.path.trim().split('/').filter(Boolean).join('/')
    const project = await nullOnFailure(getProjectFor(ctx, caller, named))
    const group = project ? null : await nullOnFailure(getGroupFor(ctx, caller, named))
    if (!project && !group) throw refused(t('There is no such project or group.'))
    await allowJobs(ctx, caller, subject, project ? { project: project.project.id } : { group: group?.group.id ?? 0 })
    return new Redirect(`${homeOfProject(subject)}/-/job_token_scope`, { notice: t('The jobs of {named} are allowed.', { named }) })
  },
})

const removal = (kind: 'project' | 'group') =>
  form({
    at: `${at}/${kind}/:allowed`,
    method: 'DELETE',
    access,
    input: z.object({ allowed: rowId() }),
    async submit({ ctx, subject, input }) {
      await disallowJobs(ctx, subject, kind === 'project' ? { project: input.allowed } : { group: input.allowed })
      return new Redirect(`${homeOfProject(subject)}/-/job_token_scope`, { notice: t('Its jobs are not allowed any more.') })
    },
  })

export const jobTokens = [scopePage, scopeForm, addition, removal('project'), removal('group')]
