import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { templateOf } from '../../http/path-methods.js'

/** Which calls are meant; what is not given does not matter. */
export const filterFields = {
  method: z
    .string()
    .regex(/^[A-Z]{1,20}$/, 'is not a method in capitals')
    .optional(),
  /** Of the reference, with or without `/api/v4`. */
  route: z.string().min(1).max(500).optional(),
  /** Without the query; `*` is any text. */
  path: z.string().min(1).max(2_000).optional(),
}

export type CallFilter = Partial<Record<keyof typeof filterFields, string | undefined>>

/** What a rule is compared with. */
export interface CallTarget {
  method: string
  path: string
  route: string | null
}

/** Of Git over HTTP. */
export const GIT_ROUTES = ['info/refs', 'git-upload-pack', 'git-receive-pack', 'info/lfs'].map((action) => `/:project.git/${action}`)

const GIT = /^\/.+\.git\/(info\/refs|git-upload-pack|git-receive-pack|info\/lfs\/.+)$/s

/** A template without the patterns of its parameters. */
export const bareRoute = (url: string) => url.replace(/(:[a-z_]+)\([^/]*\)/g, '$1')

/** Where a call goes; the route is null where there is none. */
export function targetOf(request: FastifyRequest): CallTarget {
  const path = (request.raw.url ?? '/').split('?', 1)[0] as string
  const [, action] = GIT.exec(path) ?? []
  const git = action && `/:project.git/${action.startsWith('info/lfs/') ? 'info/lfs' : action}`
  const route = templateOf(request)
  return { method: request.method, path, route: git ?? (route === undefined ? null : bareRoute(route)) }
}

/** Tells whether a call is meant. */
export function matcher({ method, route, path }: CallFilter): (target: CallTarget) => boolean {
  const parts = path?.split('*')
  return (target) =>
    (method === undefined || target.method === method) &&
    (route === undefined || target.route === route || target.route === `/api/v4${route}`) &&
    (parts === undefined || hasParts(target.path, parts))
}

/** Whether a text consists of these parts in this order, with anything between two of them. */
function hasParts(text: string, parts: string[]): boolean {
  const [first = '', ...others] = parts
  const last = others.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
