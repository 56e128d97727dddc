import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const TRACES = fileURLToPath(new URL('../../src/lib/traces.ts', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'roost-traces-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** What a program says that is bundled of these lines and prints the trace of its error. */
async function said(lines: string[], { kept = true } = {}): Promise<string> {
  const source = join(folder, 'source.ts')
  const program = join(folder, 'program.mjs')
  const begin = [`import { traceSources } from ${JSON.stringify(TRACES)}`, 'traceSources(import.meta.url)']
  await writeFile(source, [...begin, ...lines].join('\n'))
  await build({
    entryPoints: [source],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    minify: true,
    sourcemap: true,
    sourcesContent: false,
  })
  if (!kept) await rm(`${program}.map`)
  return new Promise((resolve) => execFile(process.execPath, [program], (_, out, errors) => resolve(out + errors)))
}

const THROWS = ['function fail(): never {', "  throw new TypeError('this is it')", '}']

describe('the traces of a bundled program', () => {
  it('name the sources', async () => {
    const text = await said([...THROWS, 'try { fail() } catch (error) { console.log((error as Error).stack) }'])
    expect(text).toContain('TypeError: this is it\n')
    expect(text).toContain(`${join(folder, 'source.ts')}:4:9`)
    expect(text).not.toContain('program.mjs')
  })

  it('name them for what nobody catches', async () => {
    expect(await said([...THROWS, 'fail()'])).toContain(`${join(folder, 'source.ts')}:4:9`)
  })

  it('name the program where its map is missing', async () => {
    const text = await said([...THROWS, 'fail()'], { kept: false })
    expect(text).toContain('TypeError: this is it\n')
    expect(text).toMatch(/program\.mjs:\d+:\d+/)
  })

  it('are made of what has no words, too', async () => {
    const text = await said([
      'const odd: Record<string, unknown> = { get message() { throw new Error() } }',
      'Error.captureStackTrace(odd)',
      'console.log(odd.stack)',
    ])
    expect(text).toContain('source.ts:4:')
  })
})
