import type { IncomingMessage } from 'node:http'
import type { Caller } from '../../access/actor.js'
import { getProjectFor, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import type { Oid } from '../../git/types.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { checkPath } from '../../lib/git-path.js'
import { getFrom } from '../../lib/outgoing-get.js'
import { BadTarget, type TargetRules } from '../../lib/ssrf-guard.js'
import * as failures from '../../rules/ci/includes/failures.js'
import { MAX_FILE_BYTES, MAX_INCLUDE_TIME } from '../../rules/ci/limits.js'
import { TEMPLATES } from '../../rules/ci/templates.js'
import type { IncludeAnswer, IncludeRequest, IncludeResolver, Origin } from '../../rules/ci/types.js'
import { repositoryOf } from '../repository/repositories.js'
import { resolveRevision } from '../repository/revisions.js'

/** Paths that patterns and `exists` are about; more than `exists` compares with. */
const MAX_PATHS = 20_000
/** Files that are read or fetched at a time. */
const AT_ONCE = 8
const FETCH_TIMEOUT_MS = 10_000

/** The path of a project's configuration. */
export const configurationPath = ({ ci_config_path }: { ci_config_path: string | null }): string => ci_config_path || '.gitlab-ci.yml'

/** The project whose pipeline it is, at a commit: what `local` means outside of other projects. */
export interface OwnFiles {
  subject: ProjectSubject
  commit: Oid
}

/**
 * What the commit of a pipeline changes, as usual (null) or since its merge base with a ref. Null: there is nothing to
 * compare with. False: the ref does not exist.
 */
export type Comparison = (compareTo: string | null) => Promise<string[] | null | false>

interface Files extends OwnFiles {
  /** For messages: null in the project itself. */
  origin: Origin | null
}

/**
 * Answers what a configuration includes, with what the caller may read at this moment (CI-60): own files, those of other
 * projects, templates of this server, and files at public addresses; and what the pipeline is about, for their rules.
 * `own` is null where there is no project.
 */
export function includeResolver(ctx: Context, caller: Pick<Caller, 'user'>, own: OwnFiles | null, changed: Comparison): IncludeResolver {
  const signal = AbortSignal.timeout(MAX_INCLUDE_TIME)
  const projects = new Map<string, Promise<Files | string>>()

  /** The files of a project at a ref; a text says why not. */
  const filesOf = (project: string, ref: string | null): Promise<Files | string> => {
    const key = JSON.stringify([project.toLowerCase(), ref])
    const found = projects.get(key) ?? findFiles(ctx, caller, project, ref)
    projects.set(key, found)
    return found
  }
  const originFiles = async (from: Origin | null): Promise<Files | string | null> =>
    from ? filesOf(from.project, from.ref) : own && { ...own, origin: null }

  const answer = async (request: IncludeRequest): Promise<IncludeAnswer> => {
    switch (request.kind) {
      case 'template': {
        const text = TEMPLATES.get(request.name)
        return text === undefined ? { failure: failures.noTemplate(request.name) } : { text }
      }
      case 'remote':
        return fetchFile(ctx, request.url, signal)
      case 'project': {
        const files = await filesOf(request.project, request.ref)
        if (typeof files === 'string') return { failure: files }
        const text = await readOwnFile(ctx, files, request.path)
        const { noProjectFile, emptyProjectFile } = failures
        return withText(
          text,
          { none: noProjectFile(request.project, request.path), empty: emptyProjectFile(request.project, request.path) },
          files.origin,
        )
      }
      case 'local': {
        const files = await originFiles(request.from)
        if (files === null) return { failure: failures.noOwnProject(request.path) }
        if (typeof files === 'string') return { failure: files }
        const text = await readOwnFile(ctx, files, request.path)
        return withText(text, { none: failures.noLocalFile(request.path), empty: failures.emptyLocalFile(request.path) }, files.origin)
      }
      case 'list': {
        const files = await originFiles(request.from)
        return { text: files === null || typeof files === 'string' ? '' : (await pathsOf(ctx, files)).join('\n') }
      }
      case 'changes': {
        const paths = await changed(request.compare_to)
        if (paths === false) return { failure: failures.NO_COMPARE_TO }
        return paths === null ? { incomparable: true } : { text: paths.join('\n') }
      }
    }
  }

  return (requests) => mapConcurrently(AT_ONCE, requests, answer)
}

async function findFiles(ctx: Context, caller: Pick<Caller, 'user'>, project: string, ref: string | null): Promise<Files | string> {
  try {
    // a path, never an id
    const subject = project.includes('/') ? await getProjectFor(ctx, caller, project) : null
    if (!subject?.can('download_code')) return failures.noProject(project)
    const found = await resolveRevision(ctx, subject, ref ?? subject.project.default_branch)
    return found ? { subject, commit: found.commit, origin: { project, ref: found.commit } } : failures.noReference(project, ref ?? 'HEAD')
  } catch (error) {
    if (error instanceof Failure) return failures.noProject(project)
    throw error
  }
}

/** The text of a file; null if there is none, undefined if it is too large. */
export async function readOwnFile(ctx: Context, { subject, commit }: OwnFiles, path: string): Promise<string | null | undefined> {
  const repository = repositoryOf(ctx, subject.project)
  const entry = checkPath(path) === null ? await repository.entry(commit, path) : null
  if (entry?.type !== 'blob') return null
  const info = await repository.objectInfo(entry.oid)
  if (info && info.size > MAX_FILE_BYTES) return undefined
  return (await repository.blob(entry.oid))?.toString() ?? null
}

function withText(text: string | null | undefined, { none, empty }: { none: string; empty: string }, origin: Origin | null): IncludeAnswer {
  if (text === undefined) return { failure: failures.TOO_LARGE }
  if (text === null) return { failure: none }
  return text.trim() === '' ? { failure: empty } : { text, origin }
}

/** Paths of the files of a commit, as many as are looked at. */
export async function pathsOf(ctx: Context, { subject, commit }: OwnFiles): Promise<string[]> {
  const page = await repositoryOf(ctx, subject.project).treePage(commit, '', { skip: 0, limit: MAX_PATHS })
  return (page?.entries ?? []).flatMap(({ type, path }) => (type === 'blob' ? [path] : []))
}

async function fetchFile({ config, links }: Context, url: string, signal: AbortSignal): Promise<IncludeAnswer> {
  if (!config.ciRemoteIncludes) return { failure: failures.remoteRefused(url) }
  const rules: TargetRules = { protocols: ['http:', 'https:'], allowLocal: config.allowLocalRequests, self: { url: links.base, port: config.port } }
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)])
    return await getFrom(url, rules, { accept: '*/*', signal: within }, (response) => readRemote(url, response))
  } catch (error) {
    if (error instanceof BadTarget) return { failure: failures.badAddress(url) }
    return { failure: isTimeout(error) ? failures.remoteTimeout(url) : failures.remoteFailure(url) }
  }
}

const isTimeout = (error: unknown) => error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')

async function readRemote(url: string, response: IncomingMessage): Promise<IncludeAnswer> {
  if (response.statusCode !== 200) return { failure: failures.remoteStatus(url, response.statusCode ?? 0) }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_FILE_BYTES) return { failure: failures.TOO_LARGE }
    chunks.push(chunk)
  }
  return { text: Buffer.concat(chunks).toString() }
}
