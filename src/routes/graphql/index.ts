import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '../../access/authenticate.js'
import type { Context } from '../../context.js'
import { failureText, invalidInput, STATUS } from '../../failures.js'
import { asFailure } from '../../http/failure-handler.js'
import { isBag, joinBags, type ParameterBag } from '../../http/form.js'
import { countRequest, disconnectSignal, forCall, type LargeCallQueues, withLargeAnswers } from '../../http/mount.js'
import type { View } from '../../http/view.js'
import { holderOfCall, runAsHolder } from '../../lib/async/holder.js'
import { Call } from './call.js'
import type { Answered, Query } from './engine.js'
import { loadRun } from './load.js'

const PATH = '/api/graphql'
/** The media type of answers that say by their status whether a query could be run. */
const RESPONSE_TYPE = 'application/graphql-response+json'

/** GraphQL over HTTP, read-only (GQL-1, GQL-2). */
export function graphqlRoutes(app: FastifyInstance, ctx: Context, queues: LargeCallQueues): void {
  const config = {
    policy: 'anyone (GraphQL: what REST shows to the caller)',
    robots: ['/api'],
    forPrograms: '/api',
    openWhen: ['read_only'] as const,
  }
  app.route({
    method: ['GET', 'POST'],
    url: PATH,
    exposeHeadRoute: false,
    config,
    handler: async (request, reply) => answer(ctx, queues, request, reply),
    errorHandler: (error, request, reply) => sendFailure(error, request, reply),
  })
}

async function answer(ctx: Context, queues: LargeCallQueues, request: FastifyRequest, reply: FastifyReply) {
  const bag = joinBags(request.query as ParameterBag, request.body as ParameterBag | undefined)
  // a query only reads, also with POST
  const route = { method: 'GET', path: PATH }
  const count = (userId: number | null) => countRequest(ctx, userId, request, reply)
  const caller = await authenticate(ctx, request.headers, bag, route, request.ip).catch(async (refusal: unknown) => {
    await count(null)
    throw refusal
  })
  request.caller = caller
  await count((caller.user ? (caller.sudoer ?? caller.user) : null)?.id ?? null)
  const query = queryOf(bag)
  const view: View = { links: ctx.links, viewer: caller.user, avatarService: await ctx.caches.settings.avatarService() }
  const holder = holderOfCall(caller.user?.id, request.ip)
  const call = new Call(forCall(ctx, request, caller, withLargeAnswers(queues, holder, reply)), caller, view, disconnectSignal(reply))
  const run = await loadRun()
  return send(request, reply, await runAsHolder(holder, () => run(query, call)))
}

/** What is to be run, from the parameters (GQL-2). */
function queryOf({ query, variables, operationName }: ParameterBag): Query {
  if (typeof query !== 'string' || query.trim() === '') throw invalidInput('query is missing')
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') throw invalidInput('operationName is invalid')
  return { query, variables: variablesOf(variables), operationName: operationName || null }
}

function variablesOf(given: unknown): Query['variables'] {
  if (given === undefined || given === null || given === '') return null
  const value = typeof given === 'string' ? parsed(given) : given
  if (value === null) return null
  if (!isBag(value)) throw invalidInput('variables are invalid')
  return value
}

function parsed(text: string): unknown {
  if (text.length > 64 * 1024) throw invalidInput('variables are too long')
  try {
    return JSON.parse(text)
  } catch {
    throw invalidInput('variables are invalid')
  }
}

const takesStatus = ({ headers: { accept } }: FastifyRequest) => accept?.includes(RESPONSE_TYPE) ?? false

/** A query that could not be run is 400 for clients that ask for it, and otherwise 200, as in the original. */
function send(request: FastifyRequest, reply: FastifyReply, { result, isRefused }: Answered) {
  const isNew = takesStatus(request)
  return sendErrorsOrData(reply.code(isNew && isRefused ? 400 : 200), isNew ? RESPONSE_TYPE : 'application/json', result)
}

const sendErrorsOrData = (reply: FastifyReply, type: string, body: unknown) =>
  reply
    .serializer((text: string) => text)
    .header('content-type', type)
    .send(JSON.stringify(body))

/** Failures in the shape of the original: a list of errors (GQL-10). */
function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = asFailure(error, request)
  // reported, logged and answered as everywhere
  if (!failure) throw error
  const text = failure.kind === 'unauthenticated' ? 'Invalid token' : failureText(failure.body)
  reply.code(STATUS[failure.kind]).headers(failure.headers)
  return sendErrorsOrData(reply, 'application/json', { errors: [{ message: text }] })
}
