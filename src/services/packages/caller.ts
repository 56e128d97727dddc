import type { IncomingHttpHeaders } from 'node:http'
import { eq, type SQL, sql } from 'drizzle-orm'
import { type ActorUser, ANONYMOUS, type CallingJob } from '../../access/actor.js'
import { checkAddress } from '../../access/addresses.js'
import { countBadToken, logBadToken, reasonOf, verifyToken } from '../../access/authenticate.js'
import { LEVELS } from '../../access/can.js'
import { findCallingJob } from '../../access/jobs/job-tokens.js'
import { getGroupFor, getProjectAtLevel, getProjectFor, type ProjectSubject } from '../../access/rules.js'
import { readablePackages, type ViewerKind, viewerKindOf } from '../../access/visible.js'
import type { Context } from '../../context.js'
import { applicationSettings, jobTokenAllowlist, namespaceAncestry, namespaces, projects, routes } from '../../db/schema/index.js'
import { Failure, forbidden, insufficientScope, notFound, nullOnFailure } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { coversProject, findDeployToken, type PresentedToken } from '../projects/deploy-tokens.js'

/** Whom a package manager calls for (PK-2). */
export interface PackageCaller {
  user: ActorUser | null
  job?: CallingJob
  deploy?: PresentedToken
  /** What its credential is for. */
  reads: boolean
  writes: boolean
}

export type PackageAbility = 'read_package' | 'create_package' | 'destroy_package'

/** The scopes of deploy tokens for packages, and for images of containers. */
const DEPLOY_SCOPES = {
  packages: { read: 'read_package_registry', write: 'write_package_registry' },
  images: { read: 'read_registry', write: 'write_registry' },
} as const
export type Registry = keyof typeof DEPLOY_SCOPES

const NOBODY: PackageCaller = { ...ANONYMOUS, reads: true, writes: false }
/** The name that jobs give with their token over HTTP Basic. */
const JOB_USER = 'gitlab-ci-token'

/** 401 with the question to which package managers send the credentials that they have. */
const unidentified = () => new Failure('unauthenticated', { message: '401 Unauthorized' }, { 'www-authenticate': 'Basic realm="Roost packages"' })

interface Given {
  value: string
  /** The user name of HTTP Basic, which that of a deploy token must equal. */
  name?: string
  kinds: readonly ('job' | 'token' | 'deploy')[]
}

const header = (given: string | string[] | undefined) => [given].flat()[0]?.trim() || undefined

function credentialOf(headers: IncomingHttpHeaders): Given | null {
  const own = { job: header(headers['job-token']), deploy: header(headers['deploy-token']), token: header(headers['private-token']) }
  for (const kind of ['job', 'deploy', 'token'] as const) {
    const value = own[kind]
    if (value) return { value, kinds: [kind] }
  }
  const authorization = header(headers.authorization)
  // `nuget push` may send any text as a key beside its credentials
  const key = header(headers['x-nuget-apikey'])
  if (!authorization) return key ? { value: key, kinds: ['token', 'deploy', 'job'] } : null
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (bearer) return { value: bearer, kinds: ['token', 'deploy', 'job'] }
  const basic = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1]
  const text = basic ? Buffer.from(basic, 'base64').toString('utf8') : ''
  const colon = text.indexOf(':')
  if (colon < 0 || colon === text.length - 1 || text.includes('\0')) throw unidentified()
  const name = text.slice(0, colon)
  return { name, value: text.slice(colon + 1), kinds: name === JOB_USER ? ['job', 'token', 'deploy'] : ['token', 'deploy'] }
}

/** The caller of a package manager; without a credential anonymous, 401 with one that is not valid (PK-2). */
export async function packageCaller(
  ctx: Context,
  headers: IncomingHttpHeaders,
  address: string,
  registry: Registry = 'packages',
): Promise<PackageCaller> {
  const given = credentialOf(headers)
  if (!given) return NOBODY
  for (const kind of given.kinds) {
    const found = await KINDS[kind](ctx, given, address, registry)
    if (found?.user) await checkAddress(ctx, found.user.id, address)
    if (found) return found
  }
  await countBadToken(ctx, address)
  throw unidentified()
}

const KINDS: Record<Given['kinds'][number], (ctx: Context, given: Given, address: string, registry: Registry) => Promise<PackageCaller | null>> = {
  async job(ctx, { value }) {
    const found = await findCallingJob(ctx, value)
    return found && { ...found, reads: true, writes: true }
  },
  async token(ctx, { value }, address) {
    const verdict = await verifyToken(ctx, value)
    if (verdict.ok) {
      const { user, token } = verdict
      const writes = token.scopes.includes('api')
      return { user, reads: writes || token.scopes.includes('read_api'), writes }
    }
    if (!verdict.known) return null
    logBadToken(ctx, address, reasonOf(verdict))
    throw verdict.failure
  },
  async deploy(ctx, { value, name }, address, registry) {
    const deploy = await findDeployToken(ctx, value)
    if (!deploy) return null
    if (!deploy.valid || (name !== undefined && name !== deploy.username)) {
      logBadToken(ctx, address, deploy.valid ? 'the token has another user name' : 'the token has expired')
      throw unidentified()
    }
    const { read, write } = DEPLOY_SCOPES[registry]
    const writes = deploy.scopes.includes(write)
    return { user: null, deploy, reads: writes || deploy.scopes.includes(read), writes }
  },
}

const isAnonymous = ({ user, deploy }: PackageCaller) => !user && !deploy

/** A project on which the caller has an ability; who is not known is asked who they are before anything else is said (PK-2). */
export async function packageProject(ctx: Context, who: PackageCaller, idOrPath: string, ability: PackageAbility): Promise<ProjectSubject> {
  if (ability === 'read_package' ? !who.reads : !who.writes && !isAnonymous(who)) throw insufficientScope('api')
  const subject = await projectFor(ctx, who, idOrPath).catch((refusal: unknown) => {
    throw refusal instanceof Failure && isAnonymous(who) ? unidentified() : refusal
  })
  if (subject.can(ability)) return subject
  throw isAnonymous(who) ? unidentified() : forbidden()
}

/** A project as the caller sees it; throws 404. */
export async function projectFor(ctx: Context, { user, job, deploy, writes }: PackageCaller, idOrPath: string): Promise<ProjectSubject> {
  if (!deploy) return getProjectFor(ctx, { user, job }, idOrPath)
  const level = writes ? LEVELS.developer : LEVELS.reporter
  const own = await nullOnFailure(getProjectAtLevel(ctx, null, idOrPath, async (project) => (coversProject(deploy, project) ? level : 0)))
  // elsewhere a deploy token is no more than no credential
  return own ?? getProjectFor(ctx, ANONYMOUS, idOrPath)
}

/** The id of a group whose packages the caller may ask for; what they may read there `readableBy` says. */
export async function packageGroup(ctx: Context, who: PackageCaller, idOrPath: string): Promise<number> {
  if (!who.reads) throw insufficientScope('api')
  const found = who.deploy ? await groupOfToken(ctx, who.deploy, idOrPath) : null
  if (found !== null) return found
  const { group } = await getGroupFor(ctx, who, idOrPath).catch((refusal: unknown) => {
    throw refusal instanceof Failure && isAnonymous(who) ? unidentified() : refusal
  })
  return group.id
}

/** A group that the token is of, or that is in it or holds its project; null for any other. */
async function groupOfToken(ctx: Context, { group, project_id }: PresentedToken, idOrPath: string): Promise<number | null> {
  const id = numericId(idOrPath)
  const holds = sql`exists (select from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id
    where a.ancestor_id = ${namespaces.id} and p.id = ${project_id ?? 0})`
  const within = sql`starts_with(${namespaces.full_path} || '/', ${`${group ?? ''}/`})`
  const [found] = await ctx.db.read
    .select({ id: namespaces.id })
    .from(namespaces)
    .innerJoin(routes, eq(routes.namespace_id, namespaces.id))
    .where(
      sql`${id === null ? eq(routes.key, idOrPath.toLowerCase()) : eq(namespaces.id, id)} and ${namespaces.kind} = 'group'
        and ${namespaces.marked_for_deletion_at} is null and ${group === null ? holds : within}`,
    )
  return found?.id ?? null
}

/** What a list over several projects depends on, beside the values. */
export interface ReachShape {
  viewer: ViewerKind
  by: 'user' | 'job' | 'deploy'
}

export const reachOf = ({ user, job, deploy }: Pick<PackageCaller, 'user' | 'job' | 'deploy'>): ReachShape => ({
  viewer: viewerKindOf(user),
  by: deploy ? 'deploy' : job ? 'job' : 'user',
})

export const reachValues = ({ user, job, deploy }: Pick<PackageCaller, 'user' | 'job' | 'deploy'>) => ({
  user: user?.id ?? 0,
  job_project: job?.project ?? 0,
  token_project: deploy?.project_id ?? 0,
  // no path begins with a slash
  token_group: `${deploy?.group ?? ''}/`,
})

/** The setting `enforce_ci_inbound_job_token_scope_enabled`. */
const isEnforced = sql`coalesce((select (${applicationSettings.values} ->> 'enforce_ci_inbound_job_token_scope_enabled')::boolean from ${applicationSettings}), false)`

/** `read_package`, or `read_image`, for every row of `projects` joined with `namespaces`, with the values of `reachValues`. */
export function readableBy({ viewer, by }: ReachShape, registry: Registry = 'packages'): SQL {
  const user = sql`${sql.placeholder('user')}::bigint`
  const readable = (kind: ViewerKind) => readablePackages(kind, user, registry)
  const open = readable('anonymous')
  if (by === 'user') return readable(viewer)
  if (by === 'deploy')
    return sql`(${open} or ${readable('admin')} and (${projects.id} = ${sql.placeholder('token_project')}::bigint
      or starts_with(${namespaces.full_path} || '/', ${sql.placeholder('token_group')}::text)))`
  const from = sql`${sql.placeholder('job_project')}::bigint`
  // the same as `allowsJob`
  return sql`(${open} or ${readable(viewer)} and (${projects.id} = ${from} or not (${projects.job_token_scope_enabled} or ${isEnforced})
    or exists (select from ${jobTokenAllowlist} l where l.project_id = ${projects.id} and (l.allowed_project_id = ${from} or l.allowed_group_id in (
      select a.ancestor_id from ${namespaceAncestry} a join ${projects} f on f.namespace_id = a.descendant_id where f.id = ${from})))))`
}

export const missingPackage = () => notFound('Package')
