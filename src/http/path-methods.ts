import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'
import { Failure } from '../failures.js'

/** A declared path with the methods it has. */
interface DeclaredPath {
  template: string
  methods: Set<string>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What a call fits, whatever its method. */
    declaredPath?: DeclaredPath | undefined
  }
}

/** How paths are matched: surplus slashes are ignored (G-1). */
export const ROUTER = { maxParamLength: 4_096, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }

/** Milliseconds after which the table of paths is made where no call has needed it: the first answers come before. */
const SOON = 1_000

/**
 * Finds the declared path of each request, and returns what answers a method that the path does not have: 405 with
 * those it has (G-1, G-10). One table of paths; routes for what is missing would be three times as many as there are,
 * and take most of the time of a start.
 */
export function refuseOtherMethods(app: FastifyInstance): (request: FastifyRequest) => void {
  const byShape = new Map<string, DeclaredPath>()
  let made: Table | undefined
  const table = () => {
    made ??= tableOf(byShape.values())
    return made
  }
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return
    const shape = url.replace(/:[a-z_]+/g, ':')
    const path = byShape.get(shape) ?? { template: url, methods: new Set() }
    byShape.set(shape, path)
    for (const each of [method].flat()) path.methods.add(each)
  })
  app.addHook('onListen', (done) => {
    setTimeout(table, SOON).unref()
    done()
  })
  app.decorateRequest('declaredPath')
  app.addHook('onRequest', (request, _, done) => {
    if (!isPlain(request)) request.declaredPath = table().find('GET', request.raw.url ?? '/')?.store as DeclaredPath | undefined
    done()
  })
  return ({ declaredPath, method }) => {
    if (!declaredPath || declaredPath.methods.has(method)) return
    throw new Failure('method_not_allowed', { error: '405 Not Allowed' }, { allow: [...declaredPath.methods].sort().join(', ') })
  }
}

type Table = ReturnType<typeof findMyWay>

function tableOf(declared: Iterable<DeclaredPath>): Table {
  const table = findMyWay(ROUTER)
  for (const path of declared) table.on('GET', path.template, () => undefined, path)
  return table
}

/** Whether a call is served by a route without parameters: then no other path fits it better. */
const isPlain = (request: FastifyRequest): boolean => {
  const url = servedBy(request)
  return url !== undefined && !/[:*]/.test(url)
}

/** The template of the route that serves a call; none for Git and for what is refused here. */
export function servedBy({ is404, routeOptions: { url } }: FastifyRequest): string | undefined {
  return is404 || url === '/*' ? undefined : url
}

/** The template of the path of a call, whatever its method; none for Git and for what does not exist. */
export const templateOf = (request: FastifyRequest): string | undefined => servedBy(request) ?? request.declaredPath?.template
