import { and, asc, eq, sql } from 'drizzle-orm'
import type { Viewer } from '../../../access/actor.js'
import { fullPathOf, type GroupSubject, getProjectFor, type ProjectSubject } from '../../../access/rules.js'
import { type ViewerKind, viewerKindOf, visibleProject } from '../../../access/visible.js'
import type { Context } from '../../../context.js'
import { projects } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { nullOnFailure } from '../../../failures.js'
import { repositoryOf } from '../../repository/repositories.js'

const PLACEHOLDER = /%\{(project_path|project_id|project_title|project_name|default_branch|commit_sha)\}/g

/** A URL in which each placeholder is a letter: what is the same of it in all projects. */
export const withoutPlaceholders = (url: string): string => url.replace(PLACEHOLDER, 'x')

const selectFirstProject = statement('first project of a group', (db, viewer: ViewerKind) =>
  db
    .select({ id: projects.id })
    .from(projects)
    .where(and(eq(projects.namespace_id, sql.placeholder('group')), visibleProject(viewer, sql`${sql.placeholder('user')}::bigint`)))
    .orderBy(asc(projects.id))
    .limit(1),
)

/** The project that badges of a group are shown with: the first in it that the caller sees. */
export async function exampleOf(ctx: Context, caller: Viewer, { group }: GroupSubject): Promise<ProjectSubject | null> {
  const [found] = await selectFirstProject(ctx.db, viewerKindOf(caller.user)).execute({ group: group.id, user: caller.user?.id ?? 0 })
  return found ? nullOnFailure(getProjectFor(ctx, caller, String(found.id))) : null
}

/** What puts into a URL what the project has, where it is known (BD-3). The URLs tell what is looked up. */
export async function rendererFor(ctx: Context, subject: ProjectSubject | null, urls: string[]): Promise<(url: string) => string> {
  if (!subject) return (url) => url
  const { project } = subject
  const { default_branch, name, path } = project
  const needsCommit = default_branch && subject.can('download_code') && urls.some((url) => url.includes('%{commit_sha}'))
  const values: Record<string, string | null> = {
    project_path: fullPathOf(project),
    project_id: String(project.id),
    project_title: name,
    project_name: path,
    default_branch: default_branch || null,
    commit_sha: needsCommit ? await repositoryOf(ctx, project).ref(`refs/heads/${default_branch}`) : null,
  }
  return (url) => url.replace(PLACEHOLDER, (placeholder, value: string) => values[value] ?? placeholder)
}
