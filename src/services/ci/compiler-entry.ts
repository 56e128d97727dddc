import { readFileSync } from 'node:fs'
import { startTextThread } from '../../lib/text/start-text-thread.js'
import { compileStep } from '../../rules/ci/compile.js'
import { coverageIn } from '../../rules/ci/coverage.js'
import { plan } from '../../rules/ci/plan.js'
import { failed } from '../../rules/ci/rounds.js'
import { TOO_BIG } from '../../rules/ci/yaml/values.js'
import type { CompilerResult, CompilerTask } from './compiler.js'

/** Characters of a result: a larger one would hold up the event loop, which reads it. */
const MAX_RESULT = 4_194_304

function run(task: CompilerTask): string {
  const began = time()
  if (task.kind === 'coverage') return JSON.stringify({ value: coverageIn(task.pattern, task.log), spent: time() - began })
  const value =
    task.kind === 'plan'
      ? plan(task.compiled, task.context)
      : compileStep(task.text, task.context, { answers: new Map(task.answers), parsed: new Map() })
  const json = JSON.stringify({ value, spent: time() - began } satisfies CompilerResult<unknown>)
  if (json.length <= MAX_RESULT) return json
  const tooBig = failed([TOO_BIG])
  const { errors, workflow } = tooBig
  const nothing = { errors, warnings: [], is_filtered: false, is_empty: false, name: null, auto_cancel: workflow.auto_cancel, stages: [], jobs: [] }
  return JSON.stringify({ value: task.kind === 'plan' ? nothing : { compiled: tooBig }, spent: time() - began })
}

/** Milliseconds that this thread has run on a core; by the clock where the system does not tell. */
function time(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6
  } catch {
    return performance.now()
  }
}

/** The thread of `CiCompiler`. */
startTextThread(run)
