import { setTimeout as sleep } from 'node:timers/promises'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import type { Commit, GitRepository, Oid, TreeEntry } from '../../../git/types.js'
import { withoutTrailing } from '../../../lib/text/without-trailing.js'
import { type LastChanges, lastChanges } from '../../../services/repository/last-changes.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { resolveRevision, splitRevision } from '../../../services/repository/revisions.js'
import { type ProjectLinks, projectLinks } from '../../links.js'
import type { PageView } from '../../page.js'

/** What the address of a page of code names. */
export interface Place {
  repository: GitRepository
  links: ProjectLinks
  /** As it is written in the address. */
  ref: string
  path: string
  commit: Commit
  /** Whether it names a branch, so that it can be changed. */
  branch: string | null
}

/** Reads a revision and a path, as `main/docs/a.md`; 404 for an unknown revision. */
export async function placeOf(ctx: Context, subject: ProjectSubject, view: PageView, text: string): Promise<Place> {
  const repository = repositoryOf(ctx, subject.project)
  const { ref, path } = await splitRevision(repository, withoutTrailing(text, '/'), { alone: true })
  const found = await resolveRevision(ctx, subject, ref)
  const commit = found && (await repository.commit(found.commit))
  if (!commit) throw notFound()
  // a path as it is shown, in a link from a diff, is that of the first entry that is shown so
  const shown = path.includes('\ufffd') ? await repository.entry(commit.oid, path) : null
  const branch = found.ref?.startsWith('refs/heads/') ? found.ref.slice('refs/heads/'.length) : null
  return { repository, links: projectLinks(view, fullPathOf(subject.project)), ref, path: shown?.bytePath ?? path, commit, branch }
}

/** The entry at the path; 404 if there is none. */
export async function entryAt({ repository, commit, path }: Place): Promise<TreeEntry | null> {
  if (path === '') return null
  const entry = await repository.entry(commit.oid, path)
  if (!entry) throw notFound()
  return entry
}

/** How long a page waits for the commits that last changed its entries, in milliseconds; the script asks again for the rest. */
const LAST_CHANGES_MS = 150

/** The commits that last changed the entries of a folder, as far as they are found at once, and whether that is all (WB-565). */
export async function changesSoon(
  ctx: Context,
  { project }: ProjectSubject,
  commit: Oid,
  path: string,
): Promise<{ changes: LastChanges; isComplete: boolean }> {
  const { walk, round } = lastChanges(ctx, project, commit, path)
  await Promise.race([round, sleep(LAST_CHANGES_MS, undefined, { ref: false })])
  return { changes: new Map(walk.found), isComplete: walk.isComplete }
}

/** What has the script ask again for a part of a page until everything is found. */
export const refreshed = (view: PageView, isComplete: boolean) =>
  isComplete ? {} : { 'data-refresh': view.links.prefix + view.address, 'data-every': '2' }
