// @module-tag long
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { build } from '../scripts/build.mjs'
import { runProgram } from './support/command.js'

/** Lets the first read by src/main.ts fail. */
const fault = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const read = fs.readFileSync
  fs.readFileSync = (...input) => {
    const error = new Error('unreadable')
    if (error.stack.includes('/src/main.ts:')) throw error
    return read(...input)
  }
  syncBuiltinESMExports()
`)}`

it('names lines of the sources in stack traces', async () => {
  const program = await build()
  const source = readFileSync(new URL('../src/main.ts', import.meta.url), 'utf8').split('\n')
  const line = source.findIndex((text) => text.includes('readFileSync(')) + 1
  const { stderr } = await runProgram(process.execPath, ['--import', fault, program, 'version'])
  expect(stderr).toContain(`${fileURLToPath(new URL('../src/main.ts', import.meta.url))}:${line}:`)
})

it('has a source map of which a stack trace needs small parts (SEC-145)', async () => {
  const maps = readFileSync(`${dirname(await build())}/program.js.map`, 'utf8').split('\n')
  expect(maps.length).toBeGreaterThan(100)
  expect(Math.max(...maps.map((map) => map.length))).toBeLessThan(40_000)
})
