import type { RowImage } from '../../../db/schema/index.js'
import type { HookChange } from '../../outbox/changes.js'
import type { WebhookEvent } from '../event.js'
import { type PayloadData, type ProjectData, projectObject, repositoryObject, stamp, userById } from '../payload-data.js'
import { commitObject, repositoryIn } from './commits.js'
import { attributesOf, rowOf } from './issuables.js'

/** The event of a note (HK-19). */
export async function noteOf(data: PayloadData, { operation, after, actor_id }: HookChange): Promise<WebhookEvent[]> {
  const project = await data.project(after?.['project_id'])
  if (!project || !after) return []
  const about = await aboutOf(data, project, after)
  if (!about) return []
  const { object, url, confidential } = about
  const body = {
    object_kind: 'note',
    event_type: confidential ? 'confidential_note' : 'note',
    user: await userById(data, actor_id ?? after['author_id']),
    project_id: project.id,
    project: projectObject(data, project),
    object_attributes: { ...attributes(after), action: operation === 'INSERT' ? 'create' : 'update', url: `${url}#note_${after['id']}` },
    ...object,
    repository: repositoryObject(data, project),
  }
  return [
    { listens: confidential ? 'confidential_note' : 'note', event: confidential ? 'Confidential Note Hook' : 'Note Hook', project: project.id, body },
  ]
}

const attributes = (note: RowImage) => {
  const { old_path, new_path, old_line, new_line } = (note['position'] ?? {}) as Record<string, unknown>
  return {
    id: note['id'],
    note: note['note'],
    description: note['note'],
    noteable_type: note['noteable_type'],
    noteable_id: note['noteable_id'],
    commit_id: note['commit_id'],
    author_id: note['author_id'],
    project_id: note['project_id'],
    system: note['system'],
    type: note['type'],
    line_code: note['position'] ? `${new_path ?? old_path}:${old_line ?? ''}:${new_line ?? ''}` : null,
    position: note['position'],
    discussion_id: note['discussion_id'],
    attachment: null,
    st_diff: null,
    resolved_at: stamp(note['resolved_at']),
    resolved_by_id: note['resolved_by_id'],
    created_at: stamp(note['created_at']),
    updated_at: stamp(note['updated_at']),
  }
}

interface About {
  /** The noteable's object under its own key, such as `{ issue }`. */
  object: object
  url: string
  confidential: boolean
}

/** The noteable of a note; null if it no longer exists. */
async function aboutOf(data: PayloadData, project: ProjectData, note: RowImage): Promise<About | null> {
  const page = data.ctx.links.project(project.fullPath)
  if (note['noteable_type'] === 'Commit') {
    const commit = await repositoryIn(data, project).commit(String(note['commit_id']))
    return commit && { object: { commit: commitObject(data, project, commit) }, url: `${page}/commit/${commit.oid}`, confidential: false }
  }
  if (note['noteable_type'] === 'Snippet') {
    const snippet = await rowOf(data, 'snippets', note['noteable_id'])
    return snippet && { object: { snippet: snippetObject(snippet) }, url: `${page}/snippets/${snippet['id']}`, confidential: false }
  }
  const kind = note['noteable_type'] === 'Issue' ? 'issues' : 'merge_requests'
  const row = await rowOf(data, kind, note['noteable_id'])
  if (!row) return null
  const { attributes: object } = await attributesOf(data, project, kind, row)
  return { object: { [kind === 'issues' ? 'issue' : 'merge_request']: object }, url: object.url, confidential: row['confidential'] === true }
}

const snippetObject = (snippet: RowImage) => ({
  id: snippet['id'],
  title: snippet['title'],
  content: snippet['content'],
  author_id: snippet['author_id'],
  project_id: snippet['project_id'],
  file_name: snippet['file_name'],
  visibility_level: snippet['visibility'],
  created_at: stamp(snippet['created_at']),
  updated_at: stamp(snippet['updated_at']),
  type: 'ProjectSnippet',
})
