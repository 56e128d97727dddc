import { z } from 'zod'
import type { Commit as GitCommit, Stats } from '../../git/types.js'
import type { View } from '../../http/view.js'
import { titleOf } from '../../rules/commit-title.js'
import { PipelineBasic } from '../ci/pipeline.js'

export const Commit = z
  .strictObject({
    id: z.string(),
    short_id: z.string(),
    title: z.string(),
    message: z.string(),
    parent_ids: z.array(z.string()),
    author_name: z.string(),
    author_email: z.string(),
    authored_date: z.iso.datetime(),
    committer_name: z.string(),
    committer_email: z.string(),
    committed_date: z.iso.datetime(),
    created_at: z.iso.datetime(),
    web_url: z.url(),
    stats: z.strictObject({ additions: z.int(), deletions: z.int(), total: z.int() }).optional(),
  })
  .meta({ id: 'Commit', description: 'A commit.' })

/** After creation, and in the single view (C-18, C-47). */
export const CommitDetail = z
  .strictObject({ ...Commit.shape, project_id: z.int(), status: z.string().nullable(), last_pipeline: PipelineBasic.nullable() })
  .meta({ id: 'CommitDetail', description: 'A commit with its number of changed lines and the status of its pipeline.' })

/** A commit found by a search (S-22). */
export const FoundCommit = z
  .strictObject({ ...Commit.shape, project_id: z.int() })
  .meta({ id: 'FoundCommit', description: 'A commit that a search found.' })

/** The range of `Date` in seconds; commits may have dates outside it (SEC-152). */
const MAX_SECONDS = 8_640_000_000_000

/** A Git timestamp as ISO 8601 in UTC, clamped to the years 1 to 9999 (W-16, SEC-152). */
export function gitDate(seconds: number): string {
  const last = 253_402_300_799 // 9999-12-31: the format has four-digit years
  const first = -62_135_596_800
  const known = Number.isFinite(seconds) ? Math.min(Math.max(seconds, -MAX_SECONDS), MAX_SECONDS) : 0
  return new Date(Math.min(Math.max(known, first), last) * 1000).toISOString()
}

export function presentCommit(commit: GitCommit, project: { fullPath: string }, view: View, stats?: Stats): z.infer<typeof Commit> {
  const committed = gitDate(commit.committer.seconds)
  return {
    id: commit.oid,
    short_id: commit.oid.slice(0, 8),
    title: titleOf(commit.message),
    message: commit.message,
    parent_ids: commit.parents,
    author_name: commit.author.name,
    author_email: commit.author.email,
    authored_date: gitDate(commit.author.seconds),
    committer_name: commit.committer.name,
    committer_email: commit.committer.email,
    committed_date: committed,
    created_at: committed,
    web_url: `${view.links.project(project.fullPath)}/commit/${commit.oid}`,
    ...(stats && { stats: { additions: stats.additions, deletions: stats.deletions, total: stats.additions + stats.deletions } }),
  }
}
