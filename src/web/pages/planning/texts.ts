import type { Caller } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import { withSurroundings } from '../../../services/markdown/relative.js'
import type { DiscussionRecord } from '../../../services/notes/list.js'
import type { NoteTexts } from '../../components/discussion.js'
import { projectLinks } from '../../links.js'

/** Makes relative links lead to the default branch, and those to uploads to the files of the project. */
function withinProject(ctx: Context, project: ProjectSubject | null, html: string): string {
  if (!project) return withSurroundings(html, { folder: '', page: (path) => `/${path}`, file: (path) => `/${path}` })
  const links = projectLinks(ctx, fullPathOf(project.project))
  const branch = project.project.default_branch ?? 'HEAD'
  const placed = withSurroundings(html, { folder: '', page: (path) => links.blob(branch, path), file: (path) => links.raw(branch, path) })
  return placed.replace(/ (src|href)="\/uploads\/(?=[0-9a-f]{32}\/)/g, ` $1="${links.home}/uploads/`)
}

/** Renders a text of a project, or of none, for a reader. */
export async function renderText(ctx: Context, caller: Caller, project: ProjectSubject | null, text: string | null): Promise<string> {
  if (!text) return ''
  return withinProject(ctx, project, await ctx.markdown.html(text, await linksOfReferences(ctx, { caller, project }, text)))
}

/** Renders all notes with one look-up of what they refer to. */
export async function renderNotes(ctx: Context, caller: Caller, project: ProjectSubject, discussions: DiscussionRecord[]): Promise<NoteTexts> {
  const notes = discussions.flatMap((discussion) => discussion.notes)
  const links = await linksOfReferences(ctx, { caller, project }, notes.map(({ note }) => note.note).join('\n\n'))
  return new Map(
    await Promise.all(notes.map(async ({ note }) => [note.id, withinProject(ctx, project, await ctx.markdown.html(note.note, links))] as const)),
  )
}
