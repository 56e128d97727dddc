import { noSuchRoute } from '../../failures.js'
import { disconnectSignal } from '../../http/mount.js'
import { goMod, goModule, goVersion, goVersions, goZip } from '../../services/packages/go.js'
import { inPath, type PackageCall, sendPieces } from './call.js'

const TEXT = 'text/plain; charset=utf-8'

/** What `go` asks a proxy (PK-50). */
export async function proxy(call: PackageCall) {
  const { ctx, who, reply } = call
  const [, path, asked] = /^(.+)\/@v\/([^/]+)$/.exec(inPath(call, '*')) ?? []
  if (path === undefined || asked === undefined) throw noSuchRoute()
  const module = await goModule(ctx, who, inPath(call, 'id'), path)
  if (asked === 'list') return sendPieces(call, TEXT, [(await goVersions(ctx, module)).map((version) => `${version}\n`).join('')])
  const [, name, kind] = /^(.+)\.(info|mod|zip)$/.exec(asked) ?? []
  if (name === undefined) throw noSuchRoute()
  const version = await goVersion(ctx, module, name)
  if (kind === 'info') return reply.send({ Version: version.name, Time: version.time })
  if (kind === 'mod') return sendPieces(call, TEXT, [await goMod(ctx, module, version)])
  return reply.type('application/zip').send(await goZip(ctx, module, version, disconnectSignal(reply)))
}
