import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { AwardEmoji, presentAward } from '../../entities/notes/award-emoji.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, rowId, str } from '../../http/params.js'
import { type Awardable, createAward, deleteAward, getAward, listAwards } from '../../services/notes/award-emoji.js'
import { getNote } from '../../services/notes/list.js'
import type { Noteable } from '../../services/notes/noteables.js'
import { NOTEABLE_KINDS, type NoteableKind } from './noteables.js'

const award_id = rowId()
const note_id = rowId()

/** The noteable itself, or its note if the input has a `note_id`. */
async function awardableOf(ctx: Context, caller: SignedIn, noteable: Noteable, { note_id: note }: { note_id?: unknown }): Promise<Awardable> {
  if (note === undefined) return { type: noteable.type as Awardable['type'], id: noteable.id as number, noteable }
  const found = await getNote(ctx, caller, noteable, note as number)
  return { type: 'Note', id: found.note.id, noteable }
}

/**
 * Award emoji (AE-1 to AE-4). A hidden or missing noteable is reported as a missing emoji. In a project that accepts no
 * changes, writes are 403 as everywhere (AC-11), although a missing ability is 404 here (AE-3).
 */
const awardsOn = ({ named, path, access }: NoteableKind, onNotes: boolean) => {
  const awards = `${path}${onNotes ? '/notes/:note_id' : ''}/award_emoji`
  const awardableName = onNotes ? `a note on ${named}` : named
  const given = onNotes ? { note_id } : {}
  return [
    endpoint({
      method: 'GET',
      path: awards,
      summary: `List the award emoji of ${awardableName}`,
      access: access('read', 'Award Emoji'),
      input: z.object({ ...given, ...idPaging }),
      output: z.array(AwardEmoji),
      async handler({ ctx, caller, subject, input, view }) {
        const awardable = await awardableOf(ctx, caller, subject.noteable, input)
        return pageOf(await listAwards(ctx, awardable, input), input, (award) => presentAward(award, view)).inOrderOfIds(input)
      },
    }),
    endpoint({
      method: 'GET',
      path: `${awards}/:award_id`,
      summary: `Get an award emoji of ${awardableName}`,
      access: access('read', 'Award Emoji'),
      input: z.object({ ...given, award_id }),
      output: AwardEmoji,
      async handler({ ctx, caller, subject, input, view }) {
        return presentAward(await getAward(ctx, await awardableOf(ctx, caller, subject.noteable, input), input.award_id), view)
      },
    }),
    endpoint({
      method: 'POST',
      path: awards,
      summary: `Award an emoji to ${awardableName}`,
      access: access('award_emoji', 'Award Emoji'),
      input: z.object({ ...given, name: str() }),
      output: AwardEmoji,
      async handler({ ctx, caller, subject, input, view }) {
        return presentAward(await createAward(ctx, caller, await awardableOf(ctx, caller, subject.noteable, input), input.name), view)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `${awards}/:award_id`,
      summary: `Delete an award emoji of ${awardableName}`,
      answers: [412],
      access: access('award_emoji', 'Award Emoji'),
      input: z.object({ ...given, award_id }),
      async handler({ ctx, caller, subject, input, unchangedSince }) {
        const awardable = await awardableOf(ctx, caller, subject.noteable, input)
        await deleteAward(ctx, caller, awardable, input.award_id, unchangedSince)
      },
    }),
  ]
}

export const awardEmoji = NOTEABLE_KINDS.flatMap((kind) => [...awardsOn(kind, false), ...awardsOn(kind, true)])
