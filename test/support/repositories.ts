import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { projects, protectedBranches, protectedTags, refIntents } from '../../src/db/schema/index.js'
import type { TestApp } from './app.js'
import type { TestProject, TestUser } from './factories.js'
import { aBareRepository, type TestRepository } from './git.js'
import { run } from './spawner.js'

/** A project's repository on disk, to which tests add directly what a Git client could have pushed. */
export function bareOf(t: TestApp, { id }: TestProject): TestRepository {
  const storage = t.ctx.config.storages['default'] as string
  return aBareRepository(join(storage, (id % 256).toString(16).padStart(2, '0'), `${id}.git`))
}

/** Everything that a write may change: refs, HEAD and rows. Must be equal before and after a refused call (SEC-2). */
export async function stateOf(t: TestApp, project: TestProject) {
  await t.ctx.jobs.drain()
  const bare = bareOf(t, project)
  const { write } = t.ctx.db
  return {
    refs: bare.git('for-each-ref'),
    head: bare.git('symbolic-ref', 'HEAD'),
    project: await write.select().from(projects).where(eq(projects.id, project.id)),
    branches: await write.select().from(protectedBranches).where(eq(protectedBranches.project_id, project.id)),
    tags: await write.select().from(protectedTags).where(eq(protectedTags.project_id, project.id)),
    intents: await write.select().from(refIntents).where(eq(refIntents.project_id, project.id)),
  }
}

/** Pushes from a test repository over HTTP; returns git's exit code and output. */
export function pushAs(t: TestApp, user: TestUser, project: TestProject, source: TestRepository, ...refspecs: string[]) {
  const url = new URL(`${t.url}/${project.fullPath}.git`)
  url.username = user.username
  url.password = user.token
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
  }
  return run('git', ['push', url.href, ...refspecs], { cwd: source.directory, env })
}
