import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import type { MinimumRate } from '../../lib/async/minimum-rate.js'
import { openCall, type PackageCall } from './call.js'
import * as generic from './generic.js'
import * as go from './go.js'
import * as maven from './maven.js'
import * as npm from './npm.js'
import * as nuget from './nuget.js'
import * as pypi from './pypi.js'

type Handler = (call: PackageCall) => Promise<unknown>

const READ = 'package registry: read_package'
const WRITE = 'package registry: create_package'

/** What package managers send and fetch, below /api/v4 (PK-1). */
export async function packageStreams(app: FastifyInstance, { ctx, minimumRate }: { ctx: Context; minimumRate: MinimumRate }) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  const route = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, handler: Handler) =>
    app.route({
      method,
      url,
      config: { policy: method === 'GET' ? READ : WRITE },
      handler: async (request: FastifyRequest, reply: FastifyReply) => handler(await openCall(ctx, request, reply, minimumRate)),
    })

  const GENERIC = '/projects/:id/packages/generic/:package_name/:package_version/:file_name'
  route('PUT', GENERIC, generic.publish)
  route('GET', GENERIC, generic.download)

  for (const base of ['/projects/:id/packages/npm', '/packages/npm']) {
    route('GET', `${base}/*`, npm.read)
    route('PUT', `${base}/*`, npm.write)
    route('DELETE', `${base}/*`, npm.remove)
  }

  route('POST', '/projects/:id/packages/pypi', pypi.publish)
  for (const base of ['/projects/:id/packages/pypi', '/groups/:id/-/packages/pypi']) {
    route('GET', `${base}/simple`, pypi.index)
    route('GET', `${base}/simple/:package_name`, pypi.simple)
    route('GET', `${base}/files/:sha256/:file_name`, pypi.download)
  }

  route('GET', '/projects/:id/packages/go/*', go.proxy)

  const NUGET = '/projects/:id/packages/nuget'
  route('PUT', NUGET, nuget.publish)
  route('DELETE', `${NUGET}/:package_name/:package_version`, nuget.remove)
  route('GET', `${NUGET}/download/:package_name/:package_version/:file_name`, nuget.download)
  // clients add the ending to what they are told
  for (const end of ['', '.json']) {
    route('GET', `${NUGET}/download/:package_name/index${end}`, nuget.numbers)
    for (const base of [NUGET, '/groups/:id/-/packages/nuget']) {
      route('GET', `${base}/index${end}`, nuget.index)
      route('GET', `${base}/metadata/:package_name/index${end}`, nuget.metadata)
    }
  }
  for (const base of [NUGET, '/groups/:id/-/packages/nuget']) {
    route('GET', `${base}/metadata/:package_name/:package_version`, nuget.version)
    route('GET', `${base}/query`, nuget.search)
  }

  route('PUT', '/projects/:id/packages/maven/*', maven.publish)
  for (const base of ['/projects/:id/packages/maven', '/groups/:id/-/packages/maven', '/packages/maven']) route('GET', `${base}/*`, maven.download)
}
