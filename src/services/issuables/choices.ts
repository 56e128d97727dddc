import { asc, desc, eq, or, sql } from 'drizzle-orm'
import type { GroupSubject, ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { substring } from '../../db/fuzzy.js'
import { labels, milestones, namespaceAncestry } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'

/** What an attribute can be set to is offered up to this number. */
export const MAX_CHOICES = 100

export type ChoiceSource = { project: ProjectSubject } | { group: GroupSubject }

const search = sql.placeholder('search')
const group = sql`${sql.placeholder('group')}::bigint`
const project = sql`${sql.placeholder('project')}::bigint`

const valuesOf = (source: ChoiceSource, text: string) => ({
  group: 'project' in source ? source.project.project.namespace_id : source.group.group.id,
  project: 'project' in source ? source.project.project.id : 0,
  search: substring(text),
  limit: MAX_CHOICES + 1,
})

const selectLabels = statement('labels to choose from', (db) =>
  db
    .select({ id: labels.id, name: labels.title, color: labels.color })
    .from(labels)
    .where(
      sql`(${labels.project_id} = ${project} or ${labels.namespace_id} in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = ${group}))
        and ${labels.title} ilike ${search}`,
    )
    .orderBy(sql`${labels.priority} nulls last`, asc(labels.title), asc(labels.id))
    .limit(sql.placeholder('limit')),
)

export interface LabelChoice {
  id: number
  name: string
  color: string
}

/** The labels of a project and its groups, those with a priority first; one more than `MAX_CHOICES` if there are more. */
export const labelChoices = (ctx: Context, source: ChoiceSource, text = ''): Promise<LabelChoice[]> =>
  selectLabels(ctx.db, null).execute(valuesOf(source, text))

const selectMilestones = statement('milestones to choose from', (db) =>
  db
    .select({ id: milestones.id, iid: milestones.iid, title: milestones.title })
    .from(milestones)
    .where(
      sql`${milestones.state} = 'active' and ${or(eq(milestones.project_id, project), eq(milestones.namespace_id, group))} and ${milestones.title} ilike ${search}`,
    )
    .orderBy(sql`${milestones.due_date} nulls last`, desc(milestones.id))
    .limit(sql.placeholder('limit')),
)

/** The open milestones that can be set in a project, or are those of a group; the next one due first. */
export const milestoneChoices = (ctx: Context, source: ChoiceSource, text = '') => selectMilestones(ctx.db, null).execute(valuesOf(source, text))
