import { createHash } from 'node:crypto'
import type { GitRepository, Oid } from '../../../git/types.js'
import type { JobCache, PlannedJob } from '../../../rules/ci/types.js'

/** The caches of a job as a runner gets them; those of protected branches are apart, so that others cannot fill them. */
export async function cachesOf(
  repository: GitRepository,
  sha: Oid,
  { cache }: PlannedJob,
  expand: (text: string) => string,
  isProtected: boolean,
): Promise<object[] | null> {
  if (cache.length === 0) return null
  const sent = []
  for (const each of cache) {
    const suffix = each.unprotect ? '' : isProtected ? '-protected' : '-non_protected'
    sent.push({
      key: `${await keyOf(repository, sha, each, expand)}${suffix}`,
      untracked: each.untracked,
      policy: expand(each.policy),
      paths: each.paths.map(expand),
      when: each.when,
      fallback_keys: each.fallback_keys.map((key) => `${expand(key)}${suffix}`),
    })
  }
  return sent
}

/** A text, or for files a digest of the commits that changed them last. */
async function keyOf(repository: GitRepository, sha: Oid, { key }: JobCache, expand: (text: string) => string): Promise<string> {
  if (typeof key === 'string') return expand(key)
  const commits = (await repository.lastCommits(sha, key.files.map(expand))).filter((oid) => oid !== null)
  const digest = commits.length === 0 ? 'default' : createHash('sha1').update(commits.join('-')).digest('hex')
  return key.prefix === null ? digest : `${expand(key.prefix)}-${digest}`
}
