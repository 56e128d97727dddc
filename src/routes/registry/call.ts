import type { FastifyReply, FastifyRequest } from 'fastify'
import { ANONYMOUS } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { failureText, STATUS } from '../../failures.js'
import { asFailure } from '../../http/failure-handler.js'
import { countRequest, forCall } from '../../http/mount.js'
import type { MinimumRate } from '../../lib/async/minimum-rate.js'
import { type PackageCaller, packageCaller } from '../../services/packages/caller.js'
import { nameUnknown, type RegistryCode, RegistryFailure } from '../../services/registry/failures.js'
import { type Access, type Action, abilityOf, allowed, type Claims, placeOf, projectOfToken, readToken } from '../../services/registry/tokens.js'

/** A request of a client of the registry. */
export interface RegistryCall {
  ctx: Context
  request: FastifyRequest
  reply: FastifyReply
  minimumRate: MinimumRate
  /** What its token says, or the caller of HTTP Basic; null without a credential. */
  claims: Claims | null
  who: PackageCaller | null
}

export const SERVICE = 'container_registry'

/** The question for a token, with what it has to allow (OCI-2). */
export function challenge(ctx: Context, access?: Access): Record<string, string> {
  const scope = access ? `,scope="repository:${access.name}:${access.actions.join(',')}"` : ''
  return { 'www-authenticate': `Bearer realm="${ctx.links.base}/jwt/auth",service="${SERVICE}"${scope}` }
}

/** Identifies the caller: by a token of `/jwt/auth`, or by what that takes. Counts the request once. */
export async function openCall(ctx: Context, request: FastifyRequest, reply: FastifyReply, minimumRate: MinimumRate): Promise<RegistryCall> {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const claims = token === undefined ? null : readToken(ctx, token)
  const who =
    claims || request.headers.authorization === undefined
      ? null
      : await packageCaller(ctx, request.headers, request.ip, 'images').catch(async (refusal: unknown) => {
          await countRequest(ctx, null, request, reply)
          throw token === undefined ? refusal : new RegistryFailure(401, 'UNAUTHORIZED', 'the token has ended or is not valid', challenge(ctx))
        })
  await countRequest(ctx, claims?.user ?? who?.user?.id ?? null, request, reply)
  return { ctx: forCall(ctx, request, ANONYMOUS), request, reply, minimumRate, claims, who }
}

/** The project of a repository, and what its name has after the path of that, for a caller who may do something there. */
export async function subjectOf(
  { ctx, claims, who }: RegistryCall,
  name: string,
  action: Action,
): Promise<{ subject: ProjectSubject; rest: string }> {
  const grant = claims
    ? claims.access.find((each) => each.name === name && each.actions.includes(action))
    : who
      ? await allowed(ctx, who, name, [action])
      : null
  if (!grant?.actions.includes(action)) {
    const headers = challenge(ctx, { name, actions: action === 'push' ? ['pull', 'push'] : [action] })
    throw who
      ? new RegistryFailure(403, 'DENIED', 'you may not do this with the repository')
      : new RegistryFailure(401, 'UNAUTHORIZED', 'a token for this repository is needed', headers)
  }
  const place = await placeOf(ctx, name)
  const subject = place?.project === grant.project && (await projectOfToken(ctx, place, grant.actions))
  if (!place || !subject) throw nameUnknown()
  // the project may have been archived, or its registry switched off, since
  if (!subject.can(abilityOf(action))) throw new RegistryFailure(403, 'DENIED', 'the registry of the project is closed')
  return { subject, rest: place.rest }
}

const CODES: Partial<Record<number, RegistryCode>> = {
  400: 'NAME_INVALID',
  401: 'UNAUTHORIZED',
  403: 'DENIED',
  404: 'NAME_UNKNOWN',
  413: 'SIZE_INVALID',
  429: 'TOOMANYREQUESTS',
}

/** The body and headers of a refusal as clients of registries read it; null for what is none. */
export function refusalOf(ctx: Context, fault: unknown, request: FastifyRequest): RegistryFailure | null {
  if (fault instanceof RegistryFailure) return fault
  const failure = asFailure(fault, request)
  if (!failure) return null
  const status = STATUS[failure.kind]
  return new RegistryFailure(status, CODES[status] ?? 'DENIED', failureText(failure.body), status === 401 ? challenge(ctx) : failure.headers)
}
