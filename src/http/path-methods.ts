import type { FastifyInstance } from 'fastify'
import findMyWay from 'find-my-way'
import { Failure } from '../failures.js'

/** How paths are matched: surplus slashes are ignored (G-1). */
export const ROUTER = { maxParamLength: 4_096, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }

/**
 * Answers methods that a path does not have: 405 with those it has, before a body is read (G-1, G-10). One table of
 * paths, filled as routes are declared; routes for what is missing would be three times as many as there are, and take
 * most of the time of a start.
 */
export function refuseOtherMethods(app: FastifyInstance): (method: string, url: string) => void {
  const paths = findMyWay(ROUTER)
  const known = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return
    const shape = url.replace(/:[a-z_]+/g, ':')
    let methods = known.get(shape)
    if (!methods) {
      methods = new Set()
      known.set(shape, methods)
      paths.on('GET', url, () => undefined, methods)
    }
    for (const each of [method].flat()) methods.add(each)
  })
  return (method, url) => {
    const methods = paths.find('GET', url)?.store as Set<string> | undefined
    if (!methods || methods.has(method)) return
    throw new Failure('method_not_allowed', { error: '405 Not Allowed' }, { allow: [...methods].sort().join(', ') })
  }
}
