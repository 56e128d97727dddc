// Makes roost-server-VERSION.tgz. With --in-place, makes package.json in this folder that of the package.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from './build.mjs'
import { packaged } from './dependencies.mjs'
import { REVISION, revisionOf } from './revision.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = `${JSON.stringify(packaged(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))), null, 2)}\n`

if (process.argv.includes('--in-place')) writeFileSync(join(root, 'package.json'), manifest)
else {
  await build()
  const folder = mkdtempSync(join(tmpdir(), 'roost-package-'))
  const pack = (cwd, ...args) => execFileSync('npm', ['pack', ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [{ files }] = JSON.parse(pack(root, '--dry-run', '--json'))
    for (const { path } of files) cpSync(join(root, path), join(folder, path))
    writeFileSync(join(folder, 'package.json'), manifest)
    const revision = revisionOf(root)
    if (revision) writeFileSync(join(folder, REVISION), revision)
    process.stdout.write(pack(folder, '--pack-destination', root))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
