import { eq, inArray, sql } from 'drizzle-orm'
import type { IssueSubject } from '../../../access/issues.js'
import type { Context } from '../../../context.js'
import { issues, projects } from '../../../db/schema/index.js'
import { notFound } from '../../../failures.js'
import { removeDependents } from '../remove.js'
import { updateIssueCounts } from './attributes.js'

/** Deletes an issue with its notes and everything recorded about it; its number is not reused (IS-7). */
export async function deleteIssue(ctx: Context, { issue }: IssueSubject): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(issues).where(eq(issues.id, issue.id)).for('update')
    if (!row) throw notFound('Issue')
    await removeDependents(tx, 'Issue', [row])
    await tx.delete(issues).where(eq(issues.id, row.id))
    await updateIssueCounts(tx, row.project_id, row, null)
  })
}

/** The number of issues deleted in one transaction. */
const BATCH_SIZE = 200

/** Deletes all issues that a user opened, with everything that belongs to them (U-34). */
export async function removeIssuesOf(ctx: Context, authorId: number): Promise<void> {
  for (;;) {
    const removed = await ctx.db.transaction(async (tx) => {
      const rows = await tx.select().from(issues).where(eq(issues.author_id, authorId)).orderBy(issues.id).limit(BATCH_SIZE).for('update')
      if (rows.length === 0) return 0
      const ids = rows.map(({ id }) => id)
      await removeDependents(tx, 'Issue', rows)
      // in SQL: one statement, whose parts would be a variable each in the builder
      await tx.execute(sql`with gone as (delete from ${issues} where ${inArray(issues.id, ids)} returning project_id, state, confidential),
        counts as (select project_id, count(*) filter (where state = 'opened' and not confidential) as plain,
          count(*) filter (where state = 'opened' and confidential) as hidden from gone group by project_id)
        update ${projects} p set open_issues_count = p.open_issues_count - counts.plain,
          open_confidential_issues_count = p.open_confidential_issues_count - counts.hidden
        from counts where p.id = counts.project_id`)
      return rows.length
    })
    if (removed < BATCH_SIZE) return
  }
}
