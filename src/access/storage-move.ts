import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.js'
import { Unavailable } from '../lib/unavailable.js'

/** How long a write waits for a storage move to finish, in milliseconds. */
const MAX_WAIT_MS = 15_000
const POLL_INTERVAL_MS = 50

/**
 * Waits until no storage move of the subject's repository is in progress, loading the subject again each time, so that
 * it has the current storage (SEC-187). Throws Unavailable after `MAX_WAIT_MS`.
 */
export async function afterStorageMove<Subject>(ctx: Pick<Context, 'config' | 'git'>, load: () => Promise<Subject>): Promise<Subject> {
  for (const deadline = performance.now() + MAX_WAIT_MS; ; await sleep(POLL_INTERVAL_MS)) {
    const subject = await load()
    const project = projectOf(subject)
    if (!project || ctx.config.storages[project.storage] === undefined) return subject
    if (!(await ctx.git.isMoving({ storage: project.storage, id: project.id, kind: 'project' }))) return subject
    if (performance.now() > deadline) throw new Unavailable('The repository is being moved')
  }
}

/** The project that the subject is or belongs to. */
function projectOf(subject: unknown): { id: number; storage: string } | null {
  const { project } = (subject ?? {}) as { project?: { id?: unknown; storage?: unknown } }
  return typeof project?.id === 'number' && typeof project.storage === 'string' ? { id: project.id, storage: project.storage } : null
}
