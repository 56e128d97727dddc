import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { build } from '../../../scripts/build.mjs'
import type { TextResult } from '../../../src/lib/text/text-thread.js'
import { isUnavailable } from '../../../src/lib/unavailable.js'
import { plan } from '../../../src/rules/ci/plan.js'
import { CiCompiler } from '../../../src/services/ci/compiler.js'
import { compileWith, pipeline } from '../../rules/ci/support.js'

let compiler: CiCompiler
let results: TextResult[] = []
const open = async (program?: string, limits?: { budget: number; wait: number }) => {
  results = []
  compiler = new CiCompiler(program ? new URL(program) : new URL('ci.js', pathToFileURL(await build())), (result) => results.push(result), limits)
  return compiler
}
afterEach(() => compiler.close())

const none = async () => []

/** On busy cores a thread may not get its time: who asks must ask again. */
async function errorsOf(text: string): Promise<string[]> {
  for (;;) {
    try {
      return (await compiler.compile(text, { variables: [] }, none)).errors
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }
}

describe('configurations in a thread (CI-42)', () => {
  it('compiles and plans as this process would, with includes in rounds', async () => {
    await open()
    const files: Record<string, string> = { 'a.yml': 'include: b.yml\n.a: {script: [a]}', 'b.yml': 'j: {tags: [x]}' }
    const text = 'include: a.yml\nj: {extends: .a, parallel: 2}'
    const compiled = await compiler.compile(text, { variables: [], wants_merged_yaml: true }, async (requests) =>
      requests.map((request) => ({ text: request.kind === 'local' ? (files[request.path] ?? '') : '' })),
    )
    const { rounds, ...expected } = await compileWith(text, files)
    expect(rounds).toHaveLength(2)
    expect(compiled).toEqual(expected)
    expect(await compiler.plan(compiled, pipeline())).toEqual(plan(compiled, pipeline()))
  })

  const deep = (width: number) =>
    Array.from(
      { length: 40 },
      (_, n) =>
        `a${n}: &a${n} [${Array(width)
          .fill(n === 0 ? 'x' : `*a${n - 1}`)
          .join(', ')}]`,
    )
  it.each([
    ['anchors that explode', deep(10).join('\n')],
    ['a nesting without end', `a: ${'['.repeat(500_000)}`],
    ['a megabyte of jobs', Array.from({ length: 25_000 }, (_, n) => `job${n}: {script: [echo ${n}]}`).join('\n')],
    [
      'bases without number',
      `.a: {${Array.from({ length: 5_000 }, (_, n) => `k${n}: 1`).join(', ')}}\nj: {script: x, extends: [${Array(50_000).fill('.a').join(', ')}]}`,
    ],
    ['needs of what is not there', Array.from({ length: 2_000 }, (_, n) => `j${n}: {script: x, parallel: 200, needs: [k${n}]}`).join('\n')],
    ['merges of merges', Array.from({ length: 3_000 }, (_, n) => `a${n}: &a${n} {${n > 0 ? `<<: *a${n - 1}, ` : ''}k${n}: 1}`).join('\n')],
  ])('%s ends with an error, and the next one is read', async (_, text) => {
    await open()
    expect(await errorsOf(text)).not.toEqual([])
    expect(await errorsOf('j: {script: x}')).toEqual([])
  })

  it('one that takes too long is remembered, and not begun again', async () => {
    const endless = `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      parentPort.on('message', () => { for (;;); })
      parentPort.postMessage({ thread: 0 })`)}`
    await open(endless, { budget: 50, wait: 5_000 })
    for (let n = 0; n < 2; n++)
      expect((await compiler.compile('j: {script: x}', { variables: [] }, none)).errors).toEqual(['The configuration takes too long to be read'])
    expect(results).toHaveLength(1)
  })
})
