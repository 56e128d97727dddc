import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../db/long-text.js'
import { snippets } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { forbidden, invalidInput, notFound } from '../failures.js'
import type { ProjectAbility } from './abilities/project.js'
import type { Access } from './access.js'
import type { ActorUser } from './actor.js'
import { isOpenTo } from './can.js'
import { pathNumber } from './path-number.js'
import { getProjectFor, type ProjectSubject } from './rules.js'

type Snippet = typeof snippets.$inferSelect

/** Whether the viewer may see a personal snippet, according to its own visibility (SN-11). */
export function seesPersonal(
  viewer: Pick<ActorUser, 'id' | 'admin' | 'external'> | null,
  { author_id, visibility }: Pick<Snippet, 'author_id' | 'visibility'>,
): boolean {
  return isOpenTo(visibility, viewer) || viewer?.admin === true || viewer?.id === author_id
}

/**
 * Whether the viewer may see a snippet of a project whose snippets they may read: private ones, and for external users
 * internal ones too, are visible only to members, the author and administrators (SN-12).
 */
export function seesInProject(
  { user, level }: Pick<ProjectSubject, 'level'> & { user: Pick<ActorUser, 'id' | 'admin' | 'external'> | null },
  snippet: Pick<Snippet, 'author_id' | 'visibility'>,
): boolean {
  return level > 0 || seesPersonal(user, snippet)
}

/** A project's snippet, with the caller's abilities on the project. */
export interface SnippetSubject extends ProjectSubject {
  snippet: Snippet
}

const selectSnippet = statement('snippet of a project', (db) =>
  db
    .select(READ_COLUMNS.snippets)
    .from(snippets)
    .where(and(eq(snippets.project_id, sql.placeholder('project')), eq(snippets.id, sql.placeholder('id')))),
)

/** Requires a visible snippet and an ability on its project; `kind` is the name in a 404 message. */
export const onSnippetSignedIn = (ability: ProjectAbility, kind = 'Snippet'): Access<SnippetSubject, true> => ({
  rule: `signed in, snippet: ${ability}`,
  signedIn: true,
  early: true,
  path: z.object({ id: z.string(), snippet_id: z.string() }),
  async find(ctx, caller, params) {
    const subject = await getProjectFor(ctx, caller, params['id'] as string)
    if (!subject.can('read_snippet')) throw forbidden()
    const id = pathNumber(params['snippet_id'] as string)
    if (id === null) throw invalidInput('snippet_id is invalid')
    const [snippet] = await selectSnippet(ctx.db, null).execute({ project: subject.project.id, id })
    if (!snippet || !seesInProject({ user: caller.user, level: subject.level }, snippet)) throw notFound(kind)
    if (!subject.can(ability)) throw forbidden()
    await completeTexts(ctx, LONG_TEXTS.snippets, [snippet], 'whole')
    await completeTexts(ctx, LONG_TEXTS.snippetContents, [snippet], 'whole')
    return { ...subject, snippet }
  },
})
