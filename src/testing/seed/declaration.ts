import { z } from 'zod'

/** Entries of one list. */
const MAX_ENTRIES = 10_000

const text = (longest: number, least = 0) => z.string().min(least).max(longest)
const listOf = <T extends z.ZodType>(type: T) => z.array(type).max(MAX_ENTRIES)
const described = <T extends z.ZodType>(type: T, description: string): T => type.meta({ description })

const Username = described(text(255, 1), 'A username: of this file, or known before.')
const Day = z.string().regex(/^\d{4}-\d\d-\d\d$/, 'is not a day such as 2030-01-31')
const Time = described(z.iso.datetime({ offset: true, error: 'is not a time such as 2030-01-31T12:00:00Z' }), 'A time such as 2030-01-31T12:00:00Z.')
const Description = text(1_000_000)
const Visibility = z.enum(['private', 'internal', 'public'])
const Role = z.enum(['guest', 'reporter', 'developer', 'maintainer', 'owner'])
const Members = described(z.record(Username, Role), 'Roles by username.')
const ProjectMembers = described(z.record(Username, Role.exclude(['owner'])), 'Roles by username.')
const Color = z.string().regex(/^#[0-9A-Fa-f]{6}$/, 'is not a colour such as #428BCA')
const Access = z.enum(['disabled', 'private', 'enabled'])

const Token = z
  .strictObject({
    token: described(text(255, 8).regex(/^[\x21-\x7e]+$/, 'has other than printable ASCII characters'), 'The token itself.'),
    name: text(255, 1).optional(),
    scopes: described(z.array(text(50, 1)).max(20), '`api` unless given.').optional(),
    expires_at: Day.optional(),
  })
  .meta({ id: 'SeedToken' })

const User = z
  .strictObject({
    username: text(255, 1),
    name: described(text(255, 1), 'The username unless given.').optional(),
    email: described(text(255, 1), '`<username>@example.com` unless given.').optional(),
    password: described(text(128, 8), '`<username>-password` unless given.').optional(),
    admin: z.boolean().optional(),
    external: z.boolean().optional(),
    can_create_group: z.boolean().optional(),
    projects_limit: z.int().min(0).max(100_000).optional(),
    bio: text(500).optional(),
    location: text(255).optional(),
    organization: text(255).optional(),
    website_url: text(1_000).optional(),
    public_email: described(text(255), 'Empty, or the address of `email`.').optional(),
    private_profile: z.boolean().optional(),
    state: described(z.enum(['active', 'blocked']), 'The last thing that happens to them.').optional(),
    tokens: described(listOf(z.union([Token.shape.token, Token])), 'Personal access tokens, with the text that they shall have.').optional(),
    keys: described(
      listOf(z.strictObject({ title: text(255, 1), key: text(10_000, 1), expires_at: Time.optional() })),
      'Public keys for SSH.',
    ).optional(),
  })
  .meta({ id: 'SeedUser' })

const Label = described(
  z.union([
    text(255, 1),
    z.strictObject({
      name: text(255, 1),
      color: Color.optional(),
      description: text(10_000).optional(),
      priority: z.int().min(0).max(1_000_000).optional(),
    }),
  ]),
  'The name, or more about it.',
)

const Milestone = described(
  z.union([
    text(255, 1),
    z.strictObject({
      title: text(255, 1),
      description: Description.optional(),
      start_date: Day.optional(),
      due_date: Day.optional(),
      state: z.enum(['active', 'closed']).optional(),
    }),
  ]),
  'The title, or more about it.',
)

const Variable = z
  .strictObject({
    key: text(255, 1),
    value: text(100_000),
    protected: z.boolean().optional(),
    masked: z.boolean().optional(),
    raw: z.boolean().optional(),
    variable_type: z.enum(['env_var', 'file']).optional(),
    environment_scope: text(255, 1).optional(),
  })
  .meta({ id: 'SeedVariable' })

const EVENTS = ['push', 'tag_push', 'merge_requests', 'issues', 'note', 'pipeline', 'job', 'wiki_page', 'releases'] as const
const Hook = z
  .strictObject({
    url: text(2_000, 1),
    token: text(255).optional(),
    name: text(255).optional(),
    events: described(z.array(z.enum(EVENTS)).max(EVENTS.length), '`push` unless given.').optional(),
    push_events_branch_filter: text(255).optional(),
    enable_ssl_verification: z.boolean().optional(),
  })
  .meta({ id: 'SeedHook' })

const Group = z
  .strictObject({
    path: described(text(1_000, 1), 'With the paths of the groups above it.'),
    name: described(text(255, 1), 'The last part of the path unless given.').optional(),
    description: text(10_000).optional(),
    visibility: described(Visibility, '`private` unless given.').optional(),
    project_creation_level: z.enum(['noone', 'maintainer', 'developer']).optional(),
    subgroup_creation_level: z.enum(['owner', 'maintainer']).optional(),
    default_branch_protection: z.int().min(0).max(3).optional(),
    emails_disabled: z.boolean().optional(),
    mentions_disabled: z.boolean().optional(),
    share_with_group_lock: z.boolean().optional(),
    owner: described(Username, 'Who makes it: the first owner among its members unless given, otherwise the administrator.').optional(),
    members: Members.optional(),
    labels: listOf(Label).optional(),
    milestones: listOf(Milestone).optional(),
    variables: listOf(Variable).optional(),
    hooks: listOf(Hook).optional(),
  })
  .meta({ id: 'SeedGroup' })

const Content = described(
  z.union([text(8_000_000), z.null(), z.strictObject({ base64: text(8_000_000), executable: z.boolean().optional() })]),
  'The text of a file, its bytes in base64, or null to delete it.',
)
const Files = described(z.record(text(4_096, 1), Content), 'By path: created or replaced.')

const Action = described(
  z
    .strictObject({
      action: z.enum(['create', 'update', 'delete', 'move']),
      file_path: text(4_096, 1),
      previous_path: text(4_096, 1).optional(),
      content: text(8_000_000).optional(),
      encoding: z.enum(['text', 'base64']).optional(),
      execute_filemode: z.boolean().optional(),
    })
    .meta({ id: 'SeedAction' }),
  'As in the API of commits.',
)

const Author = described(z.union([Username, z.strictObject({ name: text(255, 1), email: text(255, 1) })]), 'A username, or anybody else.')

const Commit = z
  .strictObject({
    message: text(1_000_000),
    branch: described(text(250, 1), 'The default branch unless given.').optional(),
    from: described(text(250, 1), 'Where a new branch starts: another branch of this list; the default branch unless given. `null`: with nothing.')
      .nullable()
      .optional(),
    author: Author.optional(),
    committer: described(Author, 'The author unless given.').optional(),
    date: described(Time, 'Of author and committer: now unless given.').optional(),
    files: Files.optional(),
    actions: listOf(Action).optional(),
  })
  .meta({ id: 'SeedCommit' })

const Branch = described(
  z.union([text(250, 1), z.strictObject({ name: text(250, 1), ref: text(250, 1) })]),
  'Its name, at the head of the default branch, or elsewhere.',
)

const Tag = z
  .strictObject({
    name: text(250, 1),
    ref: described(text(250, 1), 'A branch or a tag: the default branch unless given.').optional(),
    message: described(Description, 'Makes an annotated tag.').optional(),
    release: described(
      z.union([Description, z.strictObject({ name: text(255, 1).optional(), description: Description.optional(), released_at: Time.optional() })]),
      'A release with this description.',
    ).optional(),
  })
  .meta({ id: 'SeedTag' })

const RefAccess = z.enum(['none', 'developer', 'maintainer'])
const ProtectedBranch = described(
  z.union([
    text(250, 1),
    z.strictObject({ name: text(250, 1), push: RefAccess.optional(), merge: RefAccess.optional(), allow_force_push: z.boolean().optional() }),
  ]),
  'A name or pattern, for maintainers only, or with those who may push and merge.',
)
const ProtectedTag = described(
  z.union([text(250, 1), z.strictObject({ name: text(250, 1), create: RefAccess.optional() })]),
  'A name or pattern, and who may create.',
)

const Note = described(
  z.union([text(1_000_000, 1), z.strictObject({ body: text(1_000_000, 1), author: Username.optional(), created_at: Time.optional() })]),
  'A text of the author of what it is on, or more about it.',
)

/** What issues and merge requests have in common. */
const issuable = {
  title: text(255, 1),
  description: Description.optional(),
  author: described(Username, 'The creator of the project unless given.').optional(),
  assignees: z.array(Username).max(200).optional(),
  labels: z.array(text(255, 1)).max(1_000).optional(),
  milestone: described(text(255, 1), 'Its title.').optional(),
  notes: listOf(Note).optional(),
  discussion_locked: z.boolean().optional(),
}

const Issue = z
  .strictObject({
    ...issuable,
    state: z.enum(['opened', 'closed']).optional(),
    confidential: z.boolean().optional(),
    due_date: Day.optional(),
    created_at: described(Time, 'Only for authors who may set it.').optional(),
  })
  .meta({ id: 'SeedIssue' })

const Status = z
  .strictObject({
    state: z.enum(['pending', 'running', 'success', 'failed', 'canceled']),
    name: text(255, 1).optional(),
    author: Username.optional(),
    target_url: text(1_000).optional(),
    description: text(255).optional(),
    coverage: z.number().min(0).max(100).optional(),
  })
  .meta({ id: 'SeedStatus' })

const MergeRequest = z
  .strictObject({
    ...issuable,
    source: described(text(250, 1), 'The source branch.'),
    target: described(text(250, 1), 'The target branch: the default branch unless given.').optional(),
    state: described(z.enum(['opened', 'closed', 'merged']), 'A merged one is merged after its notes and statuses.').optional(),
    draft: z.boolean().optional(),
    squash: z.boolean().optional(),
    remove_source_branch: z.boolean().optional(),
    merged_by: described(Username, 'The administrator unless given.').optional(),
    statuses: described(listOf(Status), 'Of the head of the source branch, which make its pipeline.').optional(),
  })
  .meta({ id: 'SeedMergeRequest' })

const Snippet = z
  .strictObject({
    title: text(255, 1),
    file_name: text(255, 1),
    content: text(1_000_000, 1),
    description: Description.optional(),
    visibility: described(Visibility, '`private` unless given.').optional(),
    author: Username.optional(),
  })
  .meta({ id: 'SeedSnippet' })

const Project = z
  .strictObject({
    path: described(text(1_000, 1), 'With the path of its group, or with a username.'),
    name: described(text(255, 1), 'The last part of the path unless given.').optional(),
    creator: described(Username, 'The user whose namespace it is in, or the administrator, unless given.').optional(),
    description: text(10_000).optional(),
    visibility: described(Visibility, '`private` unless given.').optional(),
    default_branch: text(250, 1).optional(),
    topics: z.array(text(255, 1)).max(100).optional(),
    merge_method: z.enum(['merge', 'rebase_merge', 'ff']).optional(),
    squash_option: z.enum(['never', 'always', 'default_on', 'default_off']).optional(),
    only_allow_merge_if_pipeline_succeeds: z.boolean().optional(),
    allow_merge_on_skipped_pipeline: z.boolean().optional(),
    only_allow_merge_if_all_discussions_are_resolved: z.boolean().optional(),
    auto_cancel_pending_pipelines: z.enum(['enabled', 'disabled']).optional(),
    remove_source_branch_after_merge: z.boolean().optional(),
    autoclose_referenced_issues: z.boolean().optional(),
    merge_commit_template: text(500).optional(),
    squash_commit_template: text(500).optional(),
    issue_branch_template: text(255).optional(),
    suggestion_commit_message: text(255).optional(),
    emails_disabled: z.boolean().optional(),
    forking_access_level: Access.optional(),
    issues_access_level: Access.optional(),
    merge_requests_access_level: Access.optional(),
    wiki_access_level: Access.optional(),
    snippets_access_level: Access.optional(),
    builds_access_level: Access.optional(),
    repository_access_level: Access.optional(),
    operations_access_level: Access.optional(),
    analytics_access_level: Access.optional(),
    request_access_enabled: z.boolean().optional(),
    lfs_enabled: z.boolean().optional(),
    ci_config_path: text(255).optional(),
    archived: described(z.boolean(), 'The last thing that happens to it.').optional(),
    members: ProjectMembers.optional(),
    labels: listOf(Label).optional(),
    milestones: listOf(Milestone).optional(),
    files: described(Files, 'Of a first commit to the default branch.').optional(),
    commits: described(listOf(Commit), 'One after the other; pushed together with the branches.').optional(),
    branches: listOf(Branch).optional(),
    tags: listOf(Tag).optional(),
    protected_branches: listOf(ProtectedBranch).optional(),
    protected_tags: listOf(ProtectedTag).optional(),
    issues: listOf(Issue).optional(),
    merge_requests: listOf(MergeRequest).optional(),
    statuses: described(
      listOf(Status.extend({ ref: described(text(250, 1), 'A branch or a tag: the default branch unless given.').optional() })),
      'Of commits.',
    ).optional(),
    variables: listOf(Variable).optional(),
    snippets: listOf(Snippet).optional(),
    wiki: described(z.record(text(255, 1), text(1_000_000, 1)), 'Texts of pages by title.').optional(),
    hooks: described(listOf(Hook), 'Made last, so that the seed itself calls none of them.').optional(),
  })
  .meta({ id: 'SeedProject' })

/** What a world can be filled with. Things refer to each other by names and paths. */
export const Seed = z
  .strictObject({
    $schema: text(2_000).optional(),
    users: listOf(User).optional(),
    groups: described(listOf(Group), 'Groups above others come first.').optional(),
    projects: listOf(Project).optional(),
    snippets: described(listOf(Snippet), 'Of users, not of projects.').optional(),
  })
  .meta({ title: 'Seed', description: 'What roost test is filled with.' })

/** What was made: ids by names and paths. */
export interface Seeded {
  users: Record<string, number>
  groups: Record<string, number>
  projects: Record<string, number>
}

export type Seed = z.output<typeof Seed>
type Entry<Name extends keyof Seed> = NonNullable<Seed[Name]> extends (infer One)[] ? One : never
export type SeedUser = Entry<'users'>
export type SeedGroup = Entry<'groups'>
export type SeedProject = Entry<'projects'>
export type SeedSnippet = Entry<'snippets'>
export type SeedStatus = z.output<typeof Status>
export type SeedIssue = z.output<typeof Issue>
export type SeedMergeRequest = z.output<typeof MergeRequest>
export type SeedCommit = z.output<typeof Commit>
export type SeedLabel = z.output<typeof Label>
export type SeedMilestone = z.output<typeof Milestone>
export type SeedVariable = z.output<typeof Variable>
export type SeedHook = z.output<typeof Hook>
export type SeedNote = z.output<typeof Note>
export type SeedAuthor = z.output<typeof Author>
export type SeedFiles = z.output<typeof Files>
