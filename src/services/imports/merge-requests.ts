import { eq, type SQL } from 'drizzle-orm'
import type { ProjectSubject } from '../../access/rules.js'
import type { Transaction } from '../../db/client.js'
import { onlyRow } from '../../db/only-row.js'
import { mergeRequestCommits, mergeRequests, mergeRequestVersions } from '../../db/schema/index.js'
import type { Oid } from '../../git/types.js'
import { enqueue } from '../../jobs/enqueue.js'
import type { Target } from '../activity/subscriptions.js'
import { raiseIid } from '../core/iids.js'
import { mergeChecks } from '../issuables/merge-requests/merging/checks.js'
import { readersAmong } from '../issuables/merge-requests/reading/readers.js'
import { headRef, keepAroundRef, setRefs } from '../issuables/merge-requests/versions/keep-around.js'
import { type VersionDraft, versionOf } from '../issuables/merge-requests/versions/make.js'
import { updateIssueLinksSoon } from '../issuables/merge-requests/writing/issue-links.js'
import { textOf } from '../issuables/writing.js'
import { repositoryOf } from '../repository/repositories.js'
import { bringAll, listAll, type Write } from './bring.js'
import { assign, sharedColumns } from './issues.js'
import { keepMentions } from './mentions.js'
import { bringNotesOfPage } from './notes.js'
import { maybePersonId } from './people.js'
import type { Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { MergeRequestRecord, VersionRecord } from './source/records.js'

/** Brings the merge requests of a project, oldest first, with their versions and notes. All projects are there. */
export async function bringMergeRequests(run: Run, scope: Scope, subject: ProjectSubject): Promise<void> {
  const { ctx } = run
  const { id: projectId } = subject.project
  const readers = (who: SQL, tx: Transaction, id: number) => requestReaders(tx, subject, id, who)
  await bringAll(
    run,
    'merge request',
    scope,
    (record) => newMergeRequest(run, record, scope, subject),
    (records) => bringNotesOfPage(run, { kind: 'merge request', type: 'MergeRequest', scope, projectId, readers }, records),
  )
  if (run.ledger.dry) return
  // the service does what these ask for, now or when it starts
  await enqueue(ctx.db, mergeChecks, { project: projectId }, { key: String(projectId) })
  updateIssueLinksSoon(ctx, projectId)
}

async function requestReaders(tx: Transaction, { project }: ProjectSubject, id: number, who: SQL): Promise<number[]> {
  const { author_id, assignee_id } = mergeRequests
  const [ties] = await tx.select({ author_id, assignee_id }).from(mergeRequests).where(eq(mergeRequests.id, id))
  return ties ? readersAmong(tx, project, ties, who) : []
}

async function newMergeRequest(run: Run, record: MergeRequestRecord, scope: Scope, subject: ProjectSubject): Promise<Write> {
  const { ctx } = run
  const { project } = subject
  const { iid, key, source_project, start: _, sha: __, merged_by, ...given } = record
  const shared = await sharedColumns(run, record, project.id)
  const source = source_project === null ? null : (run.projects.get(source_project)?.here ?? null)
  const versions = run.ledger.dry ? [] : await versionsOf(run, record, scope, subject)
  const merged_by_id = await maybePersonId(run, merged_by)
  const { source_branch, target_branch, state, squash, merge_commit_sha, merged_at } = given
  const { force_remove_source_branch, should_remove_source_branch, allow_collaboration } = given
  return async (tx) => {
    const values = {
      ...{ project_id: project.id, iid, source_project_id: source, original_source_project_id: source ?? project.id },
      ...{ ...shared, source_branch, target_branch, state, squash, merge_commit_sha, merged_at, merged_by_id },
      ...{ force_remove_source_branch, should_remove_source_branch, allow_collaboration },
      // that of an open one is found out again
      merge_status: (state === 'opened' ? null : record.merge_status) ?? ('unchecked' as const),
    }
    const { id } = onlyRow(await tx.insert(mergeRequests).values(values).returning({ id: mergeRequests.id }))
    await raiseIid(tx, { project_id: project.id }, 'merge_request', iid)
    const target: Target = { type: 'MergeRequest', id, project_id: project.id }
    await assign(ctx, tx, subject, target, record.labels)
    await insertVersions(tx, target, versions)
    await keepMentions(ctx, tx, { target, note_id: null, text: textOf(record) }, (who) => readersAmong(tx, project, shared, who))
    return id
  }
}

interface Version {
  drawn: NonNullable<VersionDraft['version']>
  created_at: Date
}

/** The versions whose commits have come, oldest first, kept by refs. The others are reported. */
async function versionsOf(run: Run, record: MergeRequestRecord, scope: Scope, { project }: ProjectSubject): Promise<Version[]> {
  const repository = repositoryOf(run.ctx, project)
  const listed = await versionsListed(run, record, { ...scope, iid: record.iid }, repository)
  if (listed.length === 0) return []
  const existing = await repository.existingObjects(listed.flatMap(({ head, start }) => [head, start]))
  const whole = listed.filter(({ head, start }) => existing.has(head) && existing.has(start))
  if (whole.length < listed.length) {
    const gone = `${listed.length - whole.length} of ${listed.length} versions: their commits are in no branch, tag or head any more`
    await run.ledger.leftOut('merge request version', `${scope.key}/${record.iid}`, `${scope.path} !${record.iid}`, gone)
  }
  const [newest] = whole
  if (!newest) return []
  const wanted = new Map<string, Oid>(whole.flatMap(({ head, start }) => [head, start].map((oid) => [keepAroundRef(oid), oid] as const)))
  await setRefs(repository, wanted.set(headRef(record.iid), newest.head))
  const drawn: Version[] = []
  for (const { head, start, created_at } of whole.reverse())
    drawn.push({ drawn: await versionOf(repository, { head, start }), created_at: created_at ?? record.created_at ?? run.ctx.now() })
  return drawn
}

/** Newest first. */
async function versionsListed(
  run: Run,
  { iid, sha, start }: MergeRequestRecord,
  scope: Scope,
  repository: ReturnType<typeof repositoryOf>,
): Promise<VersionRecord[]> {
  if (run.source.dialect.lists.version !== undefined) return listAll(run, 'version', scope)
  // what is said of the head may be that of a branch that has moved on since it was merged
  const head = (await repository.ref(headRef(iid))) ?? sha
  return head && start ? [{ key: head, head, start, created_at: null }] : []
}

async function insertVersions(tx: Transaction, { id, project_id }: Target, versions: Version[]): Promise<void> {
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
