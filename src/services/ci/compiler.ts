import { createHash } from 'node:crypto'
import { type TextResult, TextThread } from '../../lib/text/text-thread.js'
import { Unavailable } from '../../lib/unavailable.js'
import type { LineHits } from '../../rules/ci/reports/cobertura.js'
import type { TestCase } from '../../rules/ci/reports/junit.js'
import { type CompileStep, failed, inRounds } from '../../rules/ci/rounds.js'
import type { CompileContext, CompiledConfig, IncludeAnswer, IncludeResolver, PipelineContext, Plan } from '../../rules/ci/types.js'

/** Milliseconds of the processor for one step, and for all steps of a configuration together (CI-40). */
const LIMITS = { budget: 500, wait: 30_000 }
const MAX_TIME = 1_000
const TOO_LONG = 'The configuration takes too long to be read'

export type CompilerTask =
  | { kind: 'compile'; text: string; context: CompileContext; answers: [string, IncludeAnswer][] }
  | { kind: 'plan'; compiled: CompiledConfig; context: PipelineContext }
  | { kind: 'coverage'; pattern: string; log: string }
  | { kind: 'report'; of: 'junit' | 'cobertura'; bytes: Uint8Array; gzip: boolean; project: string }
/** `spent`: milliseconds of the processor. */
export type CompilerResult<Value> = { value: Value; spent: number }

export type ReportResult = { error: string } | { cases: TestCase[] } | { lines: LineHits }

const REPORT_TOO_LONG = 'the report takes too long to be read'

/** Compiles `.gitlab-ci.yml` in a thread of its own, as users write it (CI-42); asks for included files on this side. */
export class CiCompiler {
  readonly #thread: TextThread<CompilerTask>

  /** `program` is the bundle of `compiler-entry.ts`. */
  constructor(program: URL, onResult?: (result: TextResult) => void, limits = LIMITS) {
    this.#thread = new TextThread(program, limits, onResult)
  }

  /** As `compile` of the rules; one that takes too long has that as its error. */
  async compile(text: string, context: CompileContext, resolve: IncludeResolver): Promise<CompiledConfig> {
    let left = MAX_TIME
    return inRounds(async ({ answers }): Promise<CompileStep> => {
      const result = await this.#run<CompileStep>({ kind: 'compile', text, context, answers: [...answers] })
      left -= result?.spent ?? 0
      return result && left > 0 ? result.value : { compiled: failed([TOO_LONG]) }
    }, resolve)
  }

  /** As `plan` of the rules. */
  async plan(compiled: CompiledConfig, context: PipelineContext): Promise<Plan> {
    const result = await this.#run<Plan>({ kind: 'plan', compiled, context })
    if (result) return result.value
    const nothing = { warnings: [], is_filtered: false, is_empty: false, name: null, stages: [], jobs: [], compares: [] }
    return { ...nothing, errors: [TOO_LONG], auto_cancel: compiled.workflow.auto_cancel }
  }

  /** The coverage that a log states (CI-115); null if it states none, or that takes too long to find. */
  async coverage(pattern: string, log: string): Promise<number | null> {
    return (await this.#run<number | null>({ kind: 'coverage', pattern, log }))?.value ?? null
  }

  /** What a stored report says, which is kept by its digest for a while; an error is a text (CI-250). */
  async report(task: Omit<Extract<CompilerTask, { kind: 'report' }>, 'kind'>, oid: string): Promise<ReportResult> {
    const key = `${task.of} ${task.gzip} ${oid} ${task.project}`
    return (await this.#run<ReportResult>({ kind: 'report', ...task }, key))?.value ?? { error: REPORT_TOO_LONG }
  }

  get isHealthy(): boolean {
    return this.#thread.isHealthy
  }

  close = (): Promise<void> => this.#thread.close()

  /** Null if the task takes too much; throws if there is no turn for it, which may pass. */
  async #run<Value>(
    task: CompilerTask,
    key = createHash('sha256').update(JSON.stringify(task)).digest('base64'),
  ): Promise<CompilerResult<Value> | null> {
    const json = await this.#thread.html(key, task)
    if (json !== null) return JSON.parse(json)
    if (this.#thread.tookTooMuch(key)) return null
    throw new Unavailable('too many configurations wait to be read', 5)
  }
}
