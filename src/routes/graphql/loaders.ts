import DataLoader from 'dataloader'
import type { Caller } from '../../access/actor.js'
import { findGroupsFor, findProjectsFor, fullPathOf, type GroupSubject, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { groupedBy } from '../../lib/grouped-by.js'
import { type JobRecord, jobsOfPipelines } from '../../services/ci/jobs.js'
import { loadPipelines, type PipelineRecord } from '../../services/ci/pipelines.js'
import { findSnippets, type SnippetRecord } from '../../services/content/snippets.js'
import { loadUsers } from '../../services/identity/user-list.js'
import { findUsersByAddress, type UserRefRecord } from '../../services/identity/user-ref.js'
import type { UserRecord } from '../../services/identity/users.js'
import { type IssueRecord, loadIssues } from '../../services/issuables/issues/list.js'
import type { Label } from '../../services/issuables/labels.js'
import { labelsOf } from '../../services/issuables/labels-of.js'
import type { Version } from '../../services/issuables/merge-requests/reading/contents.js'
import { type Opinion, opinionsOn, versionsById } from '../../services/issuables/merge-requests/reading/details.js'
import { loadListed, type MergeRequestRecord } from '../../services/issuables/merge-requests/reading/load.js'
import { visibleIds } from '../../services/issuables/visible-ids.js'
import { loadProjects, type ProjectRecord } from '../../services/projects/load.js'

/** The most keys of one read. */
const MAX_BATCH = 1_000

/** Reads what resolvers of one level ask for together, once for each key of a query (GQL-7); null for what is not there. */
export const batched = <Key, Value>(load: (keys: Key[]) => Promise<Map<Key, Value>>): DataLoader<Key, Value | null> =>
  new DataLoader<Key, Value | null>(
    async (keys) => {
      const found = await load([...keys])
      return keys.map((key) => found.get(key) ?? null)
    },
    { maxBatchSize: MAX_BATCH },
  )

const byId = <Value>(values: Value[], idOf: (value: Value) => number) => new Map(values.map((value) => [idOf(value), value]))

const labelLoader = (ctx: Context, type: 'Issue' | 'MergeRequest') => batched<number, Label[]>((ids) => labelsOf(ctx, type, ids))

/** What resolvers read: only what the caller may see, by the conditions of lists. */
export function loadersOf(ctx: Context, caller: Caller) {
  return {
    projects: batched<number, ProjectSubject>(async (ids) => byId(await findProjectsFor(ctx, caller, { ids }), ({ project }) => project.id)),
    /** By full paths in lower case. */
    projectsByPath: batched<string, ProjectSubject>(
      async (paths) =>
        new Map((await findProjectsFor(ctx, caller, { paths })).map((subject) => [fullPathOf(subject.project).toLowerCase(), subject])),
    ),
    groups: batched<number, GroupSubject>(async (ids) => byId(await findGroupsFor(ctx, caller, { ids }), ({ group }) => group.id)),
    groupsByPath: batched<string, GroupSubject>(
      async (paths) => new Map((await findGroupsFor(ctx, caller, { paths })).map((subject) => [subject.group.full_path.toLowerCase(), subject])),
    ),
    /** What is shown of projects that the caller sees. */
    projectRecords: batched<number, ProjectRecord>(async (ids) => byId(await loadProjects(ctx, caller.user, ids), ({ id }) => id)),
    users: batched<number, UserRecord>(async (ids) => byId(await loadUsers(ctx, caller, ids), ({ id }) => id)),
    usersByAddress: batched<string, UserRefRecord>((addresses) => findUsersByAddress(ctx, addresses)),
    mergeRequests: batched<number, MergeRequestRecord>(async (ids) =>
      byId(await loadListed(ctx, await visibleIds(ctx, caller, 'MergeRequest', ids)), ({ request }) => request.id),
    ),
    issues: batched<number, IssueRecord>(async (ids) =>
      byId(await loadIssues(ctx, caller, await visibleIds(ctx, caller, 'Issue', ids)), ({ issue }) => issue.id),
    ),
    issueLabels: labelLoader(ctx, 'Issue'),
    requestLabels: labelLoader(ctx, 'MergeRequest'),
    versions: batched<number, Version>((ids) => versionsById(ctx, ids)),
    opinions: batched<number, Opinion[]>(async (ids) => groupedBy(await opinionsOn(ctx, ids), ({ request }) => request)),
    pipelines: batched<number, PipelineRecord>(async (ids) => byId(await loadPipelines(ctx, ids), ({ id }) => id)),
    jobs: batched<number, JobRecord[]>((ids) => jobsOfPipelines(ctx, ids)),
    snippets: batched<number, SnippetRecord>(async (ids) =>
      caller.user ? byId(await findSnippets(ctx, caller, ids), ({ snippet }) => snippet.id) : new Map(),
    ),
  }
}

export type Loaders = ReturnType<typeof loadersOf>
