import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import type { Plugin } from 'vitest/config'

const SOURCE = fileURLToPath(new URL('../../../src/', import.meta.url))
/** Inside the project, so that imports of packages are resolved. */
const COMPILED = fileURLToPath(new URL('../../../node_modules/.cache/roost-source/', import.meta.url))

/** A module, with or without markup. */
const SOURCE_FILE = /\.tsx?$/

/** The files that are compiled already, for `server.deps.external`. */
export const compiled = /\/node_modules\/\.cache\/roost-source\//

/**
 * Compiles each file of `src` before the first test, and lets Node load the results like a package. Otherwise Vitest
 * transforms every module while the workers wait, which takes five seconds of each run. Watch mode, which has to see
 * changes, leaves this to Vitest.
 */
export function compiledSource(): Plugin {
  let isOn = false
  return {
    name: 'compiled source',
    enforce: 'pre',
    configureVitest({ vitest }) {
      isOn = !vitest.config.watch
      if (isOn) for (const name of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) if (SOURCE_FILE.test(name)) compile(name)
    },
    resolveId(id, importer) {
      if (!isOn || !importer || !id.startsWith('.')) return null
      const path = join(dirname(importer), id)
      return path.startsWith(SOURCE) && path.endsWith('.js') ? join(COMPILED, path.slice(SOURCE.length)) : null
    },
  }
}

function compile(name: string) {
  const source = join(SOURCE, name)
  const { code } = transformSync(readFileSync(source, 'utf8'), {
    loader: name.endsWith('x') ? 'tsx' : 'ts',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: source,
    sourcesContent: false,
    // files relative to the module are in the source folder
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
  })
  const path = join(COMPILED, name.replace(SOURCE_FILE, '.js'))
  mkdirSync(dirname(path), { recursive: true })
  // replace atomically: another run may be loading the file
  writeFileSync(`${path}.${process.pid}`, code)
  renameSync(`${path}.${process.pid}`, path)
}
