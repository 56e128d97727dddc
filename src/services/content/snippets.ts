import { and, asc, desc, eq, gte, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm'
import type { Caller, SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { seesInProject, seesPersonal } from '../../access/snippets.js'
import { type ViewerKind, viewerKindOf, visibleSnippetsAnywhere } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { inIds } from '../../db/conditions.js'
import { count } from '../../db/decoded.js'
import { conditionsOf, type FilterNames, type Filters, usedFilters } from '../../db/filters.js'
import { completeTexts, LONG_TEXTS, READ_COLUMNS } from '../../db/long-text.js'
import { onlyRow } from '../../db/only-row.js'
import { namespaces, projects, snippets, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { forbidden, invalidInput, invalidRecord, notFound } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { VISIBILITY_LEVEL, type Visibility, visibilityName } from '../../rules/visibility.js'
import { removeNotesAndEmoji } from '../activity/note-removal.js'
import { createdNow } from '../core/created-now.js'
import { type Page, type Paging, pageAndTotal, rowFilters } from '../core/page.js'
import { isRestricted, readSettings } from '../core/settings.js'
import { checkSpam } from '../core/spam-filter.js'
import { recordUserAgent } from '../identity/user-agents.js'
import { userRefColumns } from '../identity/user-ref.js'

type Row = typeof snippets.$inferSelect

/** A snippet with everything that its entity shows; `fullPath` is that of its project, null for personal snippets. */
export interface SnippetRecord {
  snippet: Row
  author: Pick<typeof users.$inferSelect, 'id' | 'name' | 'username' | 'state' | 'avatar'>
  fullPath: string | null
}

/** A snippet as lists show it: without its content, which may be large. */
export type ListedSnippet = Omit<SnippetRecord, 'snippet'> & { snippet: Omit<Row, 'content'> }

/** `seesInProject` as SQL, for callers who are not members. */
const visibleInProject = (viewerKind: ViewerKind): SQL => {
  if (viewerKind === 'admin') return sql`true`
  const own = sql`${snippets.author_id} = ${sql.placeholder('user')}::bigint`
  return sql`(${snippets.visibility} >= ${viewerKind === 'user' ? sql`10` : sql`20`} or ${own})`
}

interface Shape {
  of: 'author' | 'public' | 'personal' | 'project' | 'all'
  /** Decides which snippets of a project are visible; members see all. */
  viewerKind: ViewerKind | 'member'
  filters: FilterNames<SnippetFilter>[]
}

/** The filters of lists of snippets; `id` selects a single one. */
export interface SnippetFilter extends Paging, Keyset {
  id?: number | undefined
  created_after?: Date | undefined
  created_before?: Date | undefined
}

const FILTERS = {
  id: { where: (id) => eq(snippets.id, id), value: ({ id }) => id },
  created_after: { where: (time) => gte(snippets.created_at, time), value: ({ created_after }) => created_after?.toISOString() },
  created_before: { where: (time) => lte(snippets.created_at, time), value: ({ created_before }) => created_before?.toISOString() },
  ...rowFilters(snippets.id),
} satisfies Filters<SnippetFilter, FilterNames<SnippetFilter>>

const conditions = ({ of, viewerKind, filters }: Shape) =>
  and(
    of === 'project' ? eq(snippets.project_id, sql.placeholder('project')) : of === 'all' ? undefined : isNull(snippets.project_id),
    of === 'author' ? eq(snippets.author_id, sql.placeholder('user')) : undefined,
    of === 'public' ? sql`${snippets.visibility} = 20` : undefined,
    of === 'project' && viewerKind !== 'member' ? visibleInProject(viewerKind) : undefined,
    ...conditionsOf(FILTERS, filters, null),
  )

const selectSnippets = statement('snippets', (db, shape: Shape) =>
  db
    .select({
      snippet: READ_COLUMNS.snippets,
      author: userRefColumns(users),
      fullPath: sql<string | null>`${namespaces.full_path} || '/' || ${projects.path}`,
    })
    .from(snippets)
    .innerJoin(users, eq(users.id, snippets.author_id))
    .leftJoin(projects, eq(projects.id, snippets.project_id))
    .leftJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(conditions(shape))
    // personal snippets newest first (SN-1), those of a project by id (W-41)
    .orderBy(...(shape.of === 'project' ? [asc(snippets.id)] : [desc(snippets.created_at), desc(snippets.id)]))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

const selectTotal = statement('number of snippets', (db, shape: Shape) => db.select({ total: count() }).from(snippets).where(conditions(shape)))

async function listPage(
  ctx: Context,
  { user, project, ...source }: Omit<Shape, 'filters'> & { user: number; project?: number },
  filter: SnippetFilter,
): Promise<Page<SnippetRecord>> {
  const used = usedFilters(FILTERS, filter)
  const shape = { ...source, filters: used.names }
  const page = await pageAndTotal(selectSnippets(ctx.db, shape), selectTotal(ctx.db, shape), { ...used.values, user, project }, filter)
  const texts = page.items.map(({ snippet }) => snippet)
  await completeTexts(ctx, LONG_TEXTS.snippets, texts, 'page')
  return page
}

/** The caller's personal snippets (SN-1). */
export const listOwnSnippets = (ctx: Context, { user }: SignedIn, filter: SnippetFilter) =>
  listPage(ctx, { of: 'author', viewerKind: 'member', user: user.id }, filter)

/** All public personal snippets (SN-2). */
export const listPublicSnippets = (ctx: Context, { user }: SignedIn, filter: SnippetFilter) =>
  listPage(ctx, { of: 'public', viewerKind: 'member', user: user.id }, filter)

/** All snippets, personal ones and those of projects, for administrators (RX-9). */
export const listAllSnippets = (ctx: Context, { user }: SignedIn, filter: SnippetFilter) =>
  listPage(ctx, { of: 'all', viewerKind: 'member', user: user.id }, filter)

/** The snippets of a project that the caller sees (SN-8, SN-12). */
export const listProjectSnippets = (ctx: Context, { project, user, level }: ProjectSubject, caller: SignedIn, filter: SnippetFilter) =>
  listPage(ctx, { of: 'project', viewerKind: level > 0 ? 'member' : viewerKindOf(user), user: caller.user.id, project: project.id }, filter)

const selectVisible = statement('visible ones of snippets', (db, viewerKind: ViewerKind) =>
  db
    .select({
      snippet: READ_COLUMNS.snippets,
      author: userRefColumns(users),
      fullPath: sql<string | null>`${namespaces.full_path} || '/' || ${projects.path}`,
    })
    .from(snippets)
    .innerJoin(users, eq(users.id, snippets.author_id))
    .leftJoin(projects, eq(projects.id, snippets.project_id))
    .leftJoin(namespaces, eq(namespaces.id, projects.namespace_id))
    .where(and(inIds(snippets.id), visibleSnippetsAnywhere(viewerKind, sql`${sql.placeholder('user')}::bigint`)))
    .orderBy(asc(snippets.id)),
)

/** Of these snippets, personal ones and those of projects, the ones that the caller sees (SN-11, SN-12), with whole contents. */
export async function findSnippets(ctx: Context, { user }: SignedIn, ids: number[]): Promise<SnippetRecord[]> {
  if (ids.length === 0) return []
  const found = await selectVisible(ctx.db, viewerKindOf(user)).execute({ ids, user: user.id })
  const texts = found.map(({ snippet }) => snippet)
  await Promise.all([completeTexts(ctx, LONG_TEXTS.snippets, texts, 'page'), completeTexts(ctx, LONG_TEXTS.snippetContents, texts, 'page')])
  return found
}

const loadSnippet = async (ctx: Context, of: 'personal' | 'project', values: { id: number; project?: number }) => {
  const query = selectSnippets(ctx.db, { of, viewerKind: 'member', filters: ['id'] })
  const [found] = await query.execute({ ...values, limit: 1, offset: 0 })
  if (found) {
    await completeTexts(ctx, LONG_TEXTS.snippets, [found.snippet], 'whole')
    await completeTexts(ctx, LONG_TEXTS.snippetContents, [found.snippet], 'whole')
  }
  return found
}

/** A personal snippet; 404 if the caller does not see it (SN-3). */
export async function getSnippet(ctx: Context, { user }: Caller, id: number): Promise<SnippetRecord> {
  const found = await loadSnippet(ctx, 'personal', { id })
  if (!found || !seesPersonal(user, found.snippet)) throw notFound('Snippet')
  return found
}

/** A snippet of a project; 404 if the caller does not see it (SN-8). */
export async function getProjectSnippet(ctx: Context, { project, level }: ProjectSubject, { user }: SignedIn, id: number): Promise<SnippetRecord> {
  const found = await loadSnippet(ctx, 'project', { id, project: project.id })
  if (!found || !seesInProject({ user, level }, found.snippet)) throw notFound('Snippet')
  return found
}

/** 403 unless the caller is the author or an administrator (SN-5, SN-6). */
export function requireOwner({ user }: SignedIn, { snippet }: SnippetRecord): void {
  if (user.id !== snippet.author_id && !user.admin) throw forbidden()
}

/**
 * 403 unless the caller may change a project's snippet: its author unless the project is archived, maintainers unless
 * the snippet is internal, and administrators (5.1 row 14 with its notes).
 */
export function requireProjectEditor(subject: ProjectSubject, { user }: SignedIn, { snippet }: SnippetRecord): void {
  if (user.admin && subject.can('manage_snippets')) return
  const author = user.id === snippet.author_id
  if (subject.project.archived) throw forbidden()
  if (!author && (!subject.can('manage_snippets') || snippet.visibility === VISIBILITY_LEVEL.internal)) throw forbidden()
}

/** One file of a snippet as given in `files[]`. */
export interface SnippetFile {
  action?: string | undefined
  file_path?: string | undefined
  previous_path?: string | undefined
  content?: string | undefined
}

export interface SnippetInput {
  title?: string | undefined
  file_name?: string | undefined
  content?: string | undefined
  code?: string | undefined
  description?: string | null | undefined
  visibility?: Visibility | undefined
  files?: SnippetFile[] | undefined
}

interface SnippetFields {
  title?: string | undefined
  file_name?: string | undefined
  content?: string | undefined
  description?: string | null | undefined
  visibility?: Visibility | undefined
}

/**
 * The fields of a snippet, independent of the parameters used: content can be given as `content` or `code`, name and
 * content also as the only element of `files[]`.
 */
function normaliseInput({ files, code, ...given }: SnippetInput, old: Row | null): SnippetFields {
  const content = given.content ?? code
  if (!files) return { ...given, content }
  const [file, ...more] = files
  if (!file || more.length > 0) throw invalidInput('files must hold exactly one file')
  const { action = old ? 'update' : 'create', file_path, previous_path } = file
  const known = old ? ['update', 'move'] : ['create']
  // the only file of a snippet can be changed and renamed; deleting it or adding another is not supported
  if (!known.includes(action)) throw invalidInput('files[action] does not have a valid value')
  if (!file_path) throw invalidInput('files[file_path] is missing')
  if (old && (action === 'move' ? (previous_path ?? old.file_name) : file_path) !== old.file_name) throw invalidInput('files[file_path] is invalid')
  if (!old && file.content === undefined) throw invalidInput('files[content] is missing')
  return { ...given, file_name: file_path, content: file.content ?? content }
}

async function checkFaults(ctx: Context, caller: SignedIn, { title, file_name, content, description, visibility }: SnippetFields): Promise<void> {
  const faults: Record<string, string[]> = {}
  const text = (field: string, value: string | undefined, max: number) => {
    if (value === undefined) return
    if (value.trim() === '') faults[field] = ["can't be blank"]
    else if (lengthOf(value) > max) faults[field] = [tooLong(max)]
  }
  text('title', title, 255)
  if (file_name !== undefined && lengthOf(file_name) > 255) faults['file_name'] = [tooLong(255)]
  if (content !== undefined && content === '') faults['content'] = ["can't be blank"]
  if (description && lengthOf(description) > 1_000_000) faults['description'] = [tooLong(1_000_000)]
  if (visibility !== undefined && !caller.user.admin) {
    const level = VISIBILITY_LEVEL[visibility]
    if (isRestricted(await readSettings(ctx), level))
      faults['visibility_level'] = [`${visibilityName(level)} has been restricted by your administrator`]
  }
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** Creates a personal snippet (SN-4) or a snippet of a project (SN-9); returns its id. */
export async function createSnippet(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject | null,
  input: SnippetInput & { title: string },
): Promise<number> {
  if (subject === null && caller.user.external) throw forbidden()
  const projectId = subject?.project.id ?? null
  const given = normaliseInput(input, null)
  const missing = (['file_name', 'content'] as const).filter((name) => given[name] === undefined)
  if (missing.length > 0) throw invalidInput(missing.map((name) => `${name} is missing`).join(', '))
  const visibility = given.visibility ?? (await readSettings(ctx)).default_snippet_visibility
  await checkFaults(ctx, caller, { ...given, visibility })
  await checkSpam(ctx, caller, {
    kind: 'snippet',
    text: [given.title, given.description, given.content].filter(Boolean).join('\n\n'),
    project_id: projectId,
    data: { ...given, visibility },
    isPublic: visibility === 'public' && (subject === null || subject.project.visibility === VISIBILITY_LEVEL.public),
    byMember: subject !== null && subject.level > 0,
  })
  const values = {
    project_id: projectId,
    author_id: caller.user.id,
    title: given.title as string,
    file_name: given.file_name as string,
    content: given.content as string,
    description: given.description ?? null,
    visibility: VISIBILITY_LEVEL[visibility],
    ...createdNow(ctx),
  }
  return ctx.db.transaction(async (tx) => {
    const { id } = onlyRow(await tx.insert(snippets).values(values).returning({ id: snippets.id }))
    await recordUserAgent(ctx, tx, caller, { snippet_id: id })
    return id
  })
}

/** Changes the given attributes (SN-5, SN-10). */
export async function updateSnippet(ctx: Context, caller: SignedIn, { snippet }: SnippetRecord, input: SnippetInput): Promise<void> {
  const given = normaliseInput(input, snippet)
  await checkFaults(ctx, caller, given)
  const changed = await ctx.db.write
    .update(snippets)
    .set({
      ...(given.title !== undefined && { title: given.title }),
      ...(given.file_name !== undefined && { file_name: given.file_name }),
      ...(given.content !== undefined && { content: given.content }),
      ...(given.description !== undefined && { description: given.description }),
      ...(given.visibility !== undefined && { visibility: VISIBILITY_LEVEL[given.visibility] }),
      updated_at: ctx.now(),
    })
    .where(eq(snippets.id, snippet.id))
    .returning({ id: snippets.id })
  if (changed.length === 0) throw notFound('Snippet')
}

/** Deletes a snippet with its notes (SN-6, SN-10). */
export async function deleteSnippet(ctx: Context, { snippet }: SnippetRecord): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [row] = await tx.select().from(snippets).where(eq(snippets.id, snippet.id)).for('update')
    if (!row) throw notFound('Snippet')
    await removeRows(tx, [row])
  })
}

async function removeRows(tx: Transaction, rows: Row[]): Promise<void> {
  const ofProjects = rows.flatMap(({ id, project_id }) => (project_id === null ? [] : [{ id, project_id }]))
  await removeNotesAndEmoji(tx, 'Snippet', ofProjects)
  await tx.delete(snippets).where(
    inArray(
      snippets.id,
      rows.map(({ id }) => id),
    ),
  )
}

/** The number of snippets deleted in one transaction. */
const BATCH_SIZE = 200

/** Deletes all snippets of a user, with their notes (U-34). */
export async function removeSnippetsOf(ctx: Context, authorId: number): Promise<void> {
  for (let removed = BATCH_SIZE; removed === BATCH_SIZE; )
    removed = await ctx.db.transaction(async (tx) => {
      const rows = await tx.select().from(snippets).where(eq(snippets.author_id, authorId)).orderBy(snippets.id).limit(BATCH_SIZE).for('update')
      if (rows.length > 0) await removeRows(tx, rows)
      return rows.length
    })
}
