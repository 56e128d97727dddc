#!/usr/bin/env node
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { endWithLauncher } from './launcher.mjs'
import { revisionOf } from './revision.mjs'

if (Number(process.versions.node.split('.')[0]) < 20) {
  process.stderr.write(`roost: Node 20 or newer is needed, this is ${process.version}\n`)
  process.exit(1)
}
try {
  const program = await build()
  process.setSourceMapsEnabled(true)
  const command = process.argv[2] ?? 'serve'
  if (command === 'serve' || command === 'test') process.env.ROOST_REVISION ||= revisionOf(fileURLToPath(new URL('..', import.meta.url))) ?? ''
  // a test server ends with the process that started it
  if (command === 'test' || (command === 'serve' && process.env.npm_lifecycle_event)) endWithLauncher()
  await import(pathToFileURL(program).href)
} catch (error) {
  process.stderr.write(`roost: cannot be built: ${error.message}\n`)
  process.exit(1)
}
