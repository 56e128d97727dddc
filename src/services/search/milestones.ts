import { and, desc, eq, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { hasIssuables, type ViewerKind, viewerKindOf, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { totalCount } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { milestones, namespaceAncestry, namespaces, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import type { IssuableSource } from '../issuables/list.js'
import type { MilestoneRecord } from '../issuables/milestones.js'

interface Shape {
  in: 'project' | 'group' | 'everywhere'
  viewerKind: ViewerKind
  words: Fuzzy['shape']
}

const source = sql.placeholder('source')
const user = sql`${sql.placeholder('user')}::bigint`

/** Excludes milestones of groups. For a single project, the caller has checked visibility. */
const conditions = ({ in: where, viewerKind, words }: Shape) =>
  and(
    where === 'project' ? eq(milestones.project_id, source) : sql`(${visibleProjects(viewerKind, user)} and ${hasIssuables(viewerKind, user)})`,
    where === 'group'
      ? sql`${projects.namespace_id} in (select a.descendant_id from ${namespaceAncestry} a where a.ancestor_id = ${source})`
      : undefined,
    sql`${milestones.project_id} is not null`,
    fuzzyMatch([milestones.title, milestones.description], words),
  )

const selectMilestones = statement(
  'milestones of a search',
  (db, shape: Shape) =>
    db
      .select({
        milestone: READ_COLUMNS.milestones,
        path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
        total: totalCount(),
      })
      .from(milestones)
      .innerJoin(projects, eq(projects.id, milestones.project_id))
      .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .where(conditions(shape))
      .orderBy(desc(milestones.updated_at), desc(milestones.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
  ({ words }) => planFor(words),
)

/** Milestones by words (S-10). */
export async function searchMilestones(
  ctx: Context,
  { user }: Caller,
  at: IssuableSource,
  text: string,
  paging: Paging,
): Promise<Page<MilestoneRecord>> {
  if (at !== 'everywhere' && 'project' in at && !at.project.can('read_milestone')) return { items: [], total: 0 }
  const words = fuzzy(text, at !== 'everywhere' && 'project' in at ? 'part' : 'whole')
  const where =
    at === 'everywhere'
      ? { in: at, id: 0 }
      : 'group' in at
        ? { in: 'group' as const, id: at.group.group.id }
        : { in: 'project' as const, id: at.project.project.id }
  const shape: Shape = { in: where.in, viewerKind: viewerKindOf(user), words: words.shape }
  const values = { ...words.values, source: where.id, user: user?.id ?? 0 }
  const { items, total } = await pageFrom(selectMilestones(ctx.db, shape), values, paging)
  const texts = items.map(({ milestone }) => milestone)
  await completeTexts(ctx, LONG_TEXTS.milestones, texts, 'page')
  return { items, total }
}
