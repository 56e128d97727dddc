import type { ActorUser, CallingJob } from '../access/actor.js'
import { actingAs } from '../access/actor.js'
import { isFeatureOpen } from '../access/can.js'
import {
  findFormerProjectFor,
  formerProjectId,
  fullPathOf,
  getProjectAtLevel,
  getProjectFor,
  type Project,
  type ProjectSubject,
} from '../access/rules.js'
import { type Context, withOrigin } from '../context.js'
import { Failure, failureText, nullOnFailure } from '../failures.js'
import { RepositoryMissing } from '../git/errors.js'
import type { GitRepository, RepositoryKey, Service } from '../git/types.js'
import { readOnlyText } from '../services/core/maintenance.js'
import { readSettings } from '../services/core/settings.js'
import { recordActivity } from '../services/identity/users.js'
import { createProject, findPushTarget, type PushTarget } from '../services/projects/create.js'
import type { LfsSource } from '../services/repository/lfs/credentials.js'
import { createWikiRepository } from '../services/repository/repositories.js'

/** A Git client, and what its credentials allow. */
export interface GitCaller {
  user: ActorUser | null
  /** Of the token of a job. */
  job?: CallingJob
  reads: boolean
  writes: boolean
  /** The credential that LFS tokens are given for; absent for anonymous callers and deploy tokens, which get none. */
  source?: LfsSource
  /** Of an LFS token: the only project that it gives access to, and when it ends, in seconds since 1970. */
  projectId?: number
  end?: number
  /** For a deploy key or token: the level that it gives on a project, independent of its creator; 0: none. */
  level?: (project: Project) => Promise<number>
}

/** A refusal. Over HTTP, Git asks for credentials again after 401, but not after 403. */
export interface GitRefusal {
  status: 401 | 403 | 404 | 415 | 503
  text: string
}

export const DENIED: GitRefusal = { status: 401, text: 'HTTP Basic: Access denied' }
/** Messages shared by HTTP, SSH and LFS. */
export const NO_DOWNLOAD = 'You are not allowed to download code from this project.'
export const NO_PUSH = 'You are not allowed to push code to this project.'
export const noAccessOver = (protocol: GitAccessRequest['protocol']) => `Git access over ${protocol.toUpperCase()} is not allowed`
/** Why code of this project cannot be pushed. */
export const pushRefusal = ({ project }: ProjectSubject) => (project.archived ? 'This project is archived.' : NO_PUSH)

/** The heads of merge requests, which hold code of forks. */
const MERGE_REQUEST_REFS = 'refs/merge-requests'

export const NOT_FOUND: GitRefusal = { status: 404, text: 'The project you were looking for could not be found.' }

export const isRefusal = <T extends object>(value: T | GitRefusal): value is GitRefusal => 'status' in value

/** The request of a Git client. */
export interface GitAccessRequest {
  protocol: 'http' | 'ssh'
  /** Full path of the project, without `.git`. */
  path: string
  service: Service | 'git-upload-archive'
  /** Whether only the refs are advertised: no project is created. */
  advertises: boolean
  client: { address: string; userAgent: string; requestId: string }
}

/** An admitted caller with the repository. */
export interface Admission {
  caller: GitCaller
  /** Null if the following push will create the project. */
  subject: ProjectSubject | null
  key?: RepositoryKey
  repository: Pick<GitRepository, 'advertise' | 'uploadPack' | 'receivePack' | 'uploadArchive'>
  /** Prefixes of refs that the caller may not read (GH-28). */
  hiddenRefs: readonly string[]
  /** Messages that are shown to the user after a push. */
  notices: string[]
}

/** Visibility of the project, then rights on the repository (31.2, 31.3); the credentials have been checked. */
export async function admit(ctx: Context, caller: GitCaller, request: GitAccessRequest): Promise<Admission | GitRefusal> {
  const { path, protocol, advertises } = request
  const pushes = request.service === 'git-receive-pack'
  const { user } = caller
  const anonymous = user === null && !caller.level
  const notices: string[] = []
  let found = await findRepository(ctx, caller, path)
  if (!found && (!pushes || anonymous)) return anonymous ? DENIED : NOT_FOUND
  if (anonymous && pushes) return DENIED
  if (pushes && !caller.level && !caller.writes) return { status: 403, text: 'The token was made for reading only' }
  const settings = await readSettings(ctx)
  const readOnly = pushes ? readOnlyText(settings) : null
  if (readOnly !== null) return { status: 503, text: readOnly }
  const { enabled_git_access_protocol } = settings
  if (enabled_git_access_protocol && enabled_git_access_protocol !== protocol) return { status: 403, text: noAccessOver(protocol) }
  if (!found) {
    const target = user && !caller.level && (await findPushTarget(ctx, actingAs(user), path))
    if (!target) return NOT_FOUND
    // the push creates the project, the advertisement does not
    if (advertises) return { caller, subject: null, repository: { ...NO_REPOSITORY, advertise: ctx.git.advertiseEmpty }, hiddenRefs: [], notices }
    const refusal = await createByPush(ctx, user, target, request.client)
    if (refusal) return refusal
    found = await findRepository(ctx, caller, path)
    if (!found) return NOT_FOUND
    const address = ctx.links[protocol](fullPathOf(found.subject.project))
    notices.push(
      `The private project ${fullPathOf(found.subject.project)} was created.`,
      '',
      'To add it as a remote:',
      '',
      `  git remote add origin ${address}`,
      '',
    )
  }
  const { subject, wiki } = found
  if (!subject.can(wiki ? 'read_wiki' : 'download_code')) return anonymous ? DENIED : { status: 403, text: NO_DOWNLOAD }
  if (pushes && !(caller.writes && subject.can(wiki ? 'write_wiki' : 'push_code'))) return { status: 403, text: pushRefusal(subject) }
  if (user && !caller.level) ctx.jobs.add('user activity', () => recordActivity(ctx, user.id))
  const key = await nullOnFailure(repositoryKey(ctx, subject, wiki))
  if (!key) return anonymous ? DENIED : NOT_FOUND
  if (found.moved) notices.push(`Project was moved. The new address is ${ctx.links[protocol](fullPathOf(subject.project))}`)
  // git sends no credentials where code is public, so merge requests of everybody who is signed in are for anybody
  const readsRequests =
    subject.can('read_merge_request') || (anonymous && isFeatureOpen(subject.project.merge_requests_access_level, { user, level: 0 }))
  return { caller, subject, key, repository: ctx.git.open(key), hiddenRefs: readsRequests ? [] : [MERGE_REQUEST_REFS], notices }
}

/**
 * A wiki's repository is created on first access, 404 if the project is being removed; a project's exists since its
 * creation.
 */
async function repositoryKey(ctx: Context, { project }: ProjectSubject, wiki: boolean): Promise<RepositoryKey> {
  const key: RepositoryKey = { storage: project.storage, id: project.id, kind: wiki ? 'wiki' : 'project' }
  if (wiki) await createWikiRepository(ctx, project)
  else if (!(await ctx.git.exists(key))) {
    ctx.log.error({ repository: key }, 'a repository is missing')
    throw new RepositoryMissing()
  }
  return key
}

const rejectMissing = () => Promise.reject(new RepositoryMissing())

/** The repository of a project that the following push will create. */
const NO_REPOSITORY = { uploadPack: rejectMissing, receivePack: rejectMissing, uploadArchive: rejectMissing }

/**
 * Creates the private project that is pushed to (GH-26); returns a refusal if that is not possible.
 */
async function createByPush(ctx: Context, user: ActorUser, target: PushTarget, client: GitAccessRequest['client']): Promise<GitRefusal | null> {
  const caller = actingAs(user)
  try {
    await createProject(withOrigin(ctx, { caller, ...client }), caller, {
      namespace_id: target.namespace_id,
      path: target.path,
      visibility: 'private',
    })
    return null
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    // a concurrent push may have created it
    return (await findRepository(ctx, { user, reads: true, writes: true }, target.full_path))
      ? null
      : { status: 403, text: `The project could not be created: ${failureText(error.body)}` }
  }
}

/**
 * The project with the caller's current abilities; null if it does not exist, waits for its removal (SEC-245), or they
 * may not see it.
 */
export async function findSubject(ctx: Context, caller: GitCaller, named: string): Promise<ProjectSubject | null> {
  try {
    const subject = caller.level ? await getProjectAtLevel(ctx, caller.user, named, caller.level) : await getProjectFor(ctx, caller, named)
    return subject.project.marked_for_deletion_at ? null : subject
  } catch (error) {
    if (error instanceof Failure && error.kind === 'not_found') return null
    throw error
  }
}

/** Finds the project of a repository or wiki path, which may be a former one (GH-4); null as in `findSubject`. */
export async function findRepository(
  ctx: Context,
  caller: GitCaller,
  path: string,
): Promise<{ subject: ProjectSubject; wiki: boolean; moved: boolean } | null> {
  const find = (named: string) => findSubject(ctx, caller, named)
  const whole = path.includes('/') ? await find(path) : null
  if (whole) return { subject: whole, wiki: false, moved: false }
  const wiki = path.endsWith('.wiki')
  const stem = wiki ? path.slice(0, -'.wiki'.length) : path
  const ofWiki = wiki ? await find(stem) : null
  if (ofWiki) return { subject: ofWiki, wiki, moved: false }
  // a hidden one costs the same statement as a missing one (SEC-30)
  const former = caller.level ? await formerProjectId(ctx, stem) : ((await findFormerProjectFor(ctx, caller, stem))?.id ?? null)
  const subject = former === null ? null : await find(String(former))
  return subject && { subject, wiki, moved: true }
}
