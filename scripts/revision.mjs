import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file of a package that names its commit. */
export const REVISION = 'dist/revision'

/** The commit that the program in this folder is made of: that of its checkout, or of its package; undefined if unknown. */
export function revisionOf(root) {
  try {
    if (!existsSync(join(root, 'src'))) return readFileSync(join(root, REVISION), 'utf8')
    if (!existsSync(join(root, '.git'))) return undefined
    const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
    // the service may run as another account than that of the checkout
    const commit = execFileSync('git', ['-c', 'safe.directory=*', 'rev-parse', '--short=11', 'HEAD'], options)
    // what an unfit git prints is no commit
    return /^[0-9a-f]{11,40}$/m.exec(commit)?.[0]
  } catch {
    return undefined
  }
}
