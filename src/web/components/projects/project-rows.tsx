import type { ComponentChildren } from 'preact'
import type { ActorUser } from '../../../access/actor.js'
import { canProject, INTERNAL, PUBLIC } from '../../../access/can.js'
import type { Context } from '../../../context.js'
import type { PipelineState } from '../../../rules/pipeline-states.js'
import { defaultBranchStates } from '../../../services/ci/last-states.js'
import { loadProjects, type ProjectRecord } from '../../../services/projects/load.js'
import { mainLanguagesOf } from '../../../services/repository/languages.js'
import { plural, t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { PipelineIcon } from '../files/code.js'
import { Icon } from '../icon.js'
import { Badge, Row, Rows } from '../list.js'
import { ProjectAvatar } from '../people/avatar.js'
import { Time } from '../time.js'

/** The records of listed projects, in their order. */
export async function projectsOf(ctx: Context, viewer: ActorUser | null, listed: { id: number }[]): Promise<ProjectRecord[]> {
  const ids = listed.map(({ id }) => id)
  const byId = new Map((await loadProjects(ctx, viewer, ids)).map((record) => [record.id, record]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** A project of a list, with what the list says about its code and its CI, as far as the viewer may read them. */
export interface ListedProject extends ProjectRecord {
  language: string | undefined
  state: PipelineState | undefined
}

/** The same with their languages and the CI states of their default branches, in two more statements (WB-525). */
export async function listedProjects(ctx: Context, viewer: ActorUser | null, listed: { id: number }[]): Promise<ListedProject[]> {
  const records = await projectsOf(ctx, viewer, listed)
  const readable = records.filter(({ project, level }) => canProject({ user: viewer, level, project }, 'download_code'))
  const [languages, states] = await Promise.all([
    mainLanguagesOf(
      ctx,
      readable.map(({ project }) => project.id),
    ),
    defaultBranchStates(ctx, viewer, records),
  ])
  return records.map((record) => ({ ...record, language: languages.get(record.project.id), state: states.get(record.project.id) }))
}

/** The full paths of the projects of events, by id. */
export async function pathsOf(ctx: Context, viewer: ActorUser | null, events: { event: { project_id: number } }[]): Promise<Map<number, string>> {
  const ids = [...new Set(events.map(({ event }) => event.project_id))]
  const records = await loadProjects(ctx, viewer, ids)
  return new Map(records.map(({ id, namespace, project }) => [id, `${namespace.full_path}/${project.path}`]))
}

/** Projects with what they are, their stars, language, topics and CI state, and when they last changed (WB-525). */
export const ProjectRows = ({ view, projects, empty }: { view: PageView; projects: ListedProject[]; empty: ComponentChildren }) => (
  <Rows empty={empty}>
    {projects.map(({ project, namespace, language, state }) => (
      <Row key={project.id} before={<ProjectAvatar view={view} project={project} />} actions={<PipelineIcon state={state} />}>
        <span>
          <a href={`${view.links.prefix}/${inUrl(`${namespace.full_path}/${project.path}`)}`}>
            <span class="dim">{namespace.full_path} / </span>
            <strong>{project.name}</strong>
          </a>{' '}
          {project.visibility !== PUBLIC && <Badge kind="outline">{project.visibility === INTERNAL ? t('Internal') : t('Private')}</Badge>}{' '}
          {project.archived && <Badge kind="waiting">{t('Archived')}</Badge>}
        </span>
        {project.description && <span class="dim">{project.description}</span>}
        <p class="meta">
          {language && (
            <span>
              <Icon name="code" /> {language}
            </span>
          )}
          {project.star_count > 0 && (
            <span>
              <Icon name="star" /> {project.star_count}
              <span class="hidden"> {plural(project.star_count, 'star', 'stars')}</span>
            </span>
          )}
          <Time at={project.last_activity_at} />
          {project.tag_list.slice(0, MAX_TOPICS).map((topic) => (
            <a key={topic} class="badge" href={`${view.links.prefix}/explore?${new URLSearchParams({ topic })}`}>
              {topic}
            </a>
          ))}
        </p>
      </Row>
    ))}
  </Rows>
)

const MAX_TOPICS = 5
