import { eq, type SQL, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import {
  hasIssuables,
  readableCode,
  readableRequestCode,
  type ViewerKind,
  viewerKindOf,
  visibleGroups,
  visibleIssues,
  visibleMergeRequests,
  visibleProjects,
} from '../../access/visible.js'
import type { Context } from '../../context.js'
import { decoded } from '../../db/decoded.js'
import { issues, labels, mergeRequests, milestones, namespaceAncestry, namespaces, projects, routes, users } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { NamedLinks } from '../../lib/text/markdown.js'
import { titleOf } from '../../rules/commit-title.js'
import { nameOfReference, type Reference, referencesIn } from '../../rules/references.js'
import { externalIssueOf } from '../integrations/references.js'
import { repositoryOf } from '../repository/repositories.js'
import { isPublished } from '../repository/revisions.js'

/** Different references that one text may have; further ones stay text (MD-4). */
const MAX_REFERENCES = 500
/** Projects whose commits are looked for. */
const MAX_REPOSITORIES = 5

/** The viewer of a text, and the project that it belongs to. */
interface Reader {
  caller: Pick<Caller, 'user'>
  project: ProjectSubject | null
}

/** A project that references name and that the reader sees. */
interface Named {
  id: number
  path: string
  namespace_id: number
  storage: string
  /** Whether the reader may read its code. */
  code: boolean
  /** Whether the reader may also read commits of its merge requests. */
  request_code: boolean
  default_branch: string
  /** Whether the reader may see its labels and milestones. */
  issuables: boolean
}

/** A reference with the project that it is about. */
interface Located {
  reference: Reference
  project: Named
}

/**
 * What the references in a text become: links to what exists and the reader may see, everything else stays text
 * (MD-2). One statement for each kind, however many there are.
 */
export async function linksOfReferences(ctx: Context, reader: Reader, text: string): Promise<NamedLinks> {
  const references = await firstOf(ctx, await referencesIn(ctx.cpu.slices, text), reader.project?.project.external_services?.tracker !== undefined)
  if (references.length === 0) return {}
  const located = await locate(ctx, reader, references)
  const isSignedIn = reader.caller.user !== null
  const links = await Promise.all([
    linksOfNumbers(ctx, reader, located),
    // as in the API, only who is signed in sees these
    isSignedIn ? linksOfLabels(ctx, located) : [],
    isSignedIn ? linksOfMilestones(ctx, located) : [],
    linksOfCommits(ctx, located),
    linksOfNames(ctx, reader, references),
    linksOfTracker(reader.project, references),
  ])
  return Object.fromEntries(links.flat())
}

/** References that are compared in one step (SEC-145). */
const STEP = 5_000

/** The first different ones of hundreds of thousands. */
const firstOf = ({ cpu }: Context, all: Reference[], hasTracker: boolean): Promise<Reference[]> =>
  cpu.slices.steps(function* () {
    const named = new Map<string, Reference>()
    for (const [i, reference] of all.entries()) {
      if (i % STEP === STEP - 1) yield
      if (reference.kind === 'external' && !hasTracker) continue
      named.set(nameOfReference(reference), reference)
      if (named.size === MAX_REFERENCES) break
    }
    return [...named.values()]
  })

type Link = [name: string, link: NamedLinks[string]]

const linkTo = (reference: Reference, kind: string, shown: { href: string; title: string; text: string }): Link => [
  nameOfReference(reference),
  { ...shown, classes: `gfm gfm-${kind}` },
]

const user = sql`${sql.placeholder('user')}::bigint`
const texts = (name: string): SQL => sql`any(${sql.placeholder(name)}::text[])`

const selectProjects = statement(
  'projects of references',
  (db, viewerKind: ViewerKind) =>
    db
      .select({
        key: routes.key,
        id: projects.id,
        path: sql<string>`${namespaces.full_path} || '/' || ${projects.path}`,
        namespace_id: projects.namespace_id,
        storage: projects.storage,
        code: decoded(readableCode(viewerKind, user), Boolean),
        request_code: decoded(readableRequestCode(viewerKind, user), Boolean),
        default_branch: projects.default_branch,
        issuables: decoded(hasIssuables(viewerKind, user), Boolean),
      })
      .from(routes)
      .innerJoin(projects, eq(projects.id, routes.project_id))
      .innerJoin(namespaces, eq(namespaces.id, projects.namespace_id))
      .where(sql`${routes.key} = ${texts('paths')} and ${visibleProjects(viewerKind, user)}`),
  'once',
)

/** Finds the projects of references; a bare name is a project of the same namespace. */
async function locate(ctx: Context, { caller, project }: Reader, references: Reference[]): Promise<Located[]> {
  const own = project && fullPathOf(project.project)
  const pathOf = (reference: Reference): string | null => {
    if (reference.kind === 'user' || reference.kind === 'external') return null
    const { project: named } = reference
    const path = named === null || named.includes('/') ? (named ?? own) : project && `${project.project.namespace.full_path}/${named}`
    return path?.toLowerCase() ?? null
  }
  const paths = new Set(references.map(pathOf).filter((path) => path !== null))
  if (paths.size === 0) return []
  const viewerKind = viewerKindOf(caller.user)
  const rows = await selectProjects(ctx.db, viewerKind).execute({ paths: [...paths], user: caller.user?.id ?? 0 })
  const byPath = new Map(rows.map(({ key, ...row }) => [key, row]))
  return references.flatMap((reference) => {
    const found = byPath.get(pathOf(reference) ?? '')
    return found ? [{ reference, project: found }] : []
  })
}

/** Rows of the numbers that references name, as in `linksOfNumbers`. */
const wantedNumbers = sql`(select w.project, w.iid from jsonb_to_recordset(${sql.placeholder('wanted')}::jsonb) as w (project bigint, iid integer))`

const NUMBERED = {
  issue: statement(
    'issues of references',
    (db, viewerKind: ViewerKind) =>
      db
        .select({ project: issues.project_id, iid: issues.iid, title: issues.title, state: issues.state })
        .from(issues)
        .innerJoin(projects, eq(projects.id, issues.project_id))
        .where(sql`(${issues.project_id}, ${issues.iid}) in ${wantedNumbers} and ${visibleIssues(viewerKind, user)}`),
    'once',
  ),
  merge_request: statement(
    'merge requests of references',
    (db, viewerKind: ViewerKind) =>
      db
        .select({ project: mergeRequests.project_id, iid: mergeRequests.iid, title: mergeRequests.title, state: mergeRequests.state })
        .from(mergeRequests)
        .innerJoin(projects, eq(projects.id, mergeRequests.project_id))
        .where(sql`(${mergeRequests.project_id}, ${mergeRequests.iid}) in ${wantedNumbers} and ${visibleMergeRequests(viewerKind, user)}`),
    'once',
  ),
}

/** Issues and merge requests. */
async function linksOfNumbers({ db, links }: Context, { caller, project: own }: Reader, located: Located[]): Promise<Link[]> {
  const wanted = located.filter(({ reference: { kind } }) => kind === 'issue' || kind === 'merge_request')
  const viewerKind = viewerKindOf(caller.user)
  const rowsOf = async (kind: keyof typeof NUMBERED) => {
    const numbers = wanted.flatMap(({ reference, project }) =>
      reference.kind === kind && 'number' in reference ? [{ project: project.id, iid: reference.number }] : [],
    )
    if (numbers.length === 0) return []
    const rows = await NUMBERED[kind](db, viewerKind).execute({ wanted: JSON.stringify(numbers), user: caller.user?.id ?? 0 })
    return rows.map((row) => ({ ...row, kind }))
  }
  const rows = (await Promise.all([rowsOf('issue'), rowsOf('merge_request')])).flat()
  const found = new Map(rows.map((row) => [`${row.kind} ${row.project} ${row.iid}`, row]))
  return wanted.flatMap(({ reference, project }) => {
    if (!('number' in reference)) return []
    const { kind, number } = reference
    const row = found.get(`${kind} ${project.id} ${number}`)
    if (!row) return []
    const [page, sign] = kind === 'issue' ? ['issues', '#'] : ['merge_requests', '!']
    const text = `${prefixOf(own, project)}${sign}${number}${row.state === 'closed' || row.state === 'merged' ? ` (${row.state})` : ''}`
    return [linkTo(reference, kind, { href: `${links.project(project.path)}/${page}/${number}`, title: row.title, text })]
  })
}

/** The path before the sign of a reference to another project. */
const prefixOf = (own: ProjectSubject | null, project: Named) => (own?.project.id === project.id ? '' : project.path)

/** Those of a kind that names something, with the ids of the projects. */
const namedOf = (located: Located[], kind: 'label' | 'milestone') =>
  located.flatMap(({ reference, project }) => (reference.kind === kind && project.issuables ? [{ reference, name: reference.name, project }] : []))

async function linksOfLabels({ db, links }: Context, located: Located[]): Promise<Link[]> {
  const wanted = namedOf(located, 'label')
  if (wanted.length === 0) return []
  const lookups = JSON.stringify(wanted.map(({ name, project: { id, namespace_id } }) => ({ project: id, namespace: namespace_id, name })))
  const { rows } = await db.write.execute<{ project: string; title: string; description: string | null }>(sql`
    select distinct on (w.project, l.title) w.project, l.title, left(l.description, 200) as description
    from jsonb_to_recordset(${lookups}::jsonb) as w (project bigint, namespace bigint, name text)
    join ${labels} l on l.title = w.name and (l.project_id = w.project
      or l.namespace_id in (select a.ancestor_id from ${namespaceAncestry} a where a.descendant_id = w.namespace))
    order by w.project, l.title, l.project_id`)
  const found = new Map(rows.map((row) => [`${row.project} ${row.title}`, row]))
  return wanted.flatMap(({ reference, name, project }) => {
    const label = found.get(`${project.id} ${name}`)
    if (!label) return []
    const href = `${links.project(project.path)}/issues?label_name=${encodeURIComponent(name)}`
    return [linkTo(reference, 'label', { href, title: label.description ?? '', text: name })]
  })
}

/** Milestones by title, or else by number. */
async function linksOfMilestones({ db, links }: Context, located: Located[]): Promise<Link[]> {
  const wanted = namedOf(located, 'milestone')
  if (wanted.length === 0) return []
  const lookups = JSON.stringify(
    wanted.map(({ name, project: { id, namespace_id } }) => ({
      project: id,
      namespace: namespace_id,
      name,
      iid: /^[1-9]\d{0,8}$/.test(name) ? Number(name) : 0,
    })),
  )
  const { rows } = await db.write.execute<{ project: string; name: string; title: string; iid: number; group: string | null }>(sql`
    select distinct on (w.project, w.name) w.project, w.name, m.title, m.iid, n.full_path as group
    from jsonb_to_recordset(${lookups}::jsonb) as w (project bigint, namespace bigint, name text, iid integer)
    join ${milestones} m on (m.project_id = w.project and (m.title = w.name or m.iid = w.iid)) or (m.namespace_id = w.namespace and m.title = w.name)
    left join ${namespaces} n on n.id = m.namespace_id
    order by w.project, w.name, m.title = w.name desc, m.project_id, m.id`)
  const found = new Map(rows.map((row) => [`${row.project} ${row.name}`, row]))
  return wanted.flatMap(({ reference, name, project }) => {
    const milestone = found.get(`${project.id} ${name}`)
    if (!milestone) return []
    const owner = milestone.group === null ? links.project(project.path) : links.group(milestone.group)
    return [linkTo(reference, 'milestone', { href: `${owner}/milestones/${milestone.iid}`, title: '', text: `%${milestone.title}` })]
  })
}

/** Commits of projects whose code the reader may read. */
async function linksOfCommits(ctx: Context, located: Located[]): Promise<Link[]> {
  const wanted = located.flatMap(({ reference, project }) =>
    reference.kind === 'commit' && project.code ? [{ reference, oid: reference.oid, project }] : [],
  )
  const byProject = [...new Set(wanted.map(({ project }) => project.id))]
    .slice(0, MAX_REPOSITORIES)
    .map((id) => wanted.filter(({ project }) => project.id === id))
  const found = await Promise.all(
    byProject.map(async (ofProject) => {
      const { project } = ofProject[0] as (typeof wanted)[number]
      const repository = repositoryOf(ctx, project)
      const commits = await repository.commits(ofProject.map(({ oid }) => oid))
      const shown = await Promise.all(commits.map((commit) => commit && (project.request_code || isPublished(repository, project, commit.oid))))
      return ofProject.flatMap(({ reference, oid }, i) => {
        const commit = commits[i]
        if (!commit || !shown[i]) return []
        const text = `${reference.project === null ? '' : `${reference.project}@`}${oid.slice(0, 8)}`
        return [linkTo(reference, 'commit', { href: `${ctx.links.project(project.path)}/commit/${oid}`, title: titleOf(commit.message), text })]
      })
    }),
  )
  return found.flat()
}

const selectUsers = statement(
  'users of references',
  (db) =>
    db
      .select({ path: users.username, title: users.name })
      .from(users)
      .where(sql`lower(${users.username}) = ${texts('names')} and ${users.kind} = 'human'`),
  'once',
)

const selectGroups = statement(
  'groups of references',
  (db, viewerKind: ViewerKind) =>
    db
      .select({ path: namespaces.full_path, title: namespaces.name })
      .from(namespaces)
      .where(
        sql`lower(${namespaces.full_path}) = ${texts('names')} and ${namespaces.kind} = 'group' and ${visibleGroups(viewerKind, namespaces, user)}`,
      ),
  'once',
)

/** Users, and the groups that the reader sees; only who is signed in sees users. */
async function linksOfNames({ db, links }: Context, { caller }: Reader, references: Reference[]): Promise<Link[]> {
  const wanted = references.flatMap((reference) => (reference.kind === 'user' ? [{ reference, name: reference.name }] : []))
  if (wanted.length === 0) return []
  const names = wanted.map(({ name }) => name.toLowerCase())
  const [people, groups] = await Promise.all([
    caller.user ? selectUsers(db, null).execute({ names }) : [],
    selectGroups(db, viewerKindOf(caller.user)).execute({ names, user: caller.user?.id ?? 0 }),
  ])
  const rows = [...people.map((row) => ({ ...row, kind: 'user' })), ...groups.map((row) => ({ ...row, kind: 'group' }))]
  const found = new Map(rows.map((row) => [row.path.toLowerCase(), row]))
  return wanted.flatMap(({ reference, name }) => {
    const row = found.get(name.toLowerCase())
    if (!row) return []
    return [
      linkTo(reference, 'project_member', {
        href: row.kind === 'user' ? links.user(row.path) : links.group(row.path),
        title: row.title,
        text: `@${row.path}`,
      }),
    ]
  })
}

/** Issues of the tracker of the project (SV-20). */
function linksOfTracker(project: ProjectSubject | null, references: Reference[]): Link[] {
  return references.flatMap((reference) => {
    const issue = project && externalIssueOf(project.project, reference)
    return issue ? [linkTo(reference, 'issue', { href: issue.url, title: `Issue in ${issue.tracker}`, text: issue.key })] : []
  })
}
