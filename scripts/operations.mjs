import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** All operations of the API as `GET /projects/:id`, as the routes declare them. */
export async function operationsOf(root) {
  const outfile = join(root, 'node_modules/.cache/operations.mjs')
  await build({
    entryPoints: [join(root, 'src/routes/index.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  const { families } = await import(pathToFileURL(outfile))
  return families.flat().map(({ method, path }) => `${method} ${path.replace(/\([^)]*\)/g, '')}`)
}
