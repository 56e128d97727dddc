import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.js'
import { noSuchRoute } from '../failures.js'

/** One kind of what is below projects, groups and users, whose paths have any depth and so share the route `/*`. */
export interface AddressKind<Found = unknown> {
  /** What the address is, without a look at what exists; null if it is of another kind. */
  find(request: FastifyRequest): Found | null
  /** Null: there is no such thing, and the address may be of a later kind. */
  answer(ctx: Context, found: Found, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | null>
  /** Beginnings of its addresses that crawlers are asked to leave alone. */
  robots?: readonly string[]
}

/** Declares a kind. */
export const addressKind = <Found>(kind: AddressKind<Found>): AddressKind => kind as AddressKind

/** Answers with the first kind that has the address (WB-440). */
export async function answerBelow(ctx: Context, kinds: readonly AddressKind[], request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  for (const kind of kinds) {
    const found = kind.find(request)
    // a reply that was sent comes out of `await` as undefined
    if (found !== null && (await kind.answer(ctx, found, request, reply)) !== null) return reply
  }
  throw noSuchRoute()
}

/** The path below the address of the service, as the router has it. */
export const pathBelow = ({ params }: FastifyRequest): string => (params as { '*': string })['*']
