import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import type { Database } from './client.js'
import { issues, labels, mergeRequests, milestones, notes, releases, snippets } from './schema/index.js'

/**
 * Characters of a text that are read on the read pipeline; longer texts would delay the short results behind them
 * (SEC-179).
 */
const PREFIX_LENGTH = 8_192
/** Limit for all long texts of one page, in bytes; above it each text is cut (SEC-178). */
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/**
 * Bytes of long texts from which a call must wait for permission to hold them; their JSON may be six times as large
 * (SEC-180).
 */
const LARGE_BYTES = 256 * 1024

/** The beginning of a text, for the read pipeline; `completeTexts` replaces it if the text is longer. */
export const prefixOf = (text: SQLWrapper): SQL<string> => sql<string>`left(${text}, ${sql.raw(String(PREFIX_LENGTH + 1))})`
/** The same for a nullable column. */
export const nullablePrefixOf = (text: SQLWrapper): SQL<string | null> => prefixOf(text) as SQL<string | null>

/** A column with long texts, and its key in rows. */
interface LongText {
  table: PgTable
  id: PgColumn
  text: PgColumn
  name: string
}

export const LONG_TEXTS = {
  issues: { table: issues, id: issues.id, text: issues.description, name: 'description' },
  mergeRequests: { table: mergeRequests, id: mergeRequests.id, text: mergeRequests.description, name: 'description' },
  notes: { table: notes, id: notes.id, text: notes.note, name: 'note' },
  milestones: { table: milestones, id: milestones.id, text: milestones.description, name: 'description' },
  labels: { table: labels, id: labels.id, text: labels.description, name: 'description' },
  labelPages: { table: labels, id: labels.id, text: labels.description_html, name: 'description_html' },
  snippets: { table: snippets, id: snippets.id, text: snippets.description, name: 'description' },
  releases: { table: releases, id: releases.id, text: releases.description, name: 'description' },
  snippetContents: { table: snippets, id: snippets.id, text: snippets.content, name: 'content' },
  releasePages: { table: releases, id: releases.id, text: releases.description_html, name: 'description_html' },
} as const satisfies Record<string, LongText>

/** Columns to select on the read pipeline, with long texts cut to their beginnings. */
export const READ_COLUMNS = {
  issues: { ...getTableColumns(issues), description: prefixOf(issues.description) },
  mergeRequests: { ...getTableColumns(mergeRequests), description: prefixOf(mergeRequests.description) },
  notes: { ...getTableColumns(notes), note: prefixOf(notes.note) },
  milestones: { ...getTableColumns(milestones), description: prefixOf(milestones.description) },
  labels: { ...getTableColumns(labels), description: nullablePrefixOf(labels.description), description_html: prefixOf(labels.description_html) },
  snippets: {
    ...getTableColumns(snippets),
    description: nullablePrefixOf(snippets.description),
    content: prefixOf(snippets.content),
  },
}

/** A database, and the call, which may have to wait before it holds large texts. */
interface ReadContext {
  db: Database
  origin?: { holdLarge?: () => Promise<void> }
}

/**
 * Replaces cut texts by whole ones, read through the pool. For a page, Postgres cuts texts that are too large together.
 */
export async function completeTexts<Name extends string>(
  { db, origin }: ReadContext,
  { table, id, text, name }: LongText & { name: Name },
  rows: ({ id: number } & { [K in Name]?: string | null })[],
  size: 'whole' | 'page',
): Promise<void> {
  const truncated = (rows as { id: number; [name: string]: unknown }[]).filter((row) => String(row[name] ?? '').length > PREFIX_LENGTH)
  if (truncated.length === 0) return
  const selected = sql`${id} = any(${sql.param(truncated.map((row) => row.id))}::bigint[])`
  const sizes = db.write
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${text})), 0)::float8` })
    .from(table)
    .where(selected)
  if (origin?.holdLarge && ((await sizes)[0]?.bytes ?? 0) > LARGE_BYTES) await origin.holdLarge()
  const bounded = sql<string>`case when sum(octet_length(${text})) over () <= ${MAX_PAGE_BYTES}::integer then ${text}
    else left(${text}, (${MAX_PAGE_BYTES}::integer / count(*) over ())::integer) || '...' end`
  const texts = await db.write
    .select({ id, shown: size === 'whole' ? sql<string>`${text}` : bounded })
    .from(table)
    .where(selected)
  const found = new Map(texts.map((row) => [Number(row.id), row.shown]))
  for (const row of truncated) row[name] = found.get(row.id) ?? row[name]
}
