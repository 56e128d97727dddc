import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, opt, orDefault, paging, str } from '../../../http/params.js'
import { groupsToCreateIn } from '../../../services/groups/creatable.js'
import { forkProject } from '../../../services/projects/forks.js'
import { listProjects } from '../../../services/projects/list.js'
import { loadProject } from '../../../services/projects/load.js'
import { listStarrers } from '../../../services/projects/people.js'
import { setStar } from '../../../services/projects/update.js'
import { Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Avatar } from '../../components/people/avatar.js'
import { listedProjects, ProjectRows } from '../../components/projects/project-rows.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const PER_PAGE = 20
const within = (subject: ProjectSubject) => homeOfProject(subject)

/** Says which of both is wanted, so that a form sent twice changes nothing the second time. */
export const starForm = form({
  at: 'P/toggle_star',
  access: onProjectSignedIn('star'),
  input: z.object({ starred: orDefault(bool(), true) }),
  async submit({ ctx, caller, subject, input }) {
    await setStar(ctx, caller, subject, input.starred)
    return new Redirect(within(subject))
  },
})

export const starrersPage = page({
  at: 'P/-/starrers',
  access: onProjectSignedIn('read_project'),
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listStarrers(ctx, caller.user, subject.project.id, { page: input.page, per_page: PER_PAGE })
    return {
      title: `${t('Stars')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>{t('Stars')}</h1>
          <Rows empty={t('No star is from a person whose profile you may see.')}>
            {items.map((user) => (
              <Row key={user.id}>
                <a class="person" href={`${view.links.prefix}/${inUrl(user.username)}`}>
                  <Avatar view={view} user={user} /> <strong>{user.name}</strong> <span class="dim">@{user.username}</span>
                </a>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const forksPage = page({
  at: 'P/-/forks',
  access: onProject('read_project'),
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const filter = { forkedFrom: subject.project.id, order_by: 'last_activity_at', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listProjects(ctx, caller, filter)
    return {
      title: `${t('Forks')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={t('Forks')}>
          {view.viewer && subject.can('fork') && (
            <p class="toolbar end">
              <a class="button" href={`${view.links.prefix}${within(subject)}/-/forks/new`}>
                {t('New fork')}
              </a>
            </p>
          )}
          <ProjectRows view={view} projects={await listedProjects(ctx, caller.user, items)} empty={t('There are no forks that you may see.')} />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

const newFork = z.object({ namespace_path: opt(str()), name: opt(documented.filled()), path: opt(documented.filled()) })

export const newForkPage = page({
  at: 'P/-/forks/new',
  access: onProjectSignedIn('fork'),
  async show({ ctx, caller, subject, view }) {
    const groups = await groupsToCreateIn(ctx, caller, 'project')
    const choices = [caller.user.username, ...groups.map(({ full_path }) => full_path)].map((path) => ({ value: path, label: path }))
    const f = fieldsOf(view, newFork)
    return {
      title: t('Fork {fullPath}', { fullPath: fullPathOf(subject.project) }),
      body: (
        <ProjectLayout view={view} subject={subject} tab="code">
          <h1>{t('Fork this project')}</h1>
          <p>{t('A fork has its branches and tags, and can send changes back by a merge request.')}</p>
          <FormTag view={view} action={`${within(subject)}/-/forks`}>
            <FormFaults view={view} />
            <div class="columns">
              <SelectField {...f.namespace_path} label={t('Namespace')} value={caller.user.username} choices={choices} />
              <Field {...f.name} label={t('Name')} value={subject.project.name} />
              <Field {...f.path} label={t('Path')} value={subject.project.path} />
            </div>
            <Submit label={t('Fork project')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const newForkForm = form({
  at: 'P/-/forks',
  access: onProjectSignedIn('fork'),
  input: newFork,
  on: newForkPage,
  async submit({ ctx, caller, subject, input }) {
    const id = await forkProject(ctx, caller, subject, input)
    const { project, namespace } = await loadProject(ctx, caller.user, id)
    return new Redirect(`/${inUrl(`${namespace.full_path}/${project.path}`)}`, { notice: t('The fork is ready.') })
  },
})
