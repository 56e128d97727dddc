import type { Scope } from './scopes.js'

/** The user that a call runs as. */
export interface ActorUser {
  id: number
  username: string
  name: string
  email: string
  /** A bot is whom the token of a project or group acts as (PT-1). */
  kind: 'human' | 'ghost' | 'bot'
  admin: boolean
  external: boolean
  can_create_group: boolean
  projects_limit: number
}

/** The attributes of a user that access checks need, without the others of its row. */
export const actorOf = ({ id, username, name, email, kind, admin, external, can_create_group, projects_limit }: ActorUser): ActorUser => ({
  id,
  username,
  name,
  email,
  kind,
  admin,
  external,
  can_create_group,
  projects_limit,
})

/** An external user, who creates no projects; a bot does, where it has the role. */
export const isOutsider = ({ external, admin, kind }: ActorUser) => external && !admin && kind !== 'bot'

/** The credential a call came with. */
export interface ActorToken {
  /** 0 for a session and a job, which have no row of a token. */
  id: number
  /** `oauth`: of a password grant without an application. */
  kind: 'personal' | 'impersonation' | 'oauth' | 'application' | 'session' | 'job'
  scopes: Scope[]
}

/** The job whose token a call came with. */
export interface CallingJob {
  id: number
  project: number
}

export interface SignedIn {
  user: ActorUser
  token: ActorToken
  /** With the token of a job, which `user` has started. */
  job?: CallingJob
  /** The administrator who made a sudo call; `user` is then the target (G-28). */
  sudoer?: ActorUser
}

export interface Anonymous {
  user: null
  job?: never
}

/** The user or anonymous client that makes a call. Rights come only from `can.ts` and the access rules. */
export type Caller = SignedIn | Anonymous

/** Whose eyes a project is seen with. */
export type Viewer = Pick<Caller, 'user'> & { job?: CallingJob | undefined }

export const ANONYMOUS: Anonymous = { user: null }

/** A caller without a token, for work that the service does on behalf of a user outside an API call. */
export const actingAs = (user: ActorUser): SignedIn => ({ user, token: { id: 0, kind: 'personal', scopes: ['api'] } })
