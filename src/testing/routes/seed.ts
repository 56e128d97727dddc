import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parsed, worldOf } from '../parameters.js'
import { parseSeed } from '../seed/read.js'
import { seedStart, seedWorld } from '../seed/seed.js'
import type { Worlds } from '../worlds.js'

/** With `start`, once for a world, and a reset leads back to it. */
const Query = z.strictObject({ start: z.literal('true').optional() })

/** Fills a world, with JSON or with YAML. */
export function seedRoutes(control: FastifyInstance, worlds: Worlds): void {
  control.addContentTypeParser(['application/yaml', 'text/yaml'], { parseAs: 'string' }, async (_: unknown, text: string) => parseSeed(text))
  control.post('/worlds/:name/seed', async (request) => {
    const world = await worldOf(worlds, request)
    const { start } = parsed(Query, request.query)
    return start === undefined ? seedWorld(world, request.body) : seedStart(world, request.body)
  })
}
