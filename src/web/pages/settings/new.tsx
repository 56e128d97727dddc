import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { getGroupFor, signedIn } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { forbidden, invalidRecord, nullOnFailure } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, file, oneOf, opt, orDefault, rowId, str } from '../../../http/params.js'
import { pathFromName } from '../../../rules/path.js'
import { VISIBILITIES, VISIBILITY_LEVEL, visibilityName } from '../../../rules/visibility.js'
import { groupsToCreateIn } from '../../../services/groups/creatable.js'
import { createGroup } from '../../../services/groups/create.js'
import { createProject, type NewProject } from '../../../services/projects/create.js'
import { listProjects } from '../../../services/projects/list.js'
import { loadProject } from '../../../services/projects/load.js'
import { Checkbox, type Choice, DataList, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { projectsOf } from '../../components/projects/project-rows.js'
import { visibilityChoices } from '../../components/projects/visibility.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

/** Paths of the caller's projects, those with the latest activity first. */
async function templatesFor(ctx: Context, caller: SignedIn): Promise<string[]> {
  const filter = { membership: true, archived: false, order_by: 'last_activity_at', sort: 'desc', page: 1, per_page: MAX_TEMPLATES } as const
  const { items } = await listProjects(ctx, caller, filter)
  const records = await projectsOf(ctx, caller.user, items)
  return records.filter(({ project }) => !project.empty_repo).map(({ namespace, project }) => `${namespace.full_path}/${project.path}`)
}

/** The caller's own namespace and the groups that they may create in, with the one that a link has named. */
async function placesFor(ctx: Context, caller: SignedIn, what: 'project' | 'subgroup', named: number | undefined): Promise<Choice[]> {
  const groups = await groupsToCreateIn(ctx, caller, what)
  const other = named === undefined || groups.some(({ id }) => id === named) ? null : await nullOnFailure(getGroupFor(ctx, caller, String(named)))
  if (other?.can(what === 'project' ? 'create_project' : 'create_subgroup')) groups.push(other.group)
  return groups.map(({ id, full_path }) => ({ value: String(id), label: full_path }))
}

type Way = 'blank' | 'template' | 'url' | 'archive'
/** How many projects are offered as templates; the path of any other can be typed. */
const MAX_TEMPLATES = 100

const Ways = ({ view, ways, way, within }: { view: PageView; ways: [Way, string][]; way: Way; within: string }) => (
  <nav class="tabs" aria-label={t('Ways to make a project')}>
    {ways.map(([from, label]) => {
      const query = String(new URLSearchParams({ ...(from !== 'blank' && { from }), ...(within && { namespace_id: within }) }))
      return (
        <a key={from} href={`${view.links.prefix}/projects/new${query && `?${query}`}`} {...(way === from && { 'aria-current': 'page' })}>
          {label}
        </a>
      )
    })}
  </nav>
)

const text = opt(str())

const newProject = z.object({
  project: z.object({
    name: orDefault(documented.projectName(), ''),
    path: orDefault(str(), ''),
    namespace_id: opt(rowId()),
    description: text,
    visibility_level: opt(oneOf(VISIBILITIES)),
    initialize_with_readme: orDefault(bool(), false),
    import_url: text,
    template_project_id: text,
    archive: opt(file()),
  }),
})

export const newProjectPage = page({
  at: '/projects/new',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ namespace_id: opt(rowId()), from: opt(oneOf(['template', 'url', 'archive'])) }),
  async show({ ctx, caller, input, view }) {
    const { user } = caller
    const groups = await placesFor(ctx, caller, 'project', input.namespace_id)
    const way = input.from ?? 'blank'
    const ways: [Way, string][] = [
      ['blank', t('Blank')],
      ['template', t('From a template')],
    ]
    if (view.settings.import_sources.includes('git')) ways.push(['url', t('Import by address')])
    if (user.admin) ways.push(['archive', t('From an archive')])
    const within = input.namespace_id === undefined ? '' : String(input.namespace_id)
    const f = fieldsOf(view, newProject).project
    return {
      title: t('New project'),
      body: (
        <div class="page-form">
          <h1>{t('New project')}</h1>
          <Ways view={view} ways={ways} way={way} within={within} />
          <FormTag view={view} action={`/projects${way === 'blank' ? '' : `?from=${way}`}`} files={way === 'archive'} once>
            <FormFaults view={view} />
            {way === 'template' && (
              <>
                <Field
                  {...f.template_project_id}
                  required
                  label={t('Template')}
                  list="templates"
                  autofocus
                  hint={t(
                    'The path (group/project) of a project whose code you may read. The files of its default branch become the first commit, in your name; its history, issues and settings stay behind.',
                  )}
                />
                <DataList id="templates" values={await templatesFor(ctx, caller)} />
              </>
            )}
            {way === 'archive' && (
              <Field
                {...f.archive}
                required
                label={t('Archive')}
                accept=".gz,.tgz"
                hint={t(
                  'As the advanced settings of a project make it, here or on another server. Rows are stored as they are in it: take archives from where you trust.',
                )}
              />
            )}
            {way === 'url' && (
              <Field
                {...f.import_url}
                required
                label={t('Address of the repository')}
                type="url"
                autofocus
                hint={t('https, http or git; a user and password may be in it, and are not shown again. All branches and tags are fetched.')}
              />
            )}
            <div class="columns">
              <SelectField
                {...f.namespace_id}
                label={t('Owner')}
                value={within}
                choices={[{ value: '', label: t('{username} (you)', { username: user.username }) }, ...groups]}
              />
              <Field {...f.name} label={t('Name')} autofocus={way === 'blank' || way === 'archive'} />
            </div>
            <Field {...f.path} label={t('Path')} hint={t('Its part of the address. Empty: made from the name.')} />
            {way !== 'archive' && <Field {...f.description} label={t('Description')} />}
            <SelectField
              {...f.visibility_level}
              label={t('Visibility')}
              value={view.settings.default_project_visibility}
              choices={visibilityChoices(view)}
            />
            {way === 'blank' && (
              <Checkbox
                {...f.initialize_with_readme}
                label={t('Initialize repository with a README')}
                hint={t('So that it can be cloned at once. Leave it out to push a repository that exists.')}
                checked
              />
            )}
            <Submit label={way === 'blank' || way === 'template' ? t('Create project') : t('Import project')} />
          </FormTag>
        </div>
      ),
    }
  },
})

interface Contents {
  archive?: { data: Buffer } | undefined
  import_url?: string | undefined
  template_project_id?: string | undefined
  initialize_with_readme: boolean
}

/** What a new project begins with, and what is still to come when it is made. */
function contentsOf({ archive, import_url, template_project_id: template, initialize_with_readme }: Contents): {
  given: Partial<NewProject>
  coming: string
} {
  if (archive) return { given: { archive: archive.data }, coming: t('The archive is being read.') }
  if (import_url !== undefined) return { given: { import_url: import_url.trim() }, coming: t('Its repository is being fetched.') }
  if (template === undefined) return { given: { initialize_with_readme }, coming: '' }
  return { given: { use_custom_template: true, template_project_id: template.trim() }, coming: t('The files of the template are being copied.') }
}

export const newProjectForm = form({
  at: '/projects',
  access: signedIn,
  ownerOnly: false,
  files: true,
  input: newProject,
  on: newProjectPage,
  async submit({ ctx, caller, input: { project } }) {
    const { name, path, description, visibility_level, archive, namespace_id } = project
    if (archive && !caller.user.admin) throw forbidden()
    if (name.trim() === '') throw invalidRecord({ name: ["can't be blank"] })
    const given = { name: name.trim(), path: path.trim() || pathFromName(name.trim()), description: description || undefined, namespace_id }
    const from = contentsOf(project)
    const id = await createProject(ctx, caller, { ...given, visibility: visibility_level, ...from.given })
    const made = await loadProject(ctx, caller.user, id)
    const notice = `${t('The project is created.')} ${from.coming}`.trim()
    return new Redirect(`/${inUrl(`${made.namespace.full_path}/${made.project.path}`)}`, { notice })
  },
})

const newGroup = z.object({
  group: z.object({
    name: orDefault(documented.groupName(), ''),
    path: orDefault(str(), ''),
    parent_id: opt(rowId()),
    description: text,
    visibility_level: opt(oneOf(VISIBILITIES)),
  }),
})

export const newGroupPage = page({
  at: '/groups/new',
  access: signedIn,
  ownerOnly: false,
  input: z.object({ parent_id: opt(rowId()) }),
  async show({ ctx, caller, input, view }) {
    const groups = await placesFor(ctx, caller, 'subgroup', input.parent_id)
    const parents = [...(caller.user.can_create_group ? [{ value: '', label: t('None: a group at the top') }] : []), ...groups]
    if (parents.length === 0)
      return {
        title: t('New group'),
        body: (
          <>
            <h1>{t('New group')}</h1>
            <p class="empty">{t('You may not create groups. Ask an administrator, or an owner of the group that it is to be in.')}</p>
          </>
        ),
      }
    const parent = input.parent_id === undefined ? null : await nullOnFailure(getGroupFor(ctx, caller, String(input.parent_id)))
    const highest = parent?.group.visibility ?? VISIBILITY_LEVEL.public
    const level = Math.min(highest, VISIBILITY_LEVEL[view.settings.default_group_visibility])
    const f = fieldsOf(view, newGroup).group
    return {
      title: t('New group'),
      body: (
        <div class="page-form">
          <h1>{t('New group')}</h1>
          <p>{t('A group holds projects and other groups. Its members get access to all of them.')}</p>
          <FormTag view={view} action="/groups" once>
            <FormFaults view={view} />
            <SelectField {...f.parent_id} label={t('Within')} value={String(input.parent_id ?? '')} choices={parents} />
            <Field {...f.name} label={t('Name')} autofocus />
            <Field {...f.path} label={t('Path')} hint={t('Its part of the address. Empty: made from the name.')} />
            <Field {...f.description} label={t('Description')} />
            <SelectField {...f.visibility_level} label={t('Visibility')} value={visibilityName(level)} choices={visibilityChoices(view, highest)} />
            <Submit label={t('Create group')} />
          </FormTag>
        </div>
      ),
    }
  },
})

export const newGroupForm = form({
  at: '/groups',
  access: signedIn,
  ownerOnly: false,
  input: newGroup,
  on: newGroupPage,
  async submit({ ctx, caller, input: { group } }) {
    const { name, path, parent_id, description, visibility_level } = group
    if (name.trim() === '') throw invalidRecord({ name: ["can't be blank"] })
    const given = { name: name.trim(), path: path.trim() || pathFromName(name.trim()), description, parent_id, visibility: visibility_level }
    const id = await createGroup(ctx, caller, given)
    const { group: made } = await getGroupFor(ctx, caller, String(id))
    return new Redirect(`/groups/${inUrl(made.full_path)}`, { notice: t('Group created.') })
  },
})
