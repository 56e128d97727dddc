import type { Caller } from '../../../access/actor.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import type { DiscussionRecord } from '../../../services/notes/list.js'
import type { NoteTexts } from '../../components/discussion.js'

/** Renders a text of a project for a reader. */
export async function renderText(ctx: Context, caller: Caller, project: ProjectSubject, text: string | null): Promise<string> {
  if (!text) return ''
  return ctx.markdown.html(text, await linksOfReferences(ctx, { caller, project }, text))
}

/** Renders all notes with one look-up of what they refer to. */
export async function renderNotes(ctx: Context, caller: Caller, project: ProjectSubject, discussions: DiscussionRecord[]): Promise<NoteTexts> {
  const notes = discussions.flatMap((discussion) => discussion.notes)
  const links = await linksOfReferences(ctx, { caller, project }, notes.map(({ note }) => note.note).join('\n\n'))
  return new Map(await Promise.all(notes.map(async ({ note }) => [note.id, await ctx.markdown.html(note.note, links)] as const)))
}
