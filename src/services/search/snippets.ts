import { and, desc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { type ViewerKind, viewerKindOf, visibleSnippetsAnywhere } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { count } from '../../db/decoded.js'
import { type Fuzzy, fuzzy, fuzzyMatch, planFor } from '../../db/fuzzy.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { namespaces, projects, snippets, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { ListedSnippet } from '../content/snippets.js'
import { type Page, type Paging, pageAndTotal } from '../core/page.js'
import { userRefColumns } from '../identity/user-ref.js'

interface Shape {
  by: 'title' | 'content'
  viewerKind: ViewerKind
  words: Fuzzy['shape']
}

const conditions = ({ by, viewerKind, words }: Shape) =>
  and(
    visibleSnippetsAnywhere(viewerKind, sql`${sql.placeholder('user')}::bigint`),
    fuzzyMatch(by === 'title' ? [snippets.title, snippets.file_name] : [snippets.content], words),
  )

const { content: _, ...shown } = READ_COLUMNS.snippets

const selectSnippets = statement(
  'snippets of a search',
  (db, shape: Shape) =>
    db
      .select({
        snippet: shown,
        author: userRefColumns(users),
        fullPath: sql<string | null>`${namespaces.full_path} || '/' || ${projects.path}`,
      })
      .from(snippets)
      .innerJoin(users, eq(users.id, snippets.author_id))
      .leftJoin(projects, eq(projects.id, snippets.project_id))
      .leftJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .where(conditions(shape))
      .orderBy(desc(snippets.created_at), desc(snippets.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
  ({ words }) => planFor(words),
)

const selectTotal = statement(
  'number of snippets of a search',
  (db, shape: Shape) =>
    db.select({ total: count() }).from(snippets).leftJoin(projects, eq(projects.id, snippets.project_id)).where(conditions(shape)),
  ({ words }) => planFor(words),
)

/** Snippets that the caller sees (S-21), by title and file name (S-11) or by content (S-12). */
export async function searchSnippets(ctx: Context, { user }: SignedIn, by: Shape['by'], text: string, paging: Paging): Promise<Page<ListedSnippet>> {
  const words = fuzzy(text)
  const shape: Shape = { by, viewerKind: viewerKindOf(user), words: words.shape }
  const values = { ...words.values, user: user.id }
  const page = await pageAndTotal(selectSnippets(ctx.db, shape), selectTotal(ctx.db, shape), values, paging)
  const texts = page.items.map(({ snippet }) => snippet)
  await completeTexts(ctx, LONG_TEXTS.snippets, texts, 'page')
  return page
}
