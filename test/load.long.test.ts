// @module-tag long
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { build } from '../scripts/build.mjs'
import { runProgram } from './support/command.js'

/** Lets the first read fail that a place is on the stack of. */
const preload = (place: string) =>
  `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const read = fs.readFileSync
  fs.readFileSync = (...input) => {
    const error = new Error('unreadable')
    if (error.stack.includes(${JSON.stringify(place)})) throw error
    return read(...input)
  }
  syncBuiltinESMExports()
`)}`

it('names lines of the sources in stack traces', async () => {
  const program = await build()
  const source = readFileSync(new URL('../src/main.ts', import.meta.url), 'utf8').split('\n')
  const line = source.findIndex((text) => text.includes('readFileSync(')) + 1
  const { stderr } = await runProgram(process.execPath, ['--import', preload('/src/main.ts:'), program, 'version'])
  expect(stderr).toContain(`${fileURLToPath(new URL('../src/main.ts', import.meta.url))}:${line}:`)
})

it('names lines of the program where its map is damaged', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'load-'))
  try {
    cpSync(dirname(await build()), join(folder, 'dist'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'dist/program.js.map'), '{"version":3,"mapp')
    const fault = preload('/program.js:')
    const { stderr } = await runProgram(process.execPath, ['--import', fault, join(folder, 'dist/main.js'), 'version'])
    expect(stderr).toMatch(/Error: unreadable\n[\s\S]*\/dist\/program\.js:\d+:\d+/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

it('has a source map of which a stack trace needs small parts (SEC-145)', async () => {
  const maps = readFileSync(`${dirname(await build())}/program.js.map`, 'utf8').split('\n')
  expect(maps.length).toBeGreaterThan(100)
  expect(Math.max(...maps.map((map) => map.length))).toBeLessThan(40_000)
  // those of libraries would make the package a third larger
  expect(maps.join('')).not.toContain('node_modules')
})
