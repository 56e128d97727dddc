import { asc, eq } from 'drizzle-orm'
import type { Context } from '../../../../context.js'
import { inIds } from '../../../../db/conditions.js'
import { labels, mergeRequestLabels } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { groupedBy } from '../../../../lib/grouped-by.js'
import type { MergeRequestRecord } from './load.js'

/** A merge request whose labels have their colours. */
export type ColoredRequest = Omit<MergeRequestRecord, 'labels'> & { labels: { name: string; color: string }[] }

const selectLabels = statement('labels of merge requests', (db) =>
  db
    .select({ id: mergeRequestLabels.merge_request_id, name: labels.title, color: labels.color })
    .from(mergeRequestLabels)
    .innerJoin(labels, eq(labels.id, mergeRequestLabels.label_id))
    .where(inIds(mergeRequestLabels.merge_request_id))
    .orderBy(asc(labels.title)),
)

/** The merge requests with the colours of their labels. */
export async function withLabelColors(ctx: Context, records: MergeRequestRecord[]): Promise<ColoredRequest[]> {
  const ids = records.flatMap(({ request, labels: names }) => (names.length > 0 ? [request.id] : []))
  const found = groupedBy(ids.length > 0 ? await selectLabels(ctx.db, null).execute({ ids }) : [], ({ id }) => id)
  return records.map((record) => ({ ...record, labels: found.get(record.request.id) ?? [] }))
}
