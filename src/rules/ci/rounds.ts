// What the event loop needs of compiling: the program leaves out what reads files, which is in a thread.
import type { Round } from './includes/load.js'
import { keyOf } from './includes/request-key.js'
import { MAX_INCLUDE_ROUNDS, MAX_INCLUDE_TIME } from './limits.js'
import type { CompiledConfig, IncludeRequest, IncludeResolver } from './types.js'

/** Either files that must be read first, or the result. */
export type CompileStep = { wanted: IncludeRequest[] } | { compiled: CompiledConfig }

/** How files are asked for and read, elsewhere perhaps: a step takes what is known so far. */
export type RunStep = (round: Round) => Promise<CompileStep> | CompileStep

/** Repeats a step until no file is missing; within the limits of time and depth. */
export async function inRounds(step: RunStep, resolve: IncludeResolver): Promise<CompiledConfig> {
  const round: Round = { answers: new Map(), parsed: new Map() }
  const end = Date.now() + MAX_INCLUDE_TIME
  for (let depth = 0; ; depth++) {
    const result = await step(round)
    if ('compiled' in result) return result.compiled
    if (depth >= MAX_INCLUDE_ROUNDS) return failed([`Includes are nested too deep: at most ${MAX_INCLUDE_ROUNDS} levels are read`])
    const answers = await resolve(result.wanted)
    if (Date.now() > end) return failed(['Resolving external files timed out'])
    for (const [at, request] of result.wanted.entries())
      round.answers.set(keyOf(request), answers[at] ?? { failure: 'Resolving external files timed out' })
  }
}

export const NO_AUTO_CANCEL = { on_new_commit: null, on_job_failure: null }

/** A configuration with nothing but what is wrong with it. */
export function failed(errors: string[], warnings: string[] = []): CompiledConfig {
  return {
    errors,
    warnings,
    merged_yaml: null,
    stages: [],
    workflow: { name: null, rules: null, auto_cancel: NO_AUTO_CANCEL },
    variables: [],
    jobs: [],
    reads: { changes: false, compare_to: [], exists: false },
    includes: [],
  }
}
