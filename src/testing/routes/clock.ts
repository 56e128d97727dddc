import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { setTestClock } from '../../db/test-clock.js'
import { conflict } from '../../failures.js'
import { parsed, worldOf } from '../parameters.js'
import type { World } from '../world.js'
import type { Worlds } from '../worlds.js'

/** Up to a hundred years at a time. */
const Advance = z.strictObject({ advance: z.number().min(0).max(3_155_760_000) })

/** The clock of a world that was started with one. */
export function clockRoutes(control: FastifyInstance, worlds: Worlds): void {
  control.get('/worlds/:name/clock', async (request) => ({ now: requireClock(await worldOf(worlds, request)).now() }))
  control.post('/worlds/:name/clock', async (request) => {
    const world = await worldOf(worlds, request)
    const { advance } = parsed(Advance, request.body)
    const now = requireClock(world).advance(advance)
    await setTestClock(world.db, now)
    return { now }
  })
}

function requireClock({ clock }: World) {
  if (!clock) throw conflict('the server was started without --clock')
  return clock
}

/** Answers are dated by the clock of their world. */
export function dateHeader({ clock }: World, app: FastifyInstance): void {
  if (!clock) return
  app.addHook('onRequest', (_, reply, done) => {
    reply.header('date', clock.now().toUTCString())
    done()
  })
}
