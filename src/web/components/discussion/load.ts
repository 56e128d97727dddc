import type { Caller } from '../../../access/actor.js'
import type { Context } from '../../../context.js'
import { nullOnFailure } from '../../../failures.js'
import { opt, rowId, str } from '../../../http/params.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import type { NamedLinks } from '../../../lib/text/markdown.js'
import { partsOfNote } from '../../../rules/reviews/suggestions.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import { awardsOfNotes } from '../../../services/notes/award-emoji.js'
import { mayResolve } from '../../../services/notes/discussions.js'
import type { DraftNote } from '../../../services/notes/drafts.js'
import { type DiscussionRecord, getNote, type NoteRecord } from '../../../services/notes/list.js'
import type { NoteableSubject } from '../../../services/notes/noteables.js'
import { type Suggestion, suggestionsOf, suggests } from '../../../services/notes/suggestion-records.js'
import { pushableSource } from '../../../services/notes/suggestions.js'
import { aColorBudget } from '../diff/diff-colors.js'
import { excerptRows, suggestionTable } from '../diff/excerpts.js'
import { renderText, withinProject } from '../render-text.js'
import type { DiscussionParts, ShownSuggestion } from './shown.js'

const RENDERED_TOGETHER = 8

/** The forms that a page with a discussion has only when they are asked for (WB-340). */
export const discussionInput = { edit_note: opt(rowId()), edit_draft: opt(rowId()), react: opt(rowId()), reply: opt(str()) }

interface Given {
  /** The address of what the notes are about. */
  at: string
  discussions: DiscussionRecord[]
  /** What `discussionInput` asks for. */
  asked: { edit_note?: number | undefined; edit_draft?: number | undefined; react?: number | undefined; reply?: string | undefined }
  /** Where the forms lead to afterwards. */
  back?: string | null
  head?: string | null
  /** The threads that show the lines which they are about; others stand under these. */
  excerpted?: DiscussionRecord[]
  /** The drafts of the reader that are shown. */
  drafts?: Pick<DraftNote, 'id' | 'note' | 'position'>[]
}

/** What the components of a discussion need, with one statement for each kind of thing (WB-92). */
export async function discussionParts(
  ctx: Context,
  caller: Caller,
  subject: NoteableSubject,
  { at, discussions, asked, back = null, head = null, excerpted = discussions, drafts = [] }: Given,
): Promise<DiscussionParts> {
  const records = discussions.flatMap(({ notes }) => notes)
  const { noteable } = subject
  const { user } = caller
  const mayWrite = user !== null && subject.may('create_note')
  const [links, awards, [suggested, source], edited] = await Promise.all([
    linksOfReferences(ctx, { caller, project: subject }, records.map(({ note }) => note.note).join('\n\n')),
    awardsOfNotes(
      ctx,
      caller,
      noteable.project_id,
      records.filter(({ note }) => !note.system).map(({ note }) => note.id),
    ),
    suggestionsOf(
      ctx,
      records.filter(({ note }) => suggests(note)).map(({ note }) => note.id),
    ).then(async (found) => [found, user && found.size > 0 ? await pushableSource(ctx, { ...caller, user }, subject) : null] as const),
    asked.edit_note === undefined ? null : nullOnFailure(getNote(ctx, caller, noteable, asked.edit_note)),
  ])
  const colorBudget = aColorBudget()
  const draftTexts = await mapConcurrently(RENDERED_TOGETHER, drafts, async ({ id, note, position }) => {
    const parts = position?.new_line ? partsOfNote(note) : [note]
    const shown = parts.map((part) =>
      typeof part === 'string'
        ? renderText(ctx, caller, subject, part)
        : suggestionTable(ctx, subject, { position }, { ...part, applied_at: null }, colorBudget),
    )
    return [id, await Promise.all(shown)] as const
  })
  // few at a time: the thread that renders lets only so many wait
  const [texts, suggestions] = await Promise.all([
    mapConcurrently(RENDERED_TOGETHER, records, async (record) => {
      const parts = await textOf(ctx, record, suggested.get(record.note.id), links)
      return [record.note.id, await Promise.all(parts.map((html) => withinProject(ctx, subject, html)))] as const
    }),
    mapConcurrently(RENDERED_TOGETHER, [...suggested.keys()], async (id) => {
      const note = records.find((record) => record.note.id === id)?.note ?? { position: null }
      const own = suggested.get(id) ?? []
      const shown = await Promise.all(
        own.map(async (suggestion): Promise<ShownSuggestion> => {
          const { rows, hidden } = await suggestionTable(ctx, subject, note, suggestion, colorBudget)
          return { suggestion, rows, hidden }
        }),
      )
      return [id, shown] as const
    }),
  ])
  const excerpts = new Map<number, string>()
  for (const { note } of excerpted.flatMap(({ notes }) => notes.slice(0, 1)))
    excerpts.set(note.id, await excerptRows(ctx, subject.project, note, colorBudget))
  const mayEdit = ({ note }: NoteRecord) => mayWrite && !note.system && (note.author_id === user.id || subject.can('manage_notes'))
  return {
    at,
    project: subject,
    texts: new Map(texts),
    awards,
    suggestions: new Map(suggestions),
    draftTexts: new Map(draftTexts),
    excerpts,
    mayWrite,
    mayAward: user !== null && subject.may('award_emoji'),
    mayReview: mayWrite && subject.request !== null,
    mayEdit,
    mayResolve: (record) => mayWrite && mayResolve({ ...caller, user }, subject, record),
    mayApply: mayWrite && source !== null,
    editing: edited && mayEdit(edited) ? edited : null,
    reacting: asked.react ?? null,
    replying: asked.reply ?? null,
    draft: asked.edit_draft ?? null,
    back,
    head,
  }
}

/** The rendered text of a note; in parts if it has suggestions. */
async function textOf(ctx: Context, { note }: NoteRecord, suggestions: Suggestion[] | undefined, links: NamedLinks): Promise<string[]> {
  if (!suggestions?.length) return [await ctx.cpu.markdown.html(note.note, links, { hasMath: true })]
  const texts = ['']
  for (const part of partsOfNote(note.note)) {
    if (typeof part === 'string') texts[texts.length - 1] = await ctx.cpu.markdown.html(part, links, { hasMath: true })
    else texts.push('')
  }
  return texts
}
