import type { Caller } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { linksOfReferences } from '../../services/markdown/references.js'
import { settledSurroundings, withSurroundings } from '../../services/markdown/relative.js'
import { projectLinks } from '../links.js'

/** Makes relative links lead to the default branch, and those to uploads to the files of the project. */
export async function withinProject(ctx: Context, project: ProjectSubject | null, html: string): Promise<string> {
  const settled = await settledSurroundings(ctx)
  if (!project) return withSurroundings(ctx.cpu, html, { folder: '', page: (path) => `/${path}`, file: (path) => `/${path}`, ...settled })
  const links = projectLinks(ctx, fullPathOf(project.project))
  const branch = project.project.default_branch ?? 'HEAD'
  const placed = await withSurroundings(ctx.cpu, html, {
    folder: '',
    page: (path) => links.blob(branch, path),
    file: (path) => links.raw(branch, path),
    ...settled,
  })
  return placed.replace(/ (src|srcset|href)="\/uploads\/(?=[0-9a-f]{32}\/)/g, ` $1="${links.home}/uploads/`)
}

/** Renders a text of a project, or of none, for a reader. */
export async function renderText(ctx: Context, caller: Caller, project: ProjectSubject | null, text: string | null): Promise<string> {
  if (!text) return ''
  return withinProject(ctx, project, await ctx.cpu.markdown.html(text, await linksOfReferences(ctx, { caller, project }, text), { hasMath: true }))
}
