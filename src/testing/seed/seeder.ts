import { actingAs, actorOf, type SignedIn } from '../../access/actor.js'
import { Failure, failureText } from '../../failures.js'
import { loadUser } from '../../services/identity/users.js'
import type { World } from '../world.js'

/** A response of the API. */
export interface ApiObject {
  id: number
  iid: number
  [field: string]: unknown
}

/** An invalid entry of a seed, or one that the service refused: its position and the reason. */
export const seedFault = (at: string, why: string) => new Failure('invalid', { message: `${at}: ${why}` })

/** A position within another one, such as `projects[0].issues[2]`. */
export const below = (at: string, ...names: (string | number)[]): string =>
  names.reduce<string>((path, name) => (typeof name === 'number' ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`), at)

/** Each entry of a list, with its position. */
export function* entries<T>(at: string, name: string, list: readonly T[] | undefined): Generator<[T, string]> {
  for (const [i, one] of (list ?? []).entries()) yield [one, below(at, name, i)]
}

/** Adds the position of the entry to failures of a service call. */
export const withPosition = <T>(at: string, work: Promise<T>): Promise<T> =>
  work.catch((thrown: unknown) => {
    throw thrown instanceof Failure ? seedFault(at, failureText(thrown.body)) : thrown
  })

interface Call {
  /** The position of the entry in the seed. */
  at: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/v4`. */
  path: string
  /** The username of the caller; undefined: the administrator. */
  as?: string | undefined
  body?: object
  /** A status for which the result is null instead of an error. */
  nullOn?: number
}

/**
 * Calls the API of a world for a seed, one call after the other, so that ids are the same each time. Keeps the ids of
 * users, groups and projects by name.
 */
export class Seeder {
  readonly users = new Map<string, number>()
  readonly groups = new Map<string, { id: number; creator: string | undefined; milestones: Map<string, number> }>()
  readonly projects = new Map<string, number>()
  readonly #callers = new Map<number, SignedIn>()

  constructor(readonly world: World) {}

  /** The username of the initial administrator. */
  get administrator(): string {
    return this.world.config.admin.username
  }

  /** Calls the API. Throws a fault with the position of the entry if the call is refused. */
  async call(call: Call & { nullOn?: never }): Promise<ApiObject>
  async call(call: Call): Promise<ApiObject | null>
  async call({ at, method, path, as, body, nullOn }: Call): Promise<ApiObject | null> {
    const { app, config, secret } = this.world
    const sudo = as === undefined || as === this.administrator ? {} : { sudo: as }
    const answer = await app.inject({
      method,
      url: `/api/v4${path}`,
      headers: { 'private-token': config.admin.token ?? '', 'x-roost-own': secret, ...sudo },
      ...(body && { payload: body }),
    })
    if (answer.statusCode < 300) return answer.payload === '' ? null : answer.json()
    if (answer.statusCode === nullOn) return null
    const by = as === undefined ? '' : ` as ${as}`
    throw seedFault(at, `${method} ${path}${by} is answered with ${answer.statusCode}: ${reasonOf(answer.payload)}`)
  }

  /** Calls a list of the API. */
  async list(call: Omit<Call, 'method' | 'nullOn'>): Promise<ApiObject[]> {
    return (await this.call({ ...call, method: 'GET' })) as unknown as ApiObject[]
  }

  /** A user as the caller of services. */
  async caller(at: string, username: string): Promise<SignedIn> {
    const id = await this.user(at, username)
    const known = this.#callers.get(id) ?? actingAs(actorOf(await loadUser(this.world.ctx, id)))
    this.#callers.set(id, known)
    return known
  }

  /** The id of a user. */
  async user(at: string, username: string): Promise<number> {
    const known = this.users.get(username.toLowerCase())
    if (known !== undefined) return known
    const [user] = await this.list({ at, path: `/users?username=${encodeURIComponent(username)}` })
    if (!user) throw seedFault(at, `there is no user ${username}`)
    this.users.set(username.toLowerCase(), user.id)
    return user.id
  }

  async userIds(at: string, usernames: readonly string[]): Promise<number[]> {
    const ids: number[] = []
    for (const username of usernames) ids.push(await this.user(at, username))
    return ids
  }
}

function reasonOf(payload: string): string {
  try {
    return failureText(JSON.parse(payload))
  } catch {
    return payload.slice(0, 500)
  }
}
