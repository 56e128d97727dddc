import { describe, expect, it } from 'vitest'
import type { Steps } from '../../../../src/lib/async/slices.js'
import { linesOf } from '../../../../src/web/components/diff/diff.js'
import { aBudget, changedWords, commonOf, withContext, withoutSpace } from '../../../../src/web/components/diff/diff-marks.js'

/** The result of work in steps. */
function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

const HEAD = '--- a/a\n+++ b/a\n'
const shown = (lines: { kind: string; text: string }[]) => lines.map(({ kind, text }) => `${kind}: ${text}`)

describe('the marks of a diff', () => {
  it('are on the words that a line and its other version do not have in common (WB-60)', () => {
    const lines = linesOf(`${HEAD}@@ -1,2 +1,2 @@\n-const total = one + two\n-gone\n+const sum = one + two + three\n+something else entirely\n`)
    const marked = [...finished(changedWords(lines, aBudget())).values()].map((parts) =>
      parts.filter(({ changed }) => changed).map(({ text }) => text),
    )
    expect(marked).toEqual([['total'], ['sum', ' + three']])
  })

  it('take no more work than the budget: the rest is compared at both ends (WB-60)', () => {
    const budget = { cells: 3, isShort: false }
    expect(commonOf(['a', 'x', 'y', 'z'], ['a', 'y', 'x', 'z'], budget)).toEqual([
      [0, 0],
      [3, 3],
    ])
    expect(budget.isShort).toBe(true)
    expect(commonOf(['a', 'x', 'y', 'z'], ['a', 'y', 'x', 'z'], aBudget())).toHaveLength(3)
  })

  it('leave out changes of white space, and hunks without any other (WB-60)', () => {
    const lines = linesOf(`${HEAD}@@ -1,3 +1,4 @@\n-\tone\n-two\n-three\n+    one\n+new\n+three \n@@ -9 +9 @@\n-end\n+end \n`)
    expect(shown(withoutSpace(lines, aBudget()))).toEqual([
      'hunk: @@ -1,3 +1,4 @@',
      'context:     one',
      'removed: two',
      'added: new',
      'context: three ',
    ])
  })

  it('show the lines between the hunks, as far as there is room (WB-60)', () => {
    const text = ['1', '2', '3', 'new', '5', '6', 'last']
    const lines = linesOf(`${HEAD}@@ -3,3 +3,3 @@\n 3\n-4\n+new\n 5\n@@ -7,0 +7 @@\n+last\n`)
    const all = withContext(lines, text, 10)
    expect(shown(all)).toEqual(['context: 1', 'context: 2', 'context: 3', 'removed: 4', 'added: new', 'context: 5', 'context: 6', 'added: last'])
    expect(all.map((line) => [line.old, line.new])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, null],
      [null, 4],
      [5, 5],
      [6, 6],
      [null, 7],
    ])
    expect(shown(withContext(lines, text, 1)).filter((line) => line.startsWith('hunk'))).toHaveLength(1)
  })
})
