import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { inIds } from '../../db/conditions.js'
import { projectLanguages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { GitRepository, Oid } from '../../git/types.js'

/**
 * Counts the bytes per language of the default branch and stores them, unless they are already stored for this commit
 * (PU-7). Part of maintenance, so no request waits for it.
 */
export async function updateLanguages(ctx: Context, projectId: number, repository: GitRepository, head: Oid | null): Promise<void> {
  if (head === null) {
    await ctx.db.write.delete(projectLanguages).where(eq(projectLanguages.project_id, projectId))
    return
  }
  const [known] = await ctx.db.write
    .select({ commit: projectLanguages.commit })
    .from(projectLanguages)
    .where(eq(projectLanguages.project_id, projectId))
  if (known?.commit === head) return
  // several megabytes of data, so loaded on first use
  const { languageTable: table } = await import('./language-table.js')
  const bytes = new Map<string, number>()
  const complete = await repository.fileSizes(head, (path, size) => {
    const language = size > 0 ? table.of(path) : null
    if (language !== null) bytes.set(language, (bytes.get(language) ?? 0) + size)
  })
  if (!complete) return
  const row = { commit: head, bytes: Object.fromEntries(bytes), names: [...bytes.keys()].map((name) => name.toLowerCase()) }
  await ctx.db.write.execute(sql`insert into ${projectLanguages} (project_id, commit, bytes, names)
    select p.id, ${row.commit}, ${JSON.stringify(row.bytes)}::jsonb, ${sql.param(row.names)}::text[] from ${projects} p where p.id = ${projectId}
    on conflict (project_id) do update set commit = excluded.commit, bytes = excluded.bytes, names = excluded.names`)
}

const selectMain = statement('main languages of projects', (db) =>
  db
    .select({
      id: projectLanguages.project_id,
      language: sql<string | null>`(select l.key from jsonb_each_text(${projectLanguages.bytes}) l order by l.value::bigint desc, l.key limit 1)`,
    })
    .from(projectLanguages)
    .where(inIds(projectLanguages.project_id)),
)

/** The language that has the most bytes in each of these projects, by project. */
export async function mainLanguagesOf(ctx: Context, ids: number[]): Promise<Map<number, string>> {
  const rows = ids.length > 0 ? await selectMain(ctx.db, null).execute({ ids }) : []
  return new Map(rows.flatMap(({ id, language }) => (language === null ? [] : [[id, language] as const])))
}

const selectLanguages = statement('languages of a project', (db) =>
  db
    .select({ bytes: projectLanguages.bytes })
    .from(projectLanguages)
    .where(eq(projectLanguages.project_id, sql.placeholder('project'))),
)

/** The languages with their percentage of all bytes, the largest first (PR-5). */
export async function languagesOf(ctx: Context, projectId: number): Promise<Record<string, number>> {
  const [row] = await selectLanguages(ctx.db, null).execute({ project: projectId })
  const byBytes = Object.entries(row?.bytes ?? {}).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  const total = byBytes.reduce((sum, [, bytes]) => sum + bytes, 0)
  return Object.fromEntries(byBytes.map(([name, bytes]) => [name, Math.round((bytes / total) * 10_000) / 100]))
}
