import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Name, parsed, worldOf } from '../parameters.js'
import type { World } from '../world.js'
import type { Worlds } from '../worlds.js'

const NamedWorld = z.strictObject({ name: Name })

/** The worlds themselves: list, make, remove. */
export function worldRoutes(control: FastifyInstance, worlds: Worlds): void {
  const lineOf = ({ line }: World) => ({ ...line, control: control.address })
  control.get('/worlds', async () => (await worlds.all()).map(lineOf))
  control.post('/worlds', async ({ body }) => lineOf(await worlds.open(parsed(NamedWorld, body).name)))
  control.delete('/worlds/:name', async (request, reply) => {
    await worlds.remove((await worldOf(worlds, request)).name)
    return reply.code(204).send()
  })
}
