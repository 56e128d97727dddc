import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { conflict, refused } from '../../failures.js'
import { parsed, worldOf } from '../parameters.js'
import { Fault } from '../traffic/faults.js'
import { Limit } from '../traffic/limits.js'
import { filterFields } from '../traffic/matching.js'
import type { World } from '../world.js'
import type { Worlds } from '../worlds.js'

const Filter = z.strictObject({
  ...filterFields,
  caller: z.string().max(255).optional(),
  status: z.coerce.number().int().min(100).max(599).optional(),
})

/** What was called, and what calls shall meet. */
export function trafficRoutes(control: FastifyInstance, worlds: Worlds): void {
  control.get('/worlds/:name/requests', async (request) => {
    const world = await worldOf(worlds, request)
    const filter = parsed(Filter, request.query)
    checkRoute(world, filter.route)
    return world.traffic.recorder.list(filter)
  })
  control.delete('/worlds/:name/requests', async (request, reply) => {
    ;(await worldOf(worlds, request)).traffic.recorder.clear()
    return reply.code(204).send()
  })
  const ruleRoutes = <Value extends { route?: string | undefined }>(
    part: string,
    schema: z.ZodType<Value>,
    listOf: (world: World) => { add(value: Value): boolean; clear(): void },
  ) => {
    const path = `/worlds/:name/${part}`
    control.post(path, async (request, reply) => {
      const world = await worldOf(worlds, request)
      const value = parsed(schema, request.body)
      checkRoute(world, value.route)
      if (!listOf(world).add(value)) throw conflict(`there are too many ${part}`)
      return reply.code(204).send()
    })
    control.delete(path, async (request, reply) => {
      listOf(await worldOf(worlds, request)).clear()
      return reply.code(204).send()
    })
  }
  ruleRoutes('faults', Fault, ({ traffic }) => traffic.faults)
  ruleRoutes('limits', Limit, ({ traffic }) => traffic.limits)
}

/** Records the calls of a world; another state of it begins without any. */
export function watchTraffic(world: World, app: FastifyInstance): void {
  world.traffic.watch(app)
  world.onReset(() => world.traffic.clear())
}

/** A route that is misspelt would never fit. */
function checkRoute({ traffic: { routes } }: World, route: string | undefined): void {
  if (route !== undefined && !routes.has(route) && !routes.has(`/api/v4${route}`)) throw refused(`route: there is no ${route}`)
}
