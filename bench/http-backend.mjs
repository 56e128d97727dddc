import { spawn } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './harness.mjs'
import { git } from './repository.mjs'

/** git configuration, so that a push checks and syncs the same on both sides. */
const SETTINGS = [
  ['http.receivepack', 'true'],
  ['receive.fsckObjects', 'true'],
  ['receive.unpackLimit', '1'],
  ['core.fsync', 'committed,loose-object,reference'],
  ['core.fsyncMethod', 'batch'],
]

/** A bare `git http-backend` behind a plain Node server, for copies of stored repositories. Call `stop` when done. */
export async function httpBackend(bench) {
  const folder = join(bench.scratch, 'backend')
  const server = spawn(process.execPath, [join(root, 'bench/http-backend-server.mjs'), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = String(await new Promise((resolve) => server.stdout.once('data', resolve))).trim()
  return {
    /** Copies the repository of a project; returns the copy's directory and its URLs for reads and pushes. */
    serve(name, project) {
      const directory = join(folder, `${name}.git`)
      cpSync(bench.stored(project), directory, { recursive: true })
      for (const [key, value] of SETTINGS) git(directory, ['config', key, value])
      return { directory, url: `${address}/${name}.git`, pushUrl: `${address.replace('://', '://x:y@')}/${name}.git` }
    },
    stop() {
      server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
