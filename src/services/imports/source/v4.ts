import { z } from 'zod'
import { HOOK_EVENTS } from '../../../db/schema/index.js'
import { compilePattern } from '../../../rules/ci/regex.js'
import { PROJECT_CREATION_LEVELS, SUBGROUP_CREATION_LEVELS } from '../../../rules/creation-levels.js'
import { isFilepath } from '../../../rules/path.js'
import { GIT_STRATEGIES, MAX_BUILD_TIMEOUT_S, MAX_GIT_DEPTH, MIN_BUILD_TIMEOUT_S } from '../../../rules/project-settings.js'
import { branchNameFault } from '../../../rules/refs/branch-name.js'
import { SQUASH_OPTIONS } from '../../../rules/squash.js'
import type { Dialect, Scope } from './dialect.js'
import type { FeatureSwitch, NoteRecord } from './records.js'
import {
  count,
  day,
  flag,
  fullPath,
  id,
  LONG,
  maybeOid,
  maybePerson,
  maybeText,
  name,
  number,
  oid,
  person,
  text,
  timestamp,
  visibility,
} from './shapes.js'

const FEATURES = ['issues', 'merge_requests', 'wiki', 'snippets', 'builds', 'repository'] as const satisfies FeatureSwitch[]
/** The events of project and group webhooks. */
const IMPORTED_HOOK_EVENTS = HOOK_EVENTS.filter((event) => event !== 'repository_update' && event !== 'system')

const level = z.int().min(0).max(60)

const user = z
  .object({
    id,
    username: name,
    name: text(255),
    email: maybeText(255),
    state: text(50),
    is_admin: flag(false),
    bot: flag(false),
    external: flag(false),
    bio: maybeText(255),
    location: maybeText(255),
    website_url: text(2_048),
    organization: text(255),
    messenger: text(255),
    jobsnet: text(255),
    microblog: text(255),
    public_email: text(255),
    private_profile: flag(false),
    created_at: timestamp,
  })
  .transform(({ id: key, state, is_admin: admin, bot, external, username, name, email, created_at, ...profile }) =>
    bot
      ? null
      : {
          key,
          username,
          name: name || username,
          email,
          admin,
          external,
          created_at,
          blocked: state !== 'active' && state !== 'deactivated',
          profile,
        },
  )

const key = z
  .object({ id, title: name, key: z.string().max(5_000), can_push: flag(false), created_at: timestamp })
  .transform(({ id: key, key: line, ...given }) => ({ key, line, ...given }))

const maybeFlag = z
  .boolean()
  .nullish()
  .transform((given) => given ?? undefined)
/** The attributes that the server has. */
const withoutUndefined = <T extends object>(given: T) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }

const group = z
  .object({
    id,
    full_path: fullPath,
    name,
    description: text(LONG),
    visibility,
    parent_id: id.nullish(),
    lfs_enabled: flag(true),
    request_access_enabled: flag(false),
    created_at: timestamp,
    share_with_group_lock: maybeFlag,
    project_creation_level: z.enum(PROJECT_CREATION_LEVELS).optional().catch(undefined),
    subgroup_creation_level: z.enum(SUBGROUP_CREATION_LEVELS).optional().catch(undefined),
    default_branch_protection: z.int().min(0).max(3).optional().catch(undefined),
    default_branch: z
      .string()
      .max(255)
      .refine((name) => branchNameFault(name) === null)
      .optional()
      .catch(undefined),
    emails_disabled: maybeFlag,
    mentions_disabled: maybeFlag,
    auto_devops_enabled: maybeFlag,
    two_factor_grace_period: z.int().min(0).max(2_147_483_647).optional().catch(undefined),
  })
  .transform(({ id: key, parent_id, full_path, name, description, visibility, lfs_enabled, request_access_enabled, created_at, ...settings }) => ({
    ...{ key, parent: parent_id ?? null, full_path, name, description, visibility, lfs_enabled, request_access_enabled, created_at },
    settings: withoutUndefined(settings),
  }))

const member = z
  .intersection(z.object({ id, access_level: level, expires_at: day, created_at: timestamp }), person)
  .transform(({ id: key, access_level, expires_at, created_at, ...person }) => ({ key, person, level: access_level, expires_at, created_at }))

const FEATURE_LEVELS = { disabled: 0, private: 10, enabled: 20, public: 20 } as const
const access = z
  .enum(['disabled', 'private', 'enabled', 'public'])
  .nullish()
  .transform((given) => given && FEATURE_LEVELS[given])
const project = z
  .object({
    id,
    path_with_namespace: fullPath,
    name,
    description: maybeText(LONG),
    visibility,
    default_branch: maybeText(255),
    archived: flag(false),
    forked_from_project: z.object({ path_with_namespace: fullPath }).nullish(),
    owner: maybePerson,
    creator_id: id.nullish().catch(null),
    shared_with_groups: z
      .array(z.object({ group_full_path: fullPath, group_access_level: level, expires_at: day, created_at: timestamp }))
      .max(1_000)
      .nullish(),
    created_at: timestamp,
    updated_at: timestamp,
    last_activity_at: timestamp,
    issues_access_level: access,
    merge_requests_access_level: access,
    wiki_access_level: access,
    snippets_access_level: access,
    builds_access_level: access,
    repository_access_level: access,
    forking_access_level: access,
    operations_access_level: access,
    analytics_access_level: access,
    merge_method: z.enum(['merge', 'rebase_merge', 'ff']).optional(),
    squash_option: z.enum(SQUASH_OPTIONS).optional().catch(undefined),
    remove_source_branch_after_merge: maybeFlag,
    allow_merge_on_skipped_pipeline: maybeFlag,
    auto_cancel_pending_pipelines: z
      .enum(['enabled', 'disabled'])
      .transform((value) => value === 'enabled')
      .optional()
      .catch(undefined),
    autoclose_referenced_issues: maybeFlag,
    emails_disabled: maybeFlag,
    merge_commit_template: maybeText(500).catch(null),
    squash_commit_template: maybeText(500).catch(null),
    issue_branch_template: maybeText(255).catch(null),
    suggestion_commit_message: maybeText(255).catch(null),
    only_allow_merge_if_pipeline_succeeds: maybeFlag,
    only_allow_merge_if_all_discussions_are_resolved: maybeFlag,
    resolve_outdated_diff_discussions: maybeFlag,
    printing_merge_request_link_enabled: maybeFlag,
    request_access_enabled: maybeFlag,
    shared_runners_enabled: maybeFlag,
    container_registry_enabled: maybeFlag,
    lfs_enabled: maybeFlag,
    public_jobs: maybeFlag,
    ci_config_path: maybeText(255),
    build_timeout: z
      .int()
      .min(MIN_BUILD_TIMEOUT_S)
      .max(MAX_BUILD_TIMEOUT_S - 1)
      .optional()
      .catch(undefined),
    build_git_strategy: z.enum(GIT_STRATEGIES).optional().catch(undefined),
    ci_default_git_depth: z.int().min(0).max(MAX_GIT_DEPTH).optional().catch(undefined),
    build_coverage_regex: z
      .string()
      .max(255)
      .refine((pattern) => compilePattern(pattern) !== null)
      .optional()
      .catch(undefined),
    restrict_user_defined_variables: maybeFlag,
    keep_latest_artifact: maybeFlag,
    ci_forward_deployment_enabled: maybeFlag,
    tag_list: z.array(name).max(1_000).optional(),
  })
  .transform(({ id: key, path_with_namespace: full_path, forked_from_project, shared_with_groups, creator_id, ...given }) => {
    const { name, description, visibility, default_branch, archived, owner, created_at, updated_at, last_activity_at, ...rest } = given
    const features = Object.fromEntries(FEATURES.map((feature) => [feature, rest[`${feature}_access_level`] ?? 20])) as Record<FeatureSwitch, number>
    const { forking_access_level, operations_access_level, analytics_access_level } = rest
    const settings = withoutUndefined({
      ...Object.fromEntries(Object.entries(rest).filter(([name]) => !name.endsWith('_access_level'))),
      forking_access_level: forking_access_level ?? undefined,
      operations_access_level: operations_access_level ?? undefined,
      analytics_access_level: analytics_access_level ?? undefined,
    })
    return {
      ...{
        key,
        full_path,
        name,
        description,
        visibility,
        default_branch,
        archived,
        owner,
        created_at,
        updated_at,
        last_activity_at,
        features,
        settings,
      },
      creator: creator_id ?? null,
      forked_from: forked_from_project?.path_with_namespace ?? null,
      without: [],
      shares: (shared_with_groups ?? []).map((share) => ({
        group: share.group_full_path,
        level: share.group_access_level,
        expires_at: share.expires_at,
      })),
    }
  })

const labelFields = z.object({
  id,
  name,
  color: z.string().max(50),
  description: maybeText(LONG),
  priority: z.int().nullish(),
  is_project_label: flag(true),
})
const labelOf = ({ id: key, name: title, color, description, priority }: z.infer<typeof labelFields>) => ({
  key,
  title,
  color,
  description,
  priority: priority ?? null,
})
const groupLabel = labelFields.transform(labelOf)
/** A project's list may include the labels of its groups; these are ignored. */
const label = labelFields.transform((given) => (given.is_project_label ? labelOf(given) : null))

const milestone = z
  .object({
    id,
    iid: number,
    title: name,
    description: text(LONG),
    state: z.enum(['active', 'closed']),
    start_date: day,
    due_date: day,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .transform(({ id: key, state, ...given }) => ({ key, ...given, closed: state === 'closed' }))

const issuable = {
  id,
  iid: number,
  title: name,
  description: text(LONG),
  author: maybePerson,
  assignee: maybePerson,
  assignees: z.array(person).max(1_000).nullish(),
  labels: z.array(name).max(1_000),
  milestone: z.object({ id }).nullish(),
  discussion_locked: z.boolean().nullish(),
  closed_at: timestamp,
  closed_by: maybePerson,
  time_stats: z.object({ time_estimate: count, total_time_spent: count }).nullish(),
  created_at: timestamp,
  updated_at: timestamp,
}

interface Shared {
  id: string
  assignee: Assignee
  assignees?: NonNullable<Assignee>[] | null | undefined
  milestone?: { id: string } | null | undefined
  discussion_locked?: boolean | null | undefined
  time_stats?: { time_estimate: number; total_time_spent: number } | null | undefined
}
type Assignee = z.infer<typeof maybePerson>

function sharedOf({ id: key, assignee, assignees, milestone, discussion_locked, time_stats }: Shared) {
  const all = assignees?.length ? assignees : assignee ? [assignee] : []
  return {
    key,
    assignees: all,
    milestone: milestone?.id ?? null,
    discussion_locked: discussion_locked ?? null,
    time_estimate: time_stats?.time_estimate ?? 0,
    total_time_spent: time_stats?.total_time_spent ?? 0,
  }
}

const issue = z
  .object({ ...issuable, state: z.enum(['opened', 'closed']), confidential: flag(false), due_date: day })
  .transform(({ id, assignees, time_stats, state, ...given }) => ({
    ...given,
    ...sharedOf({ id, assignees, time_stats, ...given }),
    closed: state === 'closed',
  }))

const branch = z.string().min(1).max(1_000)
const mergeRequest = z
  .object({
    ...issuable,
    state: z.enum(['opened', 'closed', 'merged', 'locked']),
    source_branch: branch,
    target_branch: branch,
    source_project_id: id.nullish(),
    merge_status: z.enum(['can_be_merged', 'cannot_be_merged']).nullable().catch(null),
    sha: maybeOid,
    merge_commit_sha: maybeOid,
    merged_at: timestamp,
    merged_by: maybePerson,
    reviewers: z.array(person).max(1_000).nullish(),
    squash: flag(false),
    force_remove_source_branch: flag(false),
    should_remove_source_branch: z.boolean().nullish(),
    allow_collaboration: flag(false),
  })
  .transform(({ id, assignees, reviewers, time_stats, source_project_id, should_remove_source_branch, state, merge_status, ...given }) => ({
    ...given,
    ...sharedOf({ id, assignees, time_stats, ...given }),
    reviewers: reviewers ?? [],
    // locked: a merge is in progress
    state: state === 'locked' ? ('opened' as const) : state,
    source_project: source_project_id ?? null,
    merge_status,
    should_remove_source_branch: should_remove_source_branch ?? null,
    start: null,
  }))

const version = z
  .object({ id, head_commit_sha: oid, start_commit_sha: oid, created_at: timestamp })
  .transform(({ id: key, head_commit_sha: head, start_commit_sha: start, created_at }) => ({ key, head, start, created_at }))

const approvals = z
  .object({
    approved_by: z
      .array(z.object({ user: person }))
      .max(10_000)
      .nullish(),
  })
  .transform(({ approved_by }) => ({ key: 'approvals', people: (approved_by ?? []).map(({ user }) => user) }))

const line = z
  .int()
  .min(0)
  .nullish()
  .transform((given) => given ?? null)
const path = z.string().max(4_096)
const position = z.object({ base_sha: oid, start_sha: oid, head_sha: oid, old_path: path, new_path: path, old_line: line, new_line: line })

const note = z.object({
  id,
  body: text(LONG),
  system: flag(false),
  author: maybePerson,
  created_at: timestamp,
  updated_at: timestamp,
  type: z.string().nullish(),
  resolved: flag(false),
  resolved_by: maybePerson,
  resolved_at: timestamp,
  // positions of other types, such as in an image, are dropped
  position: position.nullish().catch(null),
})

/** A discussion, flattened to its notes. */
const discussion = z.object({ id: z.string().regex(/^[0-9a-f]{40}$/), notes: z.array(note).max(10_000) }).transform(({ id: discussion, notes }) =>
  notes.map(({ id: key, type, position, ...given }): NoteRecord => {
    const placed = type === 'DiffNote' && position && (position.old_line !== null || position.new_line !== null) ? position : null
    return { key, discussion, ...given, type: placed ? 'DiffNote' : type ? 'DiscussionNote' : null, position: placed }
  }),
)

const variable = z
  .object({
    key: name,
    value: text(1_000_000),
    protected: flag(false),
    masked: flag(false),
    raw: flag(false),
    variable_type: z.enum(['env_var', 'file']).catch('env_var'),
    environment_scope: z.string().max(255).catch('*'),
    description: z.string().max(255).nullable().catch(null),
  })
  .transform(({ key, variable_type, ...given }) => ({
    // several may have one name, for different environments
    key: given.environment_scope === '*' ? key : `${key} ${given.environment_scope}`,
    name: key,
    ...given,
    file: variable_type === 'file',
  }))

const hook = z
  .object({
    id,
    url: z.string().max(2_048),
    enable_ssl_verification: flag(true),
    push_events_branch_filter: maybeText(1_000),
    created_at: timestamp,
    ...(Object.fromEntries(IMPORTED_HOOK_EVENTS.map((event) => [`${event}_events`, flag(false)])) as Record<
      `${(typeof IMPORTED_HOOK_EVENTS)[number]}_events`,
      ReturnType<typeof flag>
    >),
  })
  .transform((given) => ({
    key: given.id,
    url: given.url,
    enable_ssl_verification: given.enable_ssl_verification,
    push_events_branch_filter: given.push_events_branch_filter,
    created_at: given.created_at,
    events: IMPORTED_HOOK_EVENTS.filter((event) => given[`${event}_events`]),
  }))

/** The lowest role that is allowed; entries for single users and groups are ignored. */
const levels = z
  .array(z.object({ access_level: level.nullish() }))
  .max(1_000)
  .nullish()
  .transform((given) => {
    const roles = (given ?? []).flatMap(({ access_level }) => (access_level == null ? [] : [access_level]))
    const least = Math.min(...roles.filter((role) => role > 0))
    return Number.isFinite(least) ? (least <= 30 ? 30 : 40) : roles.includes(0) ? 0 : 40
  })

const protectedBranch = z
  .object({ name, push_access_levels: levels, merge_access_levels: levels, allow_force_push: flag(false) })
  .transform(({ name: key, push_access_levels: push_level, merge_access_levels: merge_level, allow_force_push }) => ({
    key,
    push_level,
    merge_level,
    allow_force_push,
  }))

const protectedTag = z
  .object({ name, create_access_levels: levels })
  .transform(({ name: key, create_access_levels: create_level }) => ({ key, create_level }))

const link = z.object({
  name,
  url: z.string().max(2_048),
  direct_asset_url: z.string().max(8_192).catch(''),
  link_type: z.enum(['other', 'runbook', 'image', 'package']).catch('other'),
})

/** The `filepath` of a release link, from its direct asset URL. */
function filepathIn(address: string, tag: string): string | undefined {
  const [, path = ''] = address.split(`/-/releases/${encodeURIComponent(tag)}/downloads`)
  return isFilepath(path) ? path : undefined
}

const release = z
  .object({
    tag_name: name,
    name: maybeText(255),
    description: text(LONG),
    author: maybePerson,
    created_at: timestamp,
    released_at: timestamp,
    milestones: z
      .array(z.object({ title: name }))
      .max(1_000)
      .nullish(),
    assets: z.object({ links: z.array(link).max(1_000).nullish() }).nullish(),
  })
  .transform(({ tag_name: key, milestones, assets, name, ...given }) => ({
    key,
    ...given,
    name: name === key ? null : name,
    milestones: (milestones ?? []).map(({ title }) => title),
    links: (assets?.links ?? []).map(({ direct_asset_url, ...given }) => ({ ...given, filepath: filepathIn(direct_asset_url, key) })),
  }))

const snippet = z
  .object({
    ...{
      id,
      title: name,
      file_name: maybeText(255),
      description: maybeText(LONG),
      visibility,
      author: maybePerson,
      created_at: timestamp,
      updated_at: timestamp,
    },
    files: z.array(z.unknown()).max(1_000).nullish(),
  })
  .transform(({ id: key, file_name, files, ...given }) => ({ key, ...given, file_name: file_name ?? 'snippet.txt', files: files?.length ?? 1 }))

const API = '/api/v4'
const KEYSET = 'order_by=id&sort=asc&pagination=keyset&per_page=100'
const projectPath = ({ key }: Scope) => `${API}/projects/${encodeURIComponent(key)}`
const groupPath = ({ key }: Scope) => `${API}/groups/${encodeURIComponent(key)}`
const ofProject = (rest: string) => (scope: Scope) => [`${projectPath(scope)}/${rest}${rest.includes('?') ? '&' : '?'}per_page=100`]
const ofGroup = (rest: string) => (scope: Scope) => [`${groupPath(scope)}/${rest}${rest.includes('?') ? '&' : '?'}per_page=100`]
const ofThing = (rest: string) => (scope: Scope) => [`${projectPath(scope)}/${rest.replace(':iid', String(scope.iid))}?per_page=100`]
const OLDEST = 'order_by=created_at&sort=asc'

/** Servers with the v4 API: Roost itself, and GitLab CE. */
export const v4: Dialect = {
  name: 'v4',
  headers: (token) => ({ 'private-token': token }),
  gitCredentials: (token) => `oauth2:${token}`,
  snippetPath: (project, key) => `${project ? projectPath(project) : API}/snippets/${encodeURIComponent(key)}/raw`,
  headRefspec: 'refs/merge-requests/*/head:refs/merge-requests/*/head',
  lists: {
    user: { paths: () => [`${API}/users?${KEYSET}`], shape: user },
    'one user': { paths: ({ path }) => [`${API}/users?username=${encodeURIComponent(path)}`], shape: user },
    key: { paths: ({ key }) => [`${API}/users/${key}/keys?per_page=100`], shape: key },
    group: { paths: () => [`${API}/groups?all_available=true&order_by=path&sort=asc&per_page=100`], shape: group },
    'one group': { paths: ({ path }) => [`${API}/groups/${encodeURIComponent(path)}?with_projects=false`], shape: group },
    subgroup: { paths: ofGroup('subgroups?all_available=true'), shape: group },
    'group member': { paths: ofGroup('members'), shape: member },
    'group label': { paths: ofGroup('labels?include_ancestor_groups=false'), shape: groupLabel },
    'group milestone': { paths: ofGroup('milestones'), shape: milestone },
    'group variable': { paths: ofGroup('variables'), shape: variable },
    'group hook': { paths: ofGroup('hooks'), shape: hook },
    project: { paths: () => [`${API}/projects?${KEYSET}`], shape: project },
    'one project': { paths: ({ path }) => [`${API}/projects/${encodeURIComponent(path)}`], shape: project },
    'project of a group': { paths: ofGroup('projects?with_shared=false'), shape: project },
    member: { paths: ofProject('members'), shape: member },
    label: { paths: ofProject('labels?include_ancestor_groups=false'), shape: label },
    milestone: { paths: ofProject('milestones'), shape: milestone },
    variable: { paths: ofProject('variables'), shape: variable },
    hook: { paths: ofProject('hooks'), shape: hook },
    'deploy key': { paths: ofProject('deploy_keys'), shape: key },
    'protected branch': { paths: ofProject('protected_branches'), shape: protectedBranch },
    'protected tag': { paths: ofProject('protected_tags'), shape: protectedTag },
    issue: { paths: ofProject(`issues?scope=all&${OLDEST}`), shape: issue },
    'issue note': { paths: ofThing('issues/:iid/discussions'), shape: discussion },
    'merge request': { paths: ofProject(`merge_requests?scope=all&state=all&${OLDEST}`), shape: mergeRequest },
    approvals: { paths: ofThing('merge_requests/:iid/approvals'), shape: approvals },
    version: { paths: ofThing('merge_requests/:iid/versions'), shape: version },
    'merge request note': { paths: ofThing('merge_requests/:iid/discussions'), shape: discussion },
    release: { paths: ofProject('releases?order_by=created_at&sort=asc'), shape: release },
    snippet: { paths: ofProject('snippets'), shape: snippet },
    'snippet note': { paths: ofThing('snippets/:iid/discussions'), shape: discussion },
    'personal snippet': { paths: ({ path }) => [`${API}/snippets?sudo=${encodeURIComponent(path)}&per_page=100`], shape: snippet },
  },
  unsupported: [
    { kind: 'passwords and tokens', reason: 'no API returns them; users reset the password by mail, or an administrator sets one' },
    { kind: 'tokens of webhooks', reason: 'the API does not show them: set them again' },
    { kind: 'pipelines, jobs and commit statuses', reason: 'not imported' },
    { kind: 'award emoji, todos, subscriptions, events', reason: 'not imported' },
    { kind: 'boards', reason: 'they are made anew' },
    { kind: 'epics, packages, container images', reason: 'Roost does not have them' },
    { kind: 'avatars and uploaded files', reason: 'not imported' },
    { kind: 'comments on commits', reason: 'not imported' },
  ],
}
