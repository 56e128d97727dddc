// @module-tag long
import { pathToFileURL } from 'node:url'
import hljs from 'highlight.js/lib/core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { Slices } from '../../src/lib/async/slices.js'
import '../../src/lib/text/highlight/highlight.js'
import { Highlighter } from '../../src/lib/text/highlight/highlighter.js'
import { MarkdownThread } from '../../src/lib/text/markdown-thread.js'
import type { TextResult } from '../../src/lib/text/text-thread.js'

/** Each language has a third of them, so that neighbours have the others; `ROOST_TEST_PATTERNS=all`: all, which takes minutes. Each fills 512 KiB, in lines of 1,900 characters but for those that have ends of lines. */
const PATTERNS = 'a|a |(|[|{|<|"|\'|`|/|/*|//a|#|$|${|\\|-|=|:|a(|a<|<a |\ta:|/*\n|"\n|{\n|<!--\n|"""\n|<<A\n|#{\n'.split('|')
const SIZE = 512 * 1024

let highlighter: Highlighter
let markdown: MarkdownThread
const results: TextResult[] = []
beforeAll(async () => {
  const program = pathToFileURL(await build())
  highlighter = new Highlighter(new URL('highlight.js', program), (result) => results.push(result))
  markdown = new MarkdownThread(new URL('markdown.js', program), new Slices(), (result) => results.push(result))
})
afterAll(() => Promise.all([highlighter.close(), markdown.close()]))

const sourceOf = (pattern: string) => {
  const line = pattern.repeat(Math.ceil(1_900 / pattern.length))
  return `${line.slice(0, 1_900)}\n`.repeat(Math.ceil(SIZE / 1_900)).slice(0, SIZE)
}

const all = process.env['ROOST_TEST_PATTERNS'] === 'all'
const cases = hljs.listLanguages().map((language, turn) => [language, PATTERNS.filter((_, i) => all || i % 3 === turn % 3)] as const)

it.each(cases)('%s: sources of such patterns are marked or given up, and others are marked after them (SEC-276)', async (language, patterns) => {
  for (const pattern of patterns) {
    results.length = 0
    const source = sourceOf(pattern)
    const lines = await highlighter.lines(source, language)
    if (lines) expect(lines).toHaveLength(source.split('\n').length)
    expect(['done', 'ended', 'late']).toContain(results.at(-1))
    expect(await highlighter.lines(`const a = ${JSON.stringify(pattern)}`, 'ts')).toEqual([expect.stringContaining('hljs-keyword')])
  }
  expect(highlighter.isHealthy).toBe(true)
})

/** Parts of Markdown, alone and in pairs, as paragraphs of 16 KiB of one line and of many. */
const MARKS = '![|[|](|[a](|owner/project#1 |a@b.c |@a |http://a.b |<http://a|*|**a |_a|~~a|`|`a ``|<|&|\\|[^1]|| |> |- |#1 |:|"|('.split('|')

/** A megabyte of such paragraphs. */
const megabyteOf = (mark: string) => {
  const paragraph = mark.repeat(Math.floor(16_384 / mark.length))
  return `${paragraph}\n\n`.repeat(Math.floor(1_048_576 / (paragraph.length + 2)))
}

/** The budget of a text is 1 s; on a machine where a megabyte of words takes longer than 12 ms, as many times more. */
it('a megabyte of any mark is rendered below the budget of a text (SEC-276, MD-4)', async () => {
  await markdown.html(megabyteOf('to '))
  const began = performance.now()
  await markdown.html(megabyteOf('words '))
  const unit = Math.max(1, (performance.now() - began) / 12)
  const results: TextResult[] = []
  const patient = new MarkdownThread(new URL('markdown.js', pathToFileURL(await build())), new Slices(), (result) => results.push(result), {
    budget: 1_000 * unit,
    wait: 5_000,
  })
  onTestFinished(() => patient.close())
  for (const one of MARKS)
    for (const other of ['', '\n', '[']) {
      results.length = 0
      await patient.html(megabyteOf(`${one}${other}` || ' '))
      expect([one, other, results]).toEqual([one, other, ['done']])
    }
})
