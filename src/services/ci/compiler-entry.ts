import { readFileSync } from 'node:fs'
import { gunzipMembers } from '../../lib/gzip-members.js'
import { startTextThread } from '../../lib/text/start-text-thread.js'
import { compileStep } from '../../rules/ci/compile.js'
import { coverageIn } from '../../rules/ci/coverage.js'
import { plan } from '../../rules/ci/plan.js'
import { readCobertura } from '../../rules/ci/reports/cobertura.js'
import { readJunit } from '../../rules/ci/reports/junit.js'
import { failed } from '../../rules/ci/rounds.js'
import { TOO_BIG } from '../../rules/ci/yaml/values.js'
import type { CompilerResult, CompilerTask, ReportResult } from './compiler.js'

/** Bytes of a report without its compression. */
const MAX_REPORT = 8_388_608

/** Characters of a result: a larger one would hold up the event loop, which reads it. */
const MAX_RESULT = 4_194_304

/** What a report says, or why it cannot be read. */
function report({ of, bytes, gzip, project }: Extract<CompilerTask, { kind: 'report' }>): ReportResult {
  try {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const files = (gzip ? gunzipMembers(whole, MAX_REPORT) : [whole]).map((file) => file.toString('utf8'))
    return of === 'junit' ? { cases: readJunit(files) } : { lines: readCobertura(files, project) }
  } catch (error) {
    return { error: (error as Error).message.slice(0, 500) }
  }
}

function run(task: CompilerTask): string {
  const began = time()
  if (task.kind === 'report') {
    const json = JSON.stringify({ value: report(task), spent: time() - began } satisfies CompilerResult<ReportResult>)
    return json.length <= MAX_RESULT ? json : JSON.stringify({ value: { error: 'the report is too large' }, spent: time() - began })
  }
  if (task.kind === 'coverage') return JSON.stringify({ value: coverageIn(task.pattern, task.log), spent: time() - began })
  const value =
    task.kind === 'plan'
      ? plan(task.compiled, task.context)
      : compileStep(task.text, task.context, { answers: new Map(task.answers), parsed: new Map() })
  const json = JSON.stringify({ value, spent: time() - began } satisfies CompilerResult<unknown>)
  if (json.length <= MAX_RESULT) return json
  const tooBig = failed([TOO_BIG])
  const { errors, workflow } = tooBig
  const nothing = {
    errors,
    warnings: [],
    is_filtered: false,
    is_empty: false,
    name: null,
    auto_cancel: workflow.auto_cancel,
    stages: [],
    jobs: [],
    compares: [],
  }
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
