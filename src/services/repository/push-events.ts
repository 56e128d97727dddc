import type { PushData } from '../../db/schema/index.js'
import { type GitRepository, type RefUpdate, ZERO } from '../../git/types.js'

type Repository = Pick<GitRepository, 'commit' | 'countNew' | 'headBranch' | 'ref' | 'resolve'>

/**
 * Maximum number of commits counted per push, because the caller waits for it; larger pushes are recorded with this
 * number.
 */
const MAX_COUNTED = 10_000
const MAX_TITLE_LENGTH = 70

const BRANCH = 'refs/heads/'
const TAG = 'refs/tags/'

/** The data of the push events, one per branch or tag (EV-5, PU-7). */
export async function pushDataOf(repository: Repository, moves: RefUpdate[]): Promise<PushData[]> {
  const events: PushData[] = []
  let remaining = MAX_COUNTED
  for (const move of moves) {
    const branch = move.ref.startsWith(BRANCH)
    if (!branch && !move.ref.startsWith(TAG)) continue
    const summary = move.new === ZERO ? { commit_count: 0, commit_title: null } : await summarise(repository, move, branch, remaining)
    remaining = Math.max(0, remaining - summary.commit_count)
    events.push({
      ...summary,
      action: move.old === ZERO ? 'created' : move.new === ZERO ? 'removed' : 'pushed',
      ref_type: branch ? 'branch' : 'tag',
      commit_from: move.old === ZERO ? null : move.old,
      commit_to: move.new === ZERO ? null : move.new,
      ref: move.ref.slice((branch ? BRANCH : TAG).length),
    })
  }
  return events
}

/**
 * Counts the commits that are new on a branch (on a new one: not on the default branch) and names the newest; for a tag
 * the tagged commit.
 */
async function summarise(repository: Repository, move: RefUpdate, branch: boolean, limit: number) {
  const tip = branch ? move.new : (await repository.resolve(move.new))?.commit
  const commit = tip === undefined ? null : await repository.commit(tip)
  const commit_title = commit && firstLine(commit.message)
  if (!commit || !branch) return { commit_count: commit ? 1 : 0, commit_title }
  if (commit.parents.length === 1 && commit.parents[0] === move.old) return { commit_count: 1, commit_title }
  const before = move.old === ZERO ? await defaultHead(repository, move.ref) : move.old
  if (before === move.new) return { commit_count: 0, commit_title }
  return { commit_count: await repository.countNew(before ? [before] : [], move.new, limit), commit_title }
}

async function defaultHead(repository: Repository, ref: string): Promise<string | null> {
  const name = await repository.headBranch()
  return name === null || BRANCH + name === ref ? null : repository.ref(BRANCH + name)
}

/** The first line of a message, shortened, without NUL characters, which the database cannot store. */
function firstLine(message: string): string {
  const line = (message.trimStart().split('\n', 1)[0] ?? '').trimEnd().replaceAll('\0', '\ufffd')
  return [...line.slice(0, 2 * MAX_TITLE_LENGTH)].slice(0, MAX_TITLE_LENGTH).join('')
}
