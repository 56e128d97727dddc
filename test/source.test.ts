import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../src', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }))
const where = (pattern: RegExp) =>
  files
    .filter(({ text }) => pattern.test(text))
    .map(({ name }) => name)
    .sort()

describe('the source', () => {
  it('only the spawner and the embedded database start processes, and none with a shell (SEC-172)', () => {
    expect(files.length).toBeGreaterThan(100)
    expect(where(/^import (?!type\b)[^\n]*'node:child_process'|require\(.*child_process|import\(.*child_process/m)).toEqual([
      'db/postgres/processes.ts',
      'git/process/spawner-entry.ts',
      'git/process/spawner-process.ts',
      'git/process/spawner.ts',
    ])
    // it runs the program itself
    expect(where(/from 'node:vm'/)).toEqual(['load.ts'])
    expect(where(/from 'node:cluster'/)).toEqual(['cli/workers/parent.ts'])
    // hashing passwords has its own threads (SEC-26), rendering Markdown and marking sources (SEC-276) one each, and so has SSH
    expect(where(/from 'node:worker_threads'/)).toEqual([
      'lib/crypto/argon2.ts',
      'lib/mail/parsed-mail.ts',
      'lib/text/start-text-thread.ts',
      'lib/text/text-thread.ts',
      'transport/ssh/thread.ts',
      'transport/ssh/worker.ts',
    ])
    expect(where(/shell: *true|\bexecSync\b|\bexecFileSync\b|[^.\w]exec\(/)).toEqual([])
  })

  it('revisions that callers name are resolved for them, and not by the repository (GH-28)', () => {
    // of a project these resolve ids of rows and refs; a wiki has no merge requests
    const OWN = [
      'content/releases',
      'content/wiki-history',
      'content/wikis',
      'hooks/payloads/push',
      'hooks/payloads/releases',
      'packages/go',
      'ci/auto-cancel',
      'ci/changes',
      'ci/create',
      'ci/pipelines',
      'ci/target',
      'repository/push-events',
      'repository/revisions',
      'repository/tags',
      'search/code',
    ]
    expect(where(/\b(?:repository|git|Repository)(?:Of\([^()]*\))?\.resolve\(/i).filter((name) => !name.startsWith('git/'))).toEqual(
      OWN.map((name) => `services/${name}.ts`).sort(),
    )
  })

  it('what is presented is extended by Object.assign: V8 takes microseconds for each property that follows a spread', () => {
    expect(where(/\{\s*\.\.\.present\w+\(/).filter((name) => name.startsWith('entities/'))).toEqual([])
  })

  it('texts become SQL as they are nowhere but in the database layer, and code nowhere (SEC-172)', () => {
    expect(where(/\bsql\.raw\(/).filter((name) => !name.startsWith('db/'))).toEqual([])
    expect(where(/from 'pg'/).filter((name) => !name.startsWith('db/'))).toEqual([])
    expect(where(/\beval\(|new Function\(|setTimeout\(['"`]/)).toEqual([])
  })

  it('is laid out in folders of at most 25 files, and services in rooms', () => {
    const folders = new Map<string, number>()
    for (const { name } of files) folders.set(dirname(name), (folders.get(dirname(name)) ?? 0) + 1)
    expect([...folders].filter(([, count]) => count > 25)).toEqual([])
    expect(folders.has('services')).toBe(false)
  })

  it('how an expression is read is known to prepared reads, and no library is used by its private parts', () => {
    expect(where(/\.mapWith\(|import \{[^}]*\b(count|countDistinct|sum|avg|min|max)\b[^}]*\} from 'drizzle-orm'/)).toEqual(['db/decoded.ts'])
    expect(where(/\b_result\b|\b_parsers\b|stream\.cork|from '(pg|drizzle-orm)\/(lib|src|sql|dist)/)).toEqual([])
  })

  it('objects are copied between repositories by one file, which checks the right to read them (SEC-43)', () => {
    expect(where(/\bgit\.fork\(/)).toEqual(['services/repository/object-copies.ts'])
    expect(where(/\.copyObjects\(/).filter((name) => name.startsWith('services/'))).toEqual(['services/repository/object-copies.ts'])
  })
})

describe('the tests', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const tests = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  const wholly = (text: string) => text.startsWith('// @module-tag long\n')

  it('that the long run repeats have its tag, or it would leave them out', () => {
    const long = tests.filter(({ name }) => name.endsWith('.long.test.ts'))
    expect(long.length).toBeGreaterThan(10)
    expect(long.filter(({ text }) => !wholly(text)).map(({ name }) => name)).toEqual([])
    const repeating = tests.filter(({ text }) => text.includes("/support/rounds.js'") && !wholly(text))
    expect(repeating.length).toBeGreaterThan(10)
    expect(repeating.flatMap(({ name, text }) => untagged(text).map((test) => `${name}: ${test}`))).toEqual([])
    expect(repeating.filter(({ text }) => !text.includes("tags: ['long']")).map(({ name }) => name)).toEqual([])
  })
})

/** Tests of a file that ask how often to repeat something, without the tag of the long run. */
function untagged(text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node, test?: ts.CallExpression) => {
    const called = ts.isCallExpression(node) ? node.expression.getText() : ''
    // of `it.each(cases)(name, run)` the outer call is the test
    const isCallee = test !== undefined && test.expression === node
    const inside = !isCallee && /^(it|describe)\b/.test(called) ? (node as ts.CallExpression) : test
    if (/^(rounds|seeds|oneIn)$/.test(called) && test && !test.getText().includes("tags: ['long']")) found.push(test.arguments[0]?.getText() ?? '')
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(ts.createSourceFile('a.test.ts', text, ts.ScriptTarget.Latest, true))
  return found
}
