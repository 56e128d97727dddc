import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Failure } from '../failures.js'
import type { World } from './world.js'
import type { Worlds } from './worlds.js'

/** The name of a world. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
export const NAME_RULE = 'must be letters, digits, dots, dashes and underscores, 63 at most'
export const Name = z.string().regex(NAME, NAME_RULE)

/** The value, or a refusal that names what is wrong with it. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new Failure('invalid', { message: [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ') })
}

/** The world that a path names. */
export const worldOf = (worlds: Worlds, { params }: FastifyRequest): Promise<World> => worlds.find((params as { name: string }).name)
