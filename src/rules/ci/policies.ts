import type { Conditions } from './conditions.js'
import { valuesOf } from './expand-variables.js'
import { delimitedPattern } from './regex.js'
import type { CompiledJob, CompiledPolicy, PipelineContext, PipelineSource, Variable } from './types.js'

/** Names that refs of `only` have for sources. */
const NAMES: Partial<Record<PipelineSource, string>> = { push: 'pushes' }
const namesOf = (source: PipelineSource): string[] => {
  const name = source.replace(/_event$/, '')
  return [name, NAMES[source] ?? `${name}s`]
}

/** Whether `only` and `except` want a job (CI-25): all keys of the first must hold, and none of the second. */
export function areSatisfied(
  { only, except }: Pick<CompiledJob, 'only' | 'except'>,
  pipeline: PipelineContext,
  conditions: Conditions,
  variables: readonly Variable[],
): boolean {
  const values = valuesOf(variables)
  const answers = (policy: CompiledPolicy): boolean[] => [
    ...(policy.refs ? [policy.refs.some((each) => matchesRef(each, pipeline))] : []),
    ...(policy.variables ? [policy.variables.some((each) => conditions.expressionHolds(each, values))] : []),
    ...(policy.kubernetes ? [false] : []),
    ...(policy.changes ? [conditions.changesHold(policy.changes, null, values)] : []),
  ]
  return (!only || answers(only).every(Boolean)) && !(except && answers(except).some(Boolean))
}

function matchesRef(name: string, { source, ref, is_tag, is_merge_request, project_path }: PipelineContext): boolean {
  const at = name.indexOf('@')
  const pattern = at < 0 ? name : name.slice(0, at)
  if (at >= 0 && name.slice(at + 1) !== project_path) return false
  if (pattern === 'tags' && is_tag) return true
  if (pattern === 'branches' && !is_tag && !is_merge_request) return true
  if (namesOf(source).includes(pattern)) return true
  // a merge request is no branch, though it has the name of one
  if (is_merge_request) return false
  const regex = delimitedPattern(pattern)
  return regex === undefined ? pattern === ref : (regex?.test(ref) ?? false)
}
