import { buffer } from 'node:stream/consumers'
import { eq } from 'drizzle-orm'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { commitStatuses } from '../../../db/schema/index.js'
import { Failure } from '../../../failures.js'
import { MAX_FILE_BYTES } from '../../../rules/ci/limits.js'
import type { IncludeAnswer, IncludeResolver, JobTrigger, TriggerInclude } from '../../../rules/ci/types.js'
import { archiveNamed, entryOf } from '../artifacts/read.js'

/** The configuration of a child pipeline: a text, and files that stand in no repository. */
export interface ChildConfig {
  text: string
  /** By the path by which the text includes them. */
  files: ReadonlyMap<string, IncludeAnswer>
}

/** Writes what a job includes for its child pipeline as one file, with the files of artifacts that it names (CI-302). */
export async function childConfig(ctx: Context, subject: ProjectSubject, pipeline: number, { include, inputs }: JobTrigger): Promise<ChildConfig> {
  const files = new Map<string, IncludeAnswer>()
  const entries: object[] = []
  for (const [at, each] of include.entries()) {
    const given = { ...inputs, ...each.inputs }
    const shared = Object.keys(given).length > 0 ? { inputs: given } : {}
    if (each.kind === 'artifact') {
      const path = `/.artifact-${at}.yml`
      files.set(path, await artifactAnswer(ctx, subject, pipeline, each))
      entries.push({ local: path, ...shared })
    } else entries.push({ ...entryFor(each), ...shared })
  }
  return { text: JSON.stringify({ include: entries }), files }
}

function entryFor(each: Exclude<TriggerInclude, { kind: 'artifact' }>): object {
  if (each.kind === 'local') return { local: each.path }
  if (each.kind === 'template') return { template: each.name }
  if (each.kind === 'remote') return { remote: each.url }
  return { project: each.project, file: each.path, ...(each.ref !== null && { ref: each.ref }) }
}

async function artifactAnswer(
  ctx: Context,
  { project }: ProjectSubject,
  pipeline: number,
  { path, job }: Extract<TriggerInclude, { kind: 'artifact' }>,
): Promise<IncludeAnswer> {
  const missing = { failure: `File \`${path}\` from artifacts of job \`${job}\` could not be read!` }
  const found = await archiveNamed(ctx, project.id, job, eq(commitStatuses.pipeline_id, pipeline))
  if (!found) return missing
  try {
    const { stream, size } = await entryOf(ctx, found, path.replace(/^\//, ''))
    if (size > MAX_FILE_BYTES) {
      stream.destroy()
      return { failure: `File \`${path}\` from artifacts of job \`${job}\` is too large!` }
    }
    return { text: (await buffer(stream)).toString() }
  } catch (error) {
    if (error instanceof Failure) return missing
    throw error
  }
}

/** Answers with these files, and asks for all others. */
export const withFiles =
  (files: ReadonlyMap<string, IncludeAnswer>, resolve: IncludeResolver): IncludeResolver =>
  async (requests) => {
    const own = requests.map((request) => (request.kind === 'local' && request.from === null ? pathed(files, request.path) : undefined))
    const others = await resolve(requests.filter((_, at) => !own[at]))
    return requests.map((_, at) => own[at] ?? (others.shift() as IncludeAnswer))
  }

const pathed = (files: ReadonlyMap<string, IncludeAnswer>, path: string) => files.get(path.startsWith('/') ? path : `/${path}`)
