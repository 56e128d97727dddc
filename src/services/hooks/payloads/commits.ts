import { type Commit, type GitRepository, type Oid, ZERO } from '../../../git/types.js'
import { titleOf } from '../../../rules/commit-title.js'
import { repositoryOf } from '../../repository/repositories.js'
import type { PayloadData, ProjectData } from '../payload-data.js'

/** The most commits in the payload of a push (HK-15), and limits of the diff of each. */
const MAX_COMMITS = 20
const DIFF_LIMITS = { files: 1_000, lines: 50_000, bytes: 1 << 20, fileBytes: 1 << 14 }
/** The most commits that are counted. */
const MAX_COUNTED = 10_000

/** The repository of a project, for reading. */
export const repositoryIn = ({ ctx }: PayloadData, { id, row }: ProjectData): GitRepository =>
  repositoryOf(ctx, { id, storage: String(row['storage']) })

/** The Unix times of the years 9999 and 1, between which ISO dates have four digits. */
const MAX_SECONDS = 253_402_300_799
const MIN_SECONDS = -62_135_596_800
const isoOf = (seconds: number) => new Date(Math.min(Math.max(seconds || 0, MIN_SECONDS), MAX_SECONDS) * 1000).toISOString().replace('.000Z', 'Z')

/** The common object *commit* (25.2). */
export const commitObject = ({ ctx: { links } }: PayloadData, { fullPath }: ProjectData, commit: Commit) => ({
  id: commit.oid,
  message: commit.message,
  title: titleOf(commit.message),
  timestamp: isoOf(commit.committer.seconds),
  url: `${links.project(fullPath)}/commit/${commit.oid}`,
  author: { name: commit.author.name, email: commit.author.email },
})

/** The object *commit* with the paths that it changed. */
export async function commitWithFiles(data: PayloadData, project: ProjectData, repository: GitRepository, commit: Commit) {
  const { files } = await repository.diff(commit.parents[0] ?? null, commit.oid, DIFF_LIMITS)
  const moved = files.filter(({ renamed_file }) => renamed_file)
  return {
    ...commitObject(data, project, commit),
    added: [...files.filter(({ new_file }) => new_file), ...moved].map(({ new_path }) => new_path),
    modified: files.filter((file) => !file.new_file && !file.deleted_file && !file.renamed_file).map(({ new_path }) => new_path),
    removed: [...files.filter(({ deleted_file }) => deleted_file), ...moved].map(({ old_path }) => old_path),
  }
}

/**
 * The newest commits that a push added to a branch, oldest first, and the number of all added commits. For a new
 * branch, commits of the default branch do not count.
 */
export async function commitsOfPush(
  repository: GitRepository,
  { ref, old, new: to }: { ref: string; old: Oid; new: Oid },
): Promise<{ commits: Commit[]; total: number }> {
  if (to === ZERO) return { commits: [], total: 0 }
  const main = `refs/heads/${await repository.headBranch()}`
  const before = old !== ZERO ? old : ref === main ? null : await repository.ref(main)
  const known = before !== null && (await repository.commit(before)) !== null
  const { oids, total } = await repository.range(known ? [before] : [], to, MAX_COUNTED)
  const found = await Promise.all(oids.slice(0, MAX_COMMITS).map((oid) => repository.commit(oid)))
  return { commits: found.filter((commit) => commit !== null).reverse(), total }
}
