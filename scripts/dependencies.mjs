import { isBuiltin } from 'node:module'
import { LOADED } from './build.mjs'

/** The name of a package: of a file below node_modules, or as it is imported. */
const nameOf = (path) => /^(?:.*node_modules\/)?((?:@[^/]+\/)?[^/]+)/.exec(path)[1]

/** Compares `dependencies` with what the sources import and load; `inputs` is that of esbuild's metafile. */
export function dependencyFaults({ dependencies }, inputs) {
  const used = new Set(LOADED)
  for (const [file, { imports }] of Object.entries(inputs)) {
    if (file.includes('node_modules/')) continue
    for (const { path, external } of imports) if (path.includes('node_modules/') || (external && !isBuiltin(path))) used.add(nameOf(path))
  }
  const named = new Set(Object.keys(dependencies))
  return [
    ...[...used].filter((name) => !named.has(name)).map((name) => `the program uses ${name}, which is not in dependencies`),
    ...[...named].filter((name) => !used.has(name)).map((name) => `the program does not use ${name}, which is in dependencies`),
  ]
}

/** The package.json of the package: only what the bundle loads is installed with it (docs/adr/0022-package.md). */
export function packaged({ dependencies, devDependencies, overrides, ...manifest }) {
  return { ...manifest, dependencies: Object.fromEntries(LOADED.map((name) => [name, dependencies[name]])) }
}
