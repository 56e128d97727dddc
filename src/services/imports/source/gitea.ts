import { z } from 'zod'
import type { Dialect, Listing, Scope } from './dialect.js'
import type { MergeRequestRecord, Person, Records } from './records.js'
import { count, dayOfTimestamp, flag, fullPath, id, LONG, maybeOid, maybeText, name, number, text, timestamp } from './shapes.js'

const account = z.object({ id, login: text(255), username: text(255), full_name: text(255), email: maybeText(255) })
const person = account.transform(
  ({ login, username, full_name, email }): Person => ({ username: username || login, name: full_name || username || login, email }),
)
/** The author of a deleted user's content has no positive id, which becomes null. */
const maybePerson = person
  .nullish()
  .catch(null)
  .transform((given) => given ?? null)

const user = account
  .extend({
    is_admin: flag(false),
    restricted: flag(false),
    active: flag(true),
    prohibit_login: flag(false),
    location: maybeText(255),
    website: text(2_048),
    description: maybeText(255),
    created: timestamp,
  })
  .transform(({ id: key, login, username, full_name, email, is_admin, restricted, active, prohibit_login, created, ...profile }) => ({
    key,
    username: username || login,
    name: full_name || username || login,
    email,
    admin: is_admin,
    external: restricted,
    blocked: prohibit_login || !active,
    profile: {
      bio: profile.description,
      location: profile.location,
      website_url: profile.website,
      organization: '',
      messenger: '',
      jobsnet: '',
      microblog: '',
      public_email: '',
      private_profile: false,
    },
    created_at: created,
  }))

const key = z
  .object({ id, title: name, key: z.string().max(5_000), read_only: flag(true), created_at: timestamp })
  .transform(({ id: key, title, key: line, read_only, created_at }) => ({ key, title, line, can_push: !read_only, created_at }))

const organization = z
  .object({
    id,
    username: text(255),
    name: text(255),
    full_name: text(255),
    description: text(LONG),
    visibility: z.enum(['public', 'limited', 'private']).catch('public'),
  })
  .transform(({ id: key, username, name, full_name, description, visibility }, context) => {
    const path = fullPath.safeParse(username || name)
    if (!path.success) {
      context.addIssue('has no name')
      return z.NEVER
    }
    return {
      key,
      full_path: path.data,
      parent: null,
      name: full_name || path.data,
      description,
      lfs_enabled: true,
      request_access_enabled: false,
      settings: {},
      visibility: visibility === 'limited' ? ('internal' as const) : visibility,
      created_at: null,
    }
  })

const PERMISSION_LEVELS = { none: 10, read: 20, write: 30, admin: 40, owner: 50 } as const
const permissionName = z.enum(['none', 'read', 'write', 'admin', 'owner'])
const team = z
  .object({
    id,
    name,
    permission: permissionName.catch('none'),
    units_map: z.record(z.string().max(100), permissionName.catch('none')).nullish(),
    includes_all_repositories: flag(false),
  })
  .transform(({ id: key, name, permission, units_map, includes_all_repositories }) => ({
    key,
    name,
    level: levelOf(permission, units_map ?? {}),
    everywhere: permission === 'owner' || includes_all_repositories,
  }))

/** If a team has a permission per unit of a repository, the one for code decides. */
function levelOf(permission: z.infer<typeof permissionName>, units: Record<string, z.infer<typeof permissionName>>): number | null {
  const isOfUnits = permission !== 'owner' && permission !== 'admin' && Object.keys(units).length > 0
  const code = isOfUnits ? (units['repo.code'] ?? 'none') : permission
  if (code !== 'none') return Math.min(PERMISSION_LEVELS[code], PERMISSION_LEVELS[permission === 'owner' ? 'owner' : 'admin'])
  return (units['repo.issues'] ?? 'none') === 'none' ? null : PERMISSION_LEVELS.none
}

const projectKey = z.object({ id }).transform(({ id: key }) => ({ key }))

const teamMember = ({ level = 20 }: Scope) =>
  z.intersection(z.object({ id }), person).transform(({ id: key, ...person }) => ({ key, person, level, expires_at: null, created_at: null }))

/** Gitea's list of collaborators does not include their permissions; Gogs' list does. */
const member = z
  .intersection(z.object({ id, permissions: z.object({ admin: flag(false), push: flag(false) }).nullish() }), person)
  .transform(({ id: key, permissions, ...person }) => ({
    key,
    person,
    expires_at: null,
    created_at: null,
    level: permissions ? (permissions.admin ? PERMISSION_LEVELS.admin : permissions.push ? PERMISSION_LEVELS.write : PERMISSION_LEVELS.read) : null,
  }))

/** A collaborator reported as `owner` is a server administrator, which grants no access level here. */
const memberLevel = z
  .object({ permission: permissionName })
  .transform(({ permission }) => ({ key: permission, level: permission === 'owner' ? null : PERMISSION_LEVELS[permission] }))

/** The owner of a repository, with the owner's visibility. */
const owner = z
  .intersection(
    person.transform((person) => ({ person })),
    z.object({ visibility: text(50) }),
  )
  .nullish()
  .catch(null)

/** A public repository is visible only to users who can see its owner. */
function visibilityOf(hidden: boolean, repositoryOwner: z.infer<typeof owner>) {
  if (hidden || repositoryOwner?.visibility === 'private') return 'private' as const
  return repositoryOwner?.visibility === 'limited' ? ('internal' as const) : ('public' as const)
}

const project = z
  .object({
    ...{
      id,
      name,
      full_name: fullPath,
      description: maybeText(LONG),
      private: flag(false),
      internal: flag(false),
      empty: flag(false),
      mirror: flag(false),
      archived: flag(false),
    },
    default_branch: maybeText(255),
    owner,
    parent: z.object({ full_name: fullPath }).nullish().catch(null),
    has_issues: flag(true),
    has_wiki: flag(true),
    has_pull_requests: flag(true),
    created_at: timestamp,
    updated_at: timestamp,
    topics: z.array(name).max(1_000).nullish(),
  })
  .transform(
    ({
      id: key,
      full_name,
      private: hidden,
      internal,
      empty,
      mirror,
      parent,
      has_issues,
      has_wiki,
      has_pull_requests,
      updated_at,
      topics,
      ...given
    }) => ({
      key,
      full_path: full_name,
      ...{
        name: given.name,
        description: given.description,
        archived: given.archived,
        owner: given.owner?.person ?? null,
        created_at: given.created_at,
      },
      visibility: visibilityOf(hidden || internal, given.owner),
      default_branch: empty ? null : given.default_branch,
      creator: null,
      forked_from: parent?.full_name ?? null,
      features: {
        issues: has_issues ? 20 : 0,
        merge_requests: has_pull_requests ? 20 : 0,
        wiki: has_wiki ? 20 : 0,
        snippets: 20,
        builds: 20,
        repository: 20,
      },
      settings: topics ? { tag_list: topics } : {},
      shares: [],
      without: [...(has_issues ? [] : ['issue' as const]), ...(has_pull_requests && !empty && !mirror ? [] : ['merge request' as const])],
      updated_at,
      last_activity_at: updated_at,
    }),
  )

/** Label titles cannot contain commas here: the API separates titles with them. */
const labelTitle = name.transform((given) => given.replaceAll(',', ';'))

const label = z
  .object({ id, name: labelTitle, color: z.string().max(50), description: maybeText(LONG) })
  .transform(({ id: key, name: title, color, description }) => ({
    key,
    title,
    color: color.startsWith('#') ? color : `#${color}`,
    description,
    priority: null,
  }))

const milestone = z
  .object({
    id,
    title: name,
    description: text(LONG),
    state: z.enum(['open', 'closed']),
    due_on: dayOfTimestamp,
    closed_at: timestamp,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .transform(({ id: key, title, description, state, due_on, created_at, updated_at }) => ({
    key,
    iid: null,
    title,
    description,
    closed: state === 'closed',
    start_date: null,
    due_date: due_on,
    created_at,
    updated_at,
  }))

const issuable = {
  ...{
    id,
    number,
    title: name,
    body: text(LONG),
    user: maybePerson,
    assignee: maybePerson,
    is_locked: flag(false),
    state: z.enum(['open', 'closed']),
  },
  assignees: z.array(person).max(1_000).nullish().catch(null),
  labels: z
    .array(z.object({ name: labelTitle }))
    .max(1_000)
    .nullish(),
  milestone: z.object({ id }).nullish().catch(null),
  created_at: timestamp,
  updated_at: timestamp,
  closed_at: timestamp,
  due_date: dayOfTimestamp,
  comments: count,
}
const issuableFields = z.object(issuable)

function sharedOf(given: z.infer<typeof issuableFields>) {
  const { id: key, number: iid, title, body, user, assignee, assignees, labels, milestone, is_locked, created_at, updated_at } = given
  const all = assignees?.length ? assignees : assignee ? [assignee] : []
  return {
    key,
    iid,
    title,
    description: body,
    author: user,
    created_at,
    updated_at,
    closed_by: null,
    time_estimate: 0,
    total_time_spent: 0,
    assignees: all,
    labels: (labels ?? []).map(({ name }) => name),
    milestone: milestone?.id ?? null,
    discussion_locked: is_locked ? true : null,
    closed_at: given.state === 'closed' ? (given.closed_at ?? updated_at) : null,
  }
}

/** Some servers include pull requests in lists of issues; these are ignored. */
const issue = issuableFields
  .extend({ pull_request: z.unknown().optional() })
  .transform((given) =>
    given.pull_request ? null : { ...sharedOf(given), closed: given.state === 'closed', confidential: false, due_date: given.due_date },
  )

const maybeSha = maybeOid.catch(null)
/** `label` still names a deleted branch, `ref` does not; `sha` is the branch's current commit. */
const pullRequestEnd = z
  .object({ label: text(1_000), ref: z.string().min(1).max(1_000), sha: maybeSha, repo: z.object({ id }).nullish() })
  .transform(({ label, ref, ...given }) => ({ ...given, branch: label || ref }))
const pullRequest = issuableFields
  .extend({
    merged: flag(false),
    merged_at: timestamp,
    merge_commit_sha: maybeSha,
    merged_by: maybePerson,
    merge_base: maybeSha,
    base: pullRequestEnd,
    head: pullRequestEnd,
  })
  .transform((given): MergeRequestRecord => {
    const { merged, merged_at, merge_commit_sha, merged_by, merge_base, base, head } = given
    const isOpen = !merged && given.state === 'open'
    return {
      ...sharedOf(given),
      state: merged ? 'merged' : isOpen ? 'opened' : 'closed',
      source_branch: head.branch,
      target_branch: base.branch,
      source_project: head.repo?.id ?? null,
      merge_status: null,
      // the target branch has moved on since the merge, so only open ones are compared with its head
      sha: head.sha,
      start: isOpen ? (base.sha ?? merge_base) : (merge_base ?? base.sha),
      merge_commit_sha: merged ? merge_commit_sha : null,
      merged_at: merged ? merged_at : null,
      merged_by: merged ? merged_by : null,
      reviewers: [],
      squash: false,
      force_remove_source_branch: false,
      should_remove_source_branch: null,
      allow_collaboration: false,
    }
  })

const comment = z
  .object({ id, body: text(LONG), user: maybePerson, created_at: timestamp, updated_at: timestamp })
  .transform(({ id: key, body, user, created_at, updated_at }) => {
    // comments without text are state changes (closed, reopened)
    if (body.trim() === '') return null
    const unresolved = { resolved: false, resolved_at: null, resolved_by: null, position: null }
    return { key, discussion: null, type: null, body, system: false, author: user, created_at, updated_at, ...unresolved }
  })

const release = z
  .object({
    tag_name: name,
    name: maybeText(255),
    body: text(LONG),
    draft: flag(false),
    author: maybePerson,
    created_at: timestamp,
    published_at: timestamp,
  })
  .transform(({ tag_name: key, name, body, draft, author, created_at, published_at }) =>
    draft
      ? null
      : {
          key,
          name: name === key ? null : name,
          description: body,
          author,
          created_at,
          released_at: published_at ?? created_at,
          milestones: [],
          links: [],
        },
  )

const protectedBranch = z
  .object({
    rule_name: text(255),
    branch_name: text(255),
    enable_push: flag(false),
    enable_push_whitelist: flag(false),
    enable_merge_whitelist: flag(false),
    enable_force_push: flag(false),
  })
  .transform((given, context) => ({
    key: usablePattern(given.rule_name || given.branch_name, context),
    push_level: given.enable_push ? (given.enable_push_whitelist ? 40 : 30) : 0,
    merge_level: given.enable_merge_whitelist ? 40 : 30,
    allow_force_push: given.enable_force_push,
  }))

const protectedTag = z
  .object({ name_pattern: name })
  .transform(({ name_pattern }, context) => ({ key: usablePattern(name_pattern, context), create_level: 40 }))

/** Only `*` is a wildcard here; other patterns are reported, as they would protect nothing. */
function usablePattern(pattern: string, context: z.RefinementCtx): string {
  if (/^\/|[?[\]{}\\]/.test(pattern)) context.addIssue(`the pattern ${pattern} is more than names and *`)
  return pattern
}

const API = '/api/v1'
/** Some lists of Gitea ignore `limit` without `page`, but still send links to next pages. */
const PAGE = 'page=1&limit=50'
const escaped = (path: string) => path.split('/').map(encodeURIComponent).join('/')
const repo = ({ path }: Scope) => `${API}/repos/${escaped(path)}`
const ofRepo = (rest: string) => (scope: Scope) => [`${repo(scope)}/${rest}${rest.includes('?') ? '&' : '?'}${PAGE}`]
const ofIssue = (scope: Scope) => [`${repo(scope)}/issues/${scope.iid}/comments?${PAGE}`]
const mapNames = (names: string[] | undefined, path: (name: string) => string) => (names ?? []).map((name) => path(encodeURIComponent(name)))

/** What Gitea and Gogs have in common. */
const shared: Pick<Dialect, 'headers' | 'gitCredentials' | 'headRefspec'> & { lists: { [K in keyof Records]?: Listing<Records[K]> } } = {
  headers: (token) => ({ authorization: `token ${token}` }),
  // the token as the username, which both accept
  gitCredentials: (token) => `${token}:x-oauth-basic`,
  headRefspec: 'refs/pull/*/head:refs/merge-requests/*/head',
  lists: {
    'one user': { paths: ({ path }) => [`${API}/users/${encodeURIComponent(path)}`], shape: user },
    key: { paths: ({ path }) => [`${API}/users/${encodeURIComponent(path)}/keys?${PAGE}`], shape: key },
    'one group': { paths: ({ path }) => [`${API}/orgs/${escaped(path)}`], shape: organization },
    team: { paths: ({ path }) => [`${API}/orgs/${escaped(path)}/teams?${PAGE}`], shape: team },
    'one project': { paths: (scope) => [repo(scope)], shape: project },
    'project of a group': { paths: ({ path }) => [`${API}/orgs/${escaped(path)}/repos?${PAGE}`], shape: project },
    member: { paths: ofRepo('collaborators'), shape: member },
    label: { paths: ofRepo('labels'), shape: label },
    milestone: { paths: ofRepo('milestones?state=all'), shape: milestone },
    'deploy key': { paths: ofRepo('keys'), shape: key },
    'issue note': { paths: ofIssue, shape: comment },
    release: { paths: ofRepo('releases'), shape: release },
  },
}

const UNSUPPORTED = [
  { kind: 'passwords and tokens', reason: 'no API returns them; users reset the password by mail, or an administrator sets one' },
  { kind: 'webhooks', reason: 'their receivers expect other payloads: add them again' },
  { kind: 'issues and pull requests that are switched off', reason: 'the API does not show them: switch them on there for the import' },
  { kind: 'reactions, stars, watches, avatars', reason: 'not imported' },
  { kind: 'attachments', reason: 'not imported; their links in texts point to the former server' },
  { kind: 'system comments and the history of issues', reason: 'the API does not have them as notes' },
]

/** Gitea and Forgejo. */
export const gitea: Dialect = {
  ...shared,
  name: 'gitea',
  lists: {
    ...shared.lists,
    user: { paths: () => [`${API}/admin/users?${PAGE}`], shape: user },
    group: { paths: () => [`${API}/orgs?${PAGE}`], shape: organization },
    'team member': { paths: ({ key }) => [`${API}/teams/${key}/members?${PAGE}`], shape: teamMember },
    'project of a team': { paths: ({ key }) => [`${API}/teams/${key}/repos?${PAGE}`], shape: projectKey },
    'level of a member': {
      paths: (scope) => [`${repo(scope)}/collaborators/${encodeURIComponent(scope.username ?? '')}/permission`],
      shape: memberLevel,
    },
    project: { paths: () => [`${API}/repos/search?sort=id&order=asc&${PAGE}`], shape: project },
    'group label': { paths: ({ path }) => [`${API}/orgs/${escaped(path)}/labels?${PAGE}`], shape: label },
    issue: { paths: ofRepo('issues?state=all&type=issues&sort=oldest'), shape: issue },
    'merge request': { paths: ofRepo('pulls?state=all&sort=oldest'), shape: pullRequest },
    'merge request note': { paths: ofIssue, shape: comment },
    'protected branch': { paths: ofRepo('branch_protections'), shape: protectedBranch },
    'protected tag': { paths: ofRepo('tag_protections'), shape: protectedTag },
  },
  unsupported: [
    ...UNSUPPORTED,
    { kind: 'reviews and their comments on lines', reason: 'not imported' },
    { kind: 'tracked times, pins, further e-mail addresses, GPG keys', reason: 'not imported' },
    { kind: 'drafts and files of releases', reason: 'not imported' },
    { kind: 'actions, their variables and secrets, packages, projects', reason: 'Roost does not have them, or the API does not show them' },
  ],
}

/**
 * Gogs. Users and repositories are listed through searches for a part of a name, where `_` matches any character.
 * Private repositories of other users are in no list.
 */
export const gogs: Dialect = {
  ...shared,
  name: 'gogs',
  lists: {
    ...shared.lists,
    user: { paths: () => [`${API}/user`, `${API}/users/search?q=_&limit=100000`], shape: user },
    group: { paths: ({ users }) => [`${API}/user/orgs`, ...mapNames(users, (name) => `${API}/users/${name}/orgs`)], shape: organization },
    'team member': { paths: ({ key }) => [`${API}/admin/teams/${key}/members`], shape: teamMember },
    project: {
      paths: ({ groups }) => [`${API}/user/repos`, ...mapNames(groups, (name) => `${API}/orgs/${name}/repos`), `${API}/repos/search?q=_&${PAGE}`],
      shape: project,
    },
    issue: { paths: (scope) => ['open', 'closed'].flatMap((state) => ofRepo(`issues?state=${state}`)(scope)), shape: issue },
  },
  unsupported: [
    ...UNSUPPORTED,
    { kind: 'pull requests', reason: "Gogs' API has no list of them; their heads are fetched as refs/merge-requests/NUMBER/head" },
    { kind: 'private repositories of other users', reason: "Gogs' API lists them to nobody else: name them with --project" },
    { kind: 'protected branches', reason: "Gogs' API does not have them; default branches are protected as the settings say" },
    { kind: 'release files', reason: 'not imported' },
  ],
}
