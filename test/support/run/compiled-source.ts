import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import type { Plugin } from 'vitest/config'

const SOURCE = fileURLToPath(new URL('../../../src/', import.meta.url))
/** Below the root, so that what it imports of packages is found. */
const COMPILED = fileURLToPath(new URL('../../../node_modules/.cache/roost-source/', import.meta.url))

/** What is compiled here already, for `server.deps.external`. */
export const compiled = /\/node_modules\/\.cache\/roost-source\//

/**
 * Compiles `src` before the first test, a file for each, and lets Node load it like a package. Vitest would transform
 * every module by itself while the workers wait, which takes five seconds of each run. In watch mode, which must see
 * changes, it does.
 */
export function compiledSource(): Plugin {
  let isOn = false
  return {
    name: 'compiled source',
    enforce: 'pre',
    configureVitest({ vitest }) {
      isOn = !vitest.config.watch
      if (isOn) for (const name of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) if (name.endsWith('.ts')) compile(name)
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
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: source,
    sourcesContent: false,
    // files beside it are found where the source is
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(source).href) },
  })
  const path = join(COMPILED, name.replace(/\.ts$/, '.js'))
  mkdirSync(dirname(path), { recursive: true })
  // whole at any moment: another run may be loading it
  writeFileSync(`${path}.${process.pid}`, code)
  renameSync(`${path}.${process.pid}`, path)
}
