import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Name, parsed, worldOf } from '../parameters.js'
import type { World } from '../world.js'
import type { Worlds } from '../worlds.js'

const NewWorld = z.strictObject({ name: Name })

const SnapshotName = z.string().min(1).max(200)
const NewSnapshot = z.strictObject({ name: SnapshotName })
const NamedSnapshot = z.strictObject({ snapshot: SnapshotName })

/** The worlds themselves: list, make, remove, keep their states and put them back. */
export function worldRoutes(control: FastifyInstance, worlds: Worlds): void {
  const infoOf = ({ info }: World) => ({ ...info, control: control.address })
  control.get('/worlds', async () => (await worlds.all()).map(infoOf))
  control.post('/worlds', async ({ body }) => infoOf(await worlds.open(parsed(NewWorld, body).name)))
  control.delete('/worlds/:name', async (request, reply) => {
    await worlds.remove((await worldOf(worlds, request)).name)
    return reply.code(204).send()
  })
  control.post('/worlds/:name/snapshots', async (request, reply) => {
    const { name } = parsed(NewSnapshot, request.body)
    await (await worldOf(worlds, request)).snapshot(name)
    return reply.code(204).send()
  })
  control.post('/worlds/:name/restore', async (request, reply) => {
    const { snapshot } = parsed(NamedSnapshot, request.body)
    await (await worldOf(worlds, request)).restore(snapshot)
    return reply.code(204).send()
  })
  control.post('/worlds/:name/reset', async (request, reply) => {
    await (await worldOf(worlds, request)).reset()
    return reply.code(204).send()
  })
}
