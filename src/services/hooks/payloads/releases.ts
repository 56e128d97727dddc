import { asc, eq } from 'drizzle-orm'
import { type RowImage, releaseLinks } from '../../../db/schema/index.js'
import { tagInAddress } from '../../../rules/path.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, projectObject, stamp } from '../payload-data.js'
import { commitObject, repositoryIn } from './commits.js'

const ACTIONS = { INSERT: 'create', UPDATE: 'update', DELETE: 'delete' } as const
const FORMATS = ['zip', 'tar.gz', 'tar.bz2', 'tar']

/** The event of a release (HK-22). */
export async function releaseOf(data: PayloadData, { operation, before, after }: HookChange): Promise<WebhookEvent[]> {
  const release = (after ?? before) as RowImage
  const project = await data.project(release['project_id'])
  if (!project) return []
  const tag = String(release['tag'])
  const page = data.ctx.links.project(project.fullPath)
  const repository = repositoryIn(data, project)
  const target = await repository.ref(`refs/tags/${tag}`)
  const found = target && (await repository.resolve(target))
  const commit = found && (await repository.commit(found.commit))
  const links = await data.ctx.db.write
    .select()
    .from(releaseLinks)
    .where(eq(releaseLinks.release_id, Number(release['id'])))
    .orderBy(asc(releaseLinks.id))
  const archive = `${page}/-/archive/${tag.split('/').map(encodeURIComponent).join('/')}/${project.row['path']}-${encodeURIComponent(tag.replaceAll('/', '-'))}`
  const body = {
    object_kind: 'release',
    id: release['id'],
    name: release['name'] ?? tag,
    tag,
    description: release['description'],
    created_at: stamp(release['created_at']),
    released_at: stamp(release['released_at']),
    url: `${page}/-/releases/${encodeURIComponent(tagInAddress(tag))}`,
    action: ACTIONS[operation],
    project: projectObject(data, project),
    commit: commit && commitObject(data, project, commit),
    assets: {
      count: FORMATS.length + links.length,
      links: links.map(({ id, name, url, link_type }) => ({ id, external: true, link_type, name, url })),
      sources: FORMATS.map((format) => ({ format, url: `${archive}.${format}` })),
    },
  }
  return [{ listens: 'releases', event: 'Release Hook', project: project.id, body }]
}
