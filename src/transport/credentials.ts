import type { IncomingHttpHeaders } from 'node:http'
import { actorOf } from '../access/actor.js'
import { checkAddress } from '../access/addresses.js'
import { countBadToken, deactivatedText, logBadToken, reasonOf, type TokenVerdict, verifyToken, verifyTokenAgain } from '../access/authenticate.js'
import { findCallingJob } from '../access/jobs/job-tokens.js'
import type { Context } from '../context.js'
import { Failure, nullOnFailure } from '../failures.js'
import { readSettings, type Settings } from '../services/core/settings.js'
import { removeInitialPassword } from '../services/identity/initial-password.js'
import { restrictionOf } from '../services/identity/keys.js'
import { checkSignIn, mustChange, mustConfirm } from '../services/identity/passwords.js'
import { findSshLogin } from '../services/identity/ssh-logins.js'
import { findUserByLogin, getUser, type User } from '../services/identity/users.js'
import { findDeployToken, levelOfToken } from '../services/projects/deploy-tokens.js'
import { isLfsToken, type LfsSource, lfsGrant, passwordDigest } from '../services/repository/lfs/credentials.js'
import { DENIED, type GitCaller, type GitRefusal, isRefusal } from './admission.js'
import { keyCaller } from './key-caller.js'

const TOKEN_NEEDED: GitRefusal = { status: 401, text: 'HTTP Basic: Access denied. A personal access token is needed as the password' }
const NOT_FOR_GIT: GitRefusal = { status: 403, text: 'The token was not made for Git' }

/**
 * Identifies the caller over HTTP Basic (companions 31.2): a token as the password with any user name, a deploy token
 * with its own, otherwise the account's own password; for LFS also its own token (LF-5). Without credentials the caller
 * is anonymous.
 */
export async function gitCaller(ctx: Context, headers: IncomingHttpHeaders, address: string, { lfs = false } = {}): Promise<GitCaller | GitRefusal> {
  const caller = await callerOf(ctx, headers, address, lfs)
  if (!isRefusal(caller) && caller.user && !caller.level) {
    try {
      await checkAddress(ctx, caller.user.id, address)
    } catch (thrown) {
      if (thrown instanceof Failure && thrown.kind === 'forbidden') return { status: 403, text: 'Too many logins from different IPs' }
      throw thrown
    }
  }
  return caller
}

async function callerOf(ctx: Context, headers: IncomingHttpHeaders, address: string, lfs: boolean): Promise<GitCaller | GitRefusal> {
  const authorization = headers.authorization
  if (!authorization) return { user: null, reads: true, writes: false }
  const basic = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(authorization)?.[1]
  if (!basic) return DENIED
  const text = Buffer.from(basic, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const name = colon < 0 ? text : text.slice(0, colon)
  const password = colon < 0 ? '' : text.slice(colon + 1)
  if (password === '' || text.includes('\0')) return DENIED

  if (lfs && isLfsToken(password)) return lfsCaller(ctx, password, address)
  // other tokens may come under this name, too
  const build = name === JOB_USER ? await buildCaller(ctx, password) : null
  if (build) return build
  const verdict = await verifyToken(ctx, password)
  if (verdict.ok) {
    const caller = tokenCaller(verdict)
    return caller.reads ? caller : NOT_FOR_GIT
  }
  if (verdict.known) {
    logBadToken(ctx, address, reasonOf(verdict))
    if (verdict.blocked === 'deactivated') return { status: 403, text: deactivatedText(ctx) }
    return verdict.blocked ? { status: 403, text: 'Your account is blocked' } : DENIED
  }

  const deploy = await findDeployToken(ctx, password)
  if (deploy) {
    if (deploy.valid && deploy.username === name && !deploy.scopes.includes('read_repository')) return NOT_FOR_GIT
    if (deploy.valid && deploy.username === name)
      return { user: null, reads: true, writes: false, level: async (project) => levelOfToken(deploy, project) }
    logBadToken(ctx, address, deploy.valid ? 'the token has another user name' : 'the token has expired')
    return DENIED
  }

  const [user, settings] = await Promise.all([findUserByLogin(ctx, name), readSettings(ctx)])
  if (!settings.password_authentication_enabled_for_git) {
    await countBadToken(ctx, address)
    return TOKEN_NEEDED
  }
  const matches = await checkSignIn(ctx, { login: name, user, address }, password)
  if (!user || !matches) return DENIED
  const caller = passwordCaller(ctx, user, settings)
  if (!isRefusal(caller)) await removeInitialPassword(ctx, password)
  return caller
}

/** The name that runners give with the token of a job. */
const JOB_USER = 'gitlab-ci-token'

/** The user of a job that runs: it reads what they may read, until it ends, and where its project is allowed (CI-117, CI-244). */
async function buildCaller(ctx: Context, token: string): Promise<GitCaller | null> {
  const found = await findCallingJob(ctx, token)
  return found && { ...found, reads: true, writes: false }
}

/** The owner of a valid token; without `reads` if it was not made for Git. */
function tokenCaller({ user, token: { id, scopes } }: Extract<TokenVerdict, { ok: true }>): GitCaller {
  const writes = scopes.includes('api') || scopes.includes('write_repository')
  return { user, reads: writes || scopes.includes('read_repository'), writes, source: { token: id } }
}

/** The user whose password was right. */
function passwordCaller(ctx: Context, user: User, settings: Settings): GitCaller | GitRefusal {
  if (user.state === 'deactivated') return { status: 403, text: deactivatedText(ctx) }
  if (user.state !== 'active' || user.kind !== 'human' || mustConfirm(ctx, user, settings)) return DENIED
  if (user.two_factor_enabled) return TOKEN_NEEDED
  if (user.password_expired) return { status: 403, text: mustChange(ctx.links.base) }
  return { user: actorOf(user), reads: true, writes: true, source: { user: user.id, password: passwordDigest(ctx, user) } }
}

/** The user or deploy key of an LFS token, with their current rights. */
async function lfsCaller(ctx: Context, token: string, address: string): Promise<GitCaller | GitRefusal> {
  const grant = lfsGrant(ctx, token)
  if (grant === null) await countBadToken(ctx, address)
  if (grant === null || grant === 'expired') return DENIED
  const { source, projectId, operation, end } = grant
  const caller = await callerBehind(ctx, source)
  return caller?.reads ? { ...caller, writes: caller.writes && operation === 'upload', projectId, end } : DENIED
}

/** The caller whom the credential of an LFS token still identifies (LF-15); null if it may not be used any more. */
async function callerBehind(ctx: Context, source: LfsSource): Promise<GitCaller | null> {
  if ('token' in source) {
    const verdict = await verifyTokenAgain(ctx, source.token)
    return verdict.ok ? tokenCaller(verdict) : null
  }
  if ('key' in source) {
    const login = await findSshLogin(ctx, { id: source.key })
    return login && !(await restrictionOf(ctx, login.key)) ? keyCaller(ctx, login) : null
  }
  const [user, settings] = await Promise.all([nullOnFailure(getUser(ctx, source.user)), readSettings(ctx)])
  if (!user || !settings.password_authentication_enabled_for_git || passwordDigest(ctx, user) !== source.password) return null
  const caller = passwordCaller(ctx, user, settings)
  return isRefusal(caller) ? null : caller
}
