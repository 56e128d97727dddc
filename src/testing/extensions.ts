import type { FastifyInstance } from 'fastify'
import { clockRoutes, dateHeader } from './routes/clock.js'
import { jobRoutes } from './routes/jobs.js'
import { seedRoutes } from './routes/seed.js'
import { trafficRoutes, watchTraffic } from './routes/traffic.js'
import { worldRoutes } from './routes/worlds.js'
import type { World } from './world.js'
import type { Worlds } from './worlds.js'

/** Something that the control channel offers. */
export interface Extension {
  /** Declares its calls on the control channel; paths are relative to the address that is printed at the start. */
  routes?(control: FastifyInstance, worlds: Worlds): void
  /** Adds hooks to the application of a world before its routes are declared, and listeners to the world. */
  prepare?(world: World, app: FastifyInstance): void
}

export const extensions: readonly Extension[] = [
  { routes: worldRoutes },
  { routes: seedRoutes },
  { routes: clockRoutes, prepare: dateHeader },
  { routes: jobRoutes },
  { routes: trafficRoutes, prepare: watchTraffic },
]

/** Adds what all extensions add to a world. */
export function prepareWorld(world: World, app: FastifyInstance): void {
  for (const { prepare } of extensions) prepare?.(world, app)
}
