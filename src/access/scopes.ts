import { insufficientScope } from '../failures.js'

/** The scopes of personal access tokens (CR-10). */
export const SCOPES = ['api', 'read_api', 'read_user', 'read_repository', 'write_repository', 'sudo'] as const
/** The scopes of OAuth applications: also those of OpenID, which open `/oauth/userinfo` alone (CR-41). */
export const APPLICATION_SCOPES = [...SCOPES, 'openid', 'profile', 'email'] as const
export type Scope = (typeof APPLICATION_SCOPES)[number]

/** Scopes with which a token may name itself as `self`. */
const KNOWS_ITSELF: readonly Scope[] = SCOPES.filter((scope) => scope !== 'read_user')

/** A route as declared. `path` is the declared pattern, so how a URL is spelled does not matter (SEC-7). */
export interface ScopedRoute {
  method: string
  path: string
  /**
   * `api`: only that scope is sufficient, because the response holds secrets (SEC-265). `read_repository`: that scope is
   * sufficient too. `self`: any scope except `read_user` is sufficient if the call is about the token itself (section
   * 3.5).
   */
  scope?: 'api' | 'read_repository' | 'self' | undefined
  /** It takes the tokens of jobs, too (CI-243). */
  jobToken?: boolean | undefined
  /** The raw path parameter `id`. */
  id?: unknown
}

/**
 * Whether responses to a token may hold credentials. These open more than a scope that only reads does, so it may not
 * read them (SEC-265).
 */
export const showsSecrets = (scopes: Scope[]): boolean => scopes.includes('api')

const isUserPath = (path: string) => /^\/users?(\/|$)/.test(path)

/** Throws unless one of the token's scopes is sufficient for the route (G-21, G-22, CR-11, section 3.3). */
export function checkScope(scopes: Scope[], route: ScopedRoute): void {
  if (scopes.includes('api')) return
  if (route.scope === 'api') throw insufficientScope('api')
  const reads = route.method === 'GET' || route.method === 'HEAD'
  if (reads && scopes.includes('read_api')) return
  if (route.method === 'GET' && isUserPath(route.path) && scopes.includes('read_user')) return
  if (reads && route.scope === 'read_repository' && scopes.includes('read_repository')) return
  if (route.scope === 'self' && route.id === 'self' && scopes.some((scope) => KNOWS_ITSELF.includes(scope))) return
  throw insufficientScope(isUserPath(route.path) ? 'read_user api' : 'api')
}
