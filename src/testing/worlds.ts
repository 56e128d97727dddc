import { fileURLToPath } from 'node:url'
import type { Config } from '../config.js'
import { DatabaseCopies } from '../db/postgres/copies.js'
import { Failure } from '../failures.js'
import { SpawnerProcess } from '../git/process/spawner-process.js'
import { Argon2 } from '../lib/crypto/argon2.js'
import { type SharedResources, World } from './world.js'

/** Worlds at a time. */
const MAX_WORLDS = 32
/** The program of the spawner process, beside this one where it is built. */
const SPAWNER = fileURLToPath(new URL('./spawner.js', import.meta.url))

export interface WorldRequest {
  name: string
  /** Whether it is the world of the start. */
  first: boolean
}

/** The worlds of one process, by their names. */
export class Worlds {
  readonly #open = new Map<string, Promise<World>>()
  readonly #databases: DatabaseCopies
  #argon2: Argon2 | undefined

  constructor(
    private readonly shared: Omit<SharedResources, 'argon2'>,
    private readonly databaseUrl: string,
    private readonly configFor: (setting: WorldRequest) => Config,
    private readonly clock: Date | undefined,
  ) {
    this.#databases = new DatabaseCopies(databaseUrl)
  }

  /** Returns the world of this name; creates it if there is none. */
  open(name: string): Promise<World> {
    const existing = this.#open.get(name)
    if (existing) return existing
    if (this.#open.size >= MAX_WORLDS) throw new Failure('conflict', { message: `there are ${MAX_WORLDS} worlds already` })
    const first = this.#open.size === 0
    const opening = this.#make(this.configFor({ name, first }), name, first)
    this.#open.set(name, opening)
    opening.catch(() => this.#open.delete(name))
    return opening
  }

  /** Throws not_found. */
  async find(name: string): Promise<World> {
    const world = await this.#open.get(name)
    if (!world) throw new Failure('not_found', { message: `there is no world called ${name}` })
    return world
  }

  /** All of them, the first one first. */
  all(): Promise<World[]> {
    return Promise.all(this.#open.values())
  }

  /** Ends a world and removes what it has stored. The first one lives as long as the process. */
  async remove(name: string): Promise<void> {
    const world = await this.find(name)
    if (world.first) throw new Failure('conflict', { message: `the world ${name} ends with the server` })
    this.#open.delete(name)
    await world.close()
    await this.#databases.drop(world.databaseUrl)
  }

  async close(): Promise<void> {
    const worlds = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(worlds.map((opening) => opening.then((world) => world.close())))
    await this.#argon2?.close()
  }

  async #make(config: Config, name: string, first: boolean): Promise<World> {
    this.#argon2 ??= new Argon2(config.argon2, 1)
    const databaseUrl = first ? this.databaseUrl : await this.#databases.create()
    const { shared } = this
    const options = { name, first, config, databaseUrl, snapshots: `${config.dataDir}.snapshots`, pid: process.pid, clock: this.clock }
    try {
      return await World.open({ ...shared, argon2: this.#argon2, ...options })
    } catch (error) {
      if (!first) await this.#databases.drop(databaseUrl)
      throw error
    }
  }
}

/** Creates an empty set of worlds. */
export async function openWorlds(
  shared: Omit<SharedResources, 'spawner' | 'argon2'>,
  databaseUrl: string,
  configFor: (setting: WorldRequest) => Config,
  clock?: Date,
): Promise<Worlds> {
  const { lifecycle } = shared
  const spawner = new SpawnerProcess(SPAWNER)
  lifecycle.onClose(() => spawner.close())
  spawner.prepare()
  const worlds = new Worlds({ ...shared, spawner }, databaseUrl, configFor, clock)
  lifecycle.onClose(() => worlds.close())
  return worlds
}
