import { eq, type SQL } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { mergeRequestApprovals, mergeRequestCommits, mergeRequests, mergeRequestVersions } from '../../db/schema/index.js'
import type { Oid } from '../../git/types.js'
import { enqueue } from '../../jobs/enqueue.js'
import { headRef } from '../../rules/refs/merge-request-refs.js'
import type { Target } from '../activity/subscriptions.js'
import { raiseIid } from '../core/iids.js'
import { mergeChecks } from '../issuables/merge-requests/merging/checks.js'
import { readersAmong } from '../issuables/merge-requests/reading/readers.js'
import { keepAroundRef, setRefs } from '../issuables/merge-requests/versions/keep-around.js'
import { type VersionDraft, versionOf } from '../issuables/merge-requests/versions/make.js'
import { updateIssueLinksSoon } from '../issuables/merge-requests/writing/issue-links.js'
import { textOf } from '../issuables/writing.js'
import { repositoryOf } from '../repository/repositories.js'
import { assignImportedLabels, commonColumns } from './issues.js'
import { fetchFirst, fetchList, importList, type Write } from './items.js'
import { storeMentions } from './mentions.js'
import { importNotesOfPage } from './notes.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { MergeRequestRecord, VersionRecord } from './source/records.js'
import { maybePersonId, personId, personIds } from './users.js'

/** Imports a project's merge requests, oldest first, with versions and notes. Requires that all projects exist. */
export async function importMergeRequests(run: Run, scope: Scope, subject: ProjectSubject): Promise<void> {
  const { ctx } = run
  const { id: projectId } = subject.project
  const readers = (who: SQL, tx: Transaction, id: number) => requestReaders(tx, subject, id, who)
  await importList(
    run,
    'merge request',
    scope,
    (record) => prepareMergeRequest(run, record, scope, subject),
    (records) => importNotesOfPage(run, { kind: 'merge request', type: 'MergeRequest', scope, projectId, readers }, records),
  )
  if (run.ledger.dry) return
  // jobs for the service, which runs them now or when it starts
  await enqueue(ctx.db, mergeChecks, { project: projectId }, { key: String(projectId) })
  updateIssueLinksSoon(ctx, projectId)
}

async function requestReaders(tx: Transaction, { project }: ProjectSubject, id: number, who: SQL): Promise<number[]> {
  const { author_id, assignee_ids } = mergeRequests
  const [ties] = await tx.select({ author_id, assignee_ids }).from(mergeRequests).where(eq(mergeRequests.id, id))
  return ties ? readersAmong(tx, project, ties, who) : []
}

async function prepareMergeRequest(run: Run, record: MergeRequestRecord, scope: Scope, subject: ProjectSubject): Promise<Write> {
  const { ctx } = run
  const { project } = subject
  const { iid, key, source_project, start: _, sha: __, merged_by, reviewers, ...given } = record
  const shared = await commonColumns(run, record, project.id)
  const source = source_project === null ? null : (run.projects.get(source_project)?.localId ?? null)
  const versions = run.ledger.dry ? [] : await prepareVersions(run, record, scope, subject)
  const merged_by_id = await maybePersonId(run, merged_by)
  const reviewer_ids = await personIds(run, reviewers)
  const approverIds = await fetchApprovers(run, { ...scope, iid })
  const { source_branch, target_branch, state, squash, merge_commit_sha, merged_at } = given
  const { force_remove_source_branch, should_remove_source_branch, allow_collaboration } = given
  return async (tx) => {
    const values = {
      project_id: project.id,
      iid,
      source_project_id: source,
      original_source_project_id: source ?? project.id,
      ...shared,
      source_branch,
      target_branch,
      state,
      squash,
      merge_commit_sha,
      merged_at,
      merged_by_id,
      reviewer_ids,
      reviews_requested_at: reviewer_ids.map(() => shared.updated_at),
      force_remove_source_branch,
      should_remove_source_branch,
      allow_collaboration,
      // recomputed for open merge requests
      merge_status: (state === 'opened' ? null : record.merge_status) ?? ('unchecked' as const),
    }
    const { id } = onlyRow(await tx.insert(mergeRequests).values(values).returning({ id: mergeRequests.id }))
    await raiseIid(tx, { project_id: project.id }, 'merge_request', iid)
    const target: Target = { type: 'MergeRequest', id, project_id: project.id }
    await assignImportedLabels(ctx, tx, subject, target, record.labels)
    await insertVersions(tx, target, versions)
    if (approverIds.length > 0)
      await tx
        .insert(mergeRequestApprovals)
        .values(approverIds.map((user_id) => ({ project_id: project.id, merge_request_id: id, user_id, created_at: shared.updated_at })))
    await storeMentions(ctx, tx, { target, note_id: null, text: textOf(record) }, (who) => readersAmong(tx, project, shared, who))
    return id
  }
}

/** The local ids of the users who have approved; servers before 13.2 have no approvals. */
async function fetchApprovers(run: Run, scope: Scope): Promise<number[]> {
  if (run.ledger.dry || run.source.dialect.lists.approvals === undefined) return []
  const approvals = await fetchFirst(run, 'approvals', scope)
  return [...new Set(await Promise.all((approvals?.people ?? []).map((person) => personId(run, person))))]
}

interface PreparedVersion {
  drawn: NonNullable<VersionDraft['version']>
  created_at: Date
}

/** Versions whose commits exist, oldest first, with their keep-around refs set. The others are reported. */
async function prepareVersions(run: Run, record: MergeRequestRecord, scope: Scope, { project }: ProjectSubject): Promise<PreparedVersion[]> {
  const repository = repositoryOf(run.ctx, project)
  const listed = await listVersions(run, record, { ...scope, iid: record.iid }, repository)
  if (listed.length === 0) return []
  const existing = await repository.existingObjects(listed.flatMap(({ head, start }) => [head, start]))
  const complete = listed.filter(({ head, start }) => existing.has(head) && existing.has(start))
  if (complete.length < listed.length) {
    const gone = `${listed.length - complete.length} of ${listed.length} versions: their commits are in no branch, tag or head any more`
    await run.ledger.reportLeftOut('merge request version', `${scope.key}/${record.iid}`, `${scope.path} !${record.iid}`, gone)
  }
  const [newest] = complete
  if (!newest) return []
  const wanted = new Map<string, Oid>(complete.flatMap(({ head, start }) => [head, start].map((oid) => [keepAroundRef(oid), oid] as const)))
  await setRefs(repository, wanted.set(headRef(record.iid), newest.head))
  const drawn: PreparedVersion[] = []
  for (const { head, start, created_at } of complete.reverse())
    drawn.push({ drawn: await versionOf(repository, { head, start }), created_at: created_at ?? record.created_at ?? run.ctx.now() })
  return drawn
}

/** Newest first. */
async function listVersions(
  run: Run,
  { iid, sha, start }: MergeRequestRecord,
  scope: Scope,
  repository: ReturnType<typeof repositoryOf>,
): Promise<VersionRecord[]> {
  if (run.source.dialect.lists.version !== undefined) return fetchList(run, 'version', scope)
  // `sha` may be a branch that has moved on since the merge, so the fetched head ref comes first
  const head = (await repository.ref(headRef(iid))) ?? sha
  return head && start ? [{ key: head, head, start, created_at: null }] : []
}

async function insertVersions(tx: Transaction, { id, project_id }: Target, versions: PreparedVersion[]): Promise<void> {
  for (const { drawn, created_at } of versions) {
    const { head, start, base, state, size, commits, oids } = drawn
    const values = { project_id, merge_request_id: id, start_commit_sha: start, base_commit_sha: base, head_commit_sha: head }
    const row = onlyRow(
      await tx
        .insert(mergeRequestVersions)
        .values({ ...values, state, real_size: size, commits_count: commits, created_at })
        .returning({ id: mergeRequestVersions.id }),
    )
    if (oids.length > 0)
      await tx
        .insert(mergeRequestCommits)
        .values(oids.map((sha) => ({ project_id, sha, merge_request_id: id })))
        .onConflictDoNothing()
    await tx.update(mergeRequests).set({ version_id: row.id, sha: head, changes_count: size }).where(eq(mergeRequests.id, id))
  }
}
