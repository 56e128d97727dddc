import type { FastifyInstance, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'
import { Failure } from '../failures.js'

/** A declared path and its methods. */
interface DeclaredPath {
  template: string
  methods: Set<string>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The declared path of the request, whatever its method. */
    declaredPath?: DeclaredPath | undefined
  }
}

/** Options of the router; surplus slashes are ignored (G-1). */
export const ROUTER = { maxParamLength: 4_096, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }

/**
 * The delay before the table of paths is built if no request needs it earlier, in milliseconds, so that the first
 * responses are not delayed.
 */
const BUILD_DELAY_MS = 1_000

/**
 * Finds the declared path of each request, and returns a function that fails with 405 and the allowed methods if the
 * path does not have the method (G-1, G-10). It uses one table of paths; routes for all missing methods would triple
 * the number of routes and take most of the start time.
 */
export function refuseOtherMethods(app: FastifyInstance): (request: FastifyRequest) => void {
  const byShape = new Map<string, DeclaredPath>()
  let built: Table | undefined
  const table = () => {
    built ??= buildTable(byShape)
    return built
  }
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return
    const shape = url.replace(/:[a-z_]+/g, ':')
    const path = byShape.get(shape) ?? { template: url, methods: new Set() }
    byShape.set(shape, path)
    for (const each of [method].flat()) path.methods.add(each)
  })
  app.addHook('onListen', (done) => {
    setTimeout(table, BUILD_DELAY_MS).unref()
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

function buildTable(byShape: ReadonlyMap<string, DeclaredPath>): Table {
  const table = findMyWay(ROUTER)
  for (const [shape, path] of byShape) table.on('GET', path.template, () => undefined, { ...path, methods: methodsOf(path, byShape, shape) })
  return table
}

/** A word beside a `:slug` may be the slug of something that people have named: its methods are those of both. */
function methodsOf({ methods }: DeclaredPath, byShape: ReadonlyMap<string, DeclaredPath>, shape: string): Set<string> {
  const beside = byShape.get(shape.replace(/\/[^/:]+$/, '/:'))
  return beside?.template.endsWith('/:slug') ? new Set([...methods, ...beside.methods]) : methods
}

/** Whether a request is served by a route without parameters; then no other path matches better. */
const isPlain = (request: FastifyRequest): boolean => {
  const url = servedBy(request)
  return url !== undefined && !/[:*]/.test(url)
}

/** The template of the route that serves a request; undefined for Git and for refused requests. */
export function servedBy({ is404, routeOptions: { url } }: FastifyRequest): string | undefined {
  return is404 || url === '/*' ? undefined : url
}

/** The template of the path of a request, whatever its method; undefined for Git and for unknown paths. */
export const templateOf = (request: FastifyRequest): string | undefined => servedBy(request) ?? request.declaredPath?.template
