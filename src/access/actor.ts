import type { Scope } from './scopes.js'

/** What every call knows about the user it runs as. */
export interface ActorUser {
  id: number
  username: string
  name: string
  email: string
  admin: boolean
  external: boolean
  can_create_group: boolean
  projects_limit: number
}

/** The credential a call came with. */
export interface ActorToken {
  id: number
  kind: 'personal' | 'impersonation' | 'oauth'
  scopes: Scope[]
}

export interface SignedIn {
  user: ActorUser
  token: ActorToken
  /** The administrator behind a sudo call; `user` is then the target (G-28). */
  sudoer?: ActorUser
}

export interface Anonymous {
  user: null
}

/** Whoever makes a call. Callers get rights through `can` and the access rules only. */
export type Caller = SignedIn | Anonymous

export const ANONYMOUS: Anonymous = { user: null }

/** Somebody in whose name the service works without a token: for what they asked for earlier or in another way. */
export const actingAs = (user: ActorUser): SignedIn => ({ user, token: { id: 0, kind: 'personal', scopes: ['api'] } })
