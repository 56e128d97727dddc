import type { ComponentChildren } from 'preact'
import type { ActorUser } from '../../../access/actor.js'
import { INTERNAL, PUBLIC } from '../../../access/can.js'
import type { Context } from '../../../context.js'
import { loadProjects, type ProjectRecord } from '../../../services/projects/load.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { Badge, Row, Rows } from '../list.js'
import { Time } from '../time.js'

/** The records of listed projects, in their order. */
export async function projectsOf(ctx: Context, viewer: ActorUser | null, listed: { id: number }[]): Promise<ProjectRecord[]> {
  const ids = listed.map(({ id }) => id)
  const byId = new Map((await loadProjects(ctx, viewer, ids)).map((record) => [record.id, record]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** The full paths of the projects of events, by id. */
export async function pathsOf(ctx: Context, viewer: ActorUser | null, events: { event: { project_id: number } }[]): Promise<Map<number, string>> {
  const ids = [...new Set(events.map(({ event }) => event.project_id))]
  const records = await loadProjects(ctx, viewer, ids)
  return new Map(records.map(({ id, namespace, project }) => [id, `${namespace.full_path}/${project.path}`]))
}

/** Projects with what they are and when they last changed. */
export const ProjectRows = ({ view, projects, empty }: { view: PageView; projects: ProjectRecord[]; empty: ComponentChildren }) => (
  <Rows empty={empty}>
    {projects.map(({ project, namespace }) => (
      <Row
        key={project.id}
        actions={
          <span class="dim">
            {project.star_count > 0 && `${project.star_count} ${project.star_count === 1 ? 'star' : 'stars'} · `}
            <Time at={project.last_activity_at} />
          </span>
        }
      >
        <span>
          <a href={`${view.links.prefix}/${inUrl(`${namespace.full_path}/${project.path}`)}`}>
            <span class="dim">{namespace.full_path} / </span>
            <strong>{project.name}</strong>
          </a>{' '}
          {project.visibility !== PUBLIC && <Badge>{project.visibility === INTERNAL ? 'Internal' : 'Private'}</Badge>}{' '}
          {project.archived && <Badge kind="waiting">Archived</Badge>}
        </span>
        {project.description && <span class="dim">{project.description}</span>}
      </Row>
    ))}
  </Rows>
)
