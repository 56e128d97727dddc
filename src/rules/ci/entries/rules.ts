import { parseExpression } from '../expression.js'
import { MAX_PATTERNS, MAX_START_IN } from '../limits.js'
import { delimitedPattern } from '../regex.js'
import type { AutoCancel, CompiledPolicy, CompiledRule, When } from '../types.js'
import { type Config, isConfig, isStrings, type Value } from '../yaml/values.js'
import { readOwnNeeds } from './needs.js'
import { flagAt, flatten, isKnown, isSupported, listAt, oneOf, type Place, periodAt, textAt, valueAt } from './place.js'
import { readVariables } from './variables.js'

export const RULE_KEYS = {
  job: ['if', 'changes', 'exists', 'when', 'start_in', 'allow_failure', 'variables', 'needs', 'interruptible'],
  workflow: ['if', 'changes', 'exists', 'when', 'variables', 'auto_cancel'],
  include: ['if', 'changes', 'exists', 'when'],
}
const WHENS: Record<keyof typeof RULE_KEYS, readonly When[]> = {
  job: ['on_success', 'on_failure', 'always', 'never', 'manual', 'delayed'],
  workflow: ['always', 'never'],
  include: ['always', 'never'],
}

/** `rules` of a job, the workflow or an include; lists may be nested. */
export function readRules(place: Place, value: Value, kind: keyof typeof RULE_KEYS): CompiledRule[] | null {
  const list = Array.isArray(value) ? flatten(value, isConfig) : null
  if (!list) return place.add('rules should be an array containing hashes and arrays of hashes')
  const own = place.of('rules').of('rule')
  return list.flatMap((each) => readRule(own, each as Config, kind) ?? [])
}

function readRule(place: Place, rule: Config, kind: keyof typeof RULE_KEYS): CompiledRule | null {
  if (rule.size === 0) return place.add("config can't be blank")
  if (!isKnown(place, rule, RULE_KEYS[kind])) return null
  const when = valueAt(rule, 'when')
  if (when !== undefined && !WHENS[kind].some((each) => each === when)) return place.add(`when unknown value: ${String(when)}`)
  if (when === 'delayed' && valueAt(rule, 'start_in') === undefined) return place.add("start in can't be blank")
  if (when !== 'delayed' && rule.has('start_in')) return place.add('config contains disallowed keys: start_in')
  return {
    if: readExpression(place, rule),
    changes: readChanges(place, rule),
    exists: readExists(place, rule),
    when: (when as When | undefined) ?? null,
    start_in: periodAt(place, rule, 'start_in', MAX_START_IN),
    allow_failure: flagAt(place, rule, 'allow_failure'),
    variables: readVariables(place.of('variables'), rule.get('variables')),
    needs: valueAt(rule, 'needs') === undefined ? null : readOwnNeeds(place, rule.get('needs') ?? null),
    interruptible: flagAt(place, rule, 'interruptible'),
    auto_cancel: rule.has('auto_cancel') ? readAutoCancel(place.of('auto_cancel'), rule.get('auto_cancel') ?? null) : null,
  }
}

function readExpression(place: Place, rule: Config): string | null {
  const value = valueAt(rule, 'if')
  if (value === undefined) return null
  return typeof value === 'string' && parseExpression(value) ? value : place.add('if invalid expression syntax')
}

function readChanges(place: Place, rule: Config): CompiledRule['changes'] {
  const value = valueAt(rule, 'changes')
  if (value === undefined) return null
  const own = place.of('changes')
  if (!isConfig(value)) {
    const paths = patternsOf(own, value, 'config')
    return paths && { paths, compare_to: null }
  }
  if (!isKnown(own, value, ['paths', 'compare_to'])) return null
  if (!value.has('paths')) return own.add("paths can't be blank")
  const paths = patternsOf(own, value.get('paths') ?? null, 'paths')
  return paths && { paths, compare_to: textAt(own, value, 'compare_to') }
}

function readExists(place: Place, rule: Config): string[] | null {
  const value = valueAt(rule, 'exists')
  if (value === undefined) return null
  if (!isConfig(value)) return patternsOf(place, typeof value === 'string' ? [value] : value, 'exists')
  const own = place.of('exists')
  if (!isSupported(own, value, ['project', 'ref']) || !isKnown(own, value, ['paths'])) return null
  return patternsOf(own, value.get('paths') ?? null, 'paths')
}

function patternsOf(place: Place, value: Value, name: string): string[] | null {
  // references may have nested them
  const list = Array.isArray(value) ? flatten(value, (each) => typeof each === 'string') : null
  if (!list) return place.add(`${name} should be an array of strings`)
  if (list.length > MAX_PATTERNS) return place.add(`${name} is too long (maximum is ${MAX_PATTERNS} characters)`)
  return list as string[]
}

const ON_NEW_COMMIT = ['conservative', 'interruptible', 'none'] as const
const ON_JOB_FAILURE = ['none', 'all'] as const

export function readAutoCancel(place: Place, value: Value): AutoCancel {
  const nothing = { on_new_commit: null, on_job_failure: null }
  if (!isConfig(value)) {
    if (value !== null) place.add('config should be a hash')
    return nothing
  }
  if (!isKnown(place, value, ['on_new_commit', 'on_job_failure'])) return nothing
  return {
    on_new_commit: oneOf(place, value, 'on_new_commit', ON_NEW_COMMIT, 'must be one of: conservative, interruptible, none'),
    on_job_failure: oneOf(place, value, 'on_job_failure', ON_JOB_FAILURE, 'must be one of: none, all'),
  }
}

/** `only` and `except`: a list of refs, or a map. */
export function readPolicy(place: Place, value: Value): CompiledPolicy | null {
  if (Array.isArray(value)) {
    const refs = readRefs(place, value, 'config')
    return refs && { refs, variables: null, changes: null, kubernetes: false }
  }
  if (!isConfig(value)) return place.add('has to be either an array of conditions or a hash')
  if (value.size === 0) return place.add("config can't be blank")
  if (!isKnown(place, value, ['refs', 'variables', 'changes', 'kubernetes'])) return null
  const kubernetes = valueAt(value, 'kubernetes')
  if (kubernetes !== undefined && kubernetes !== 'active') place.add(`kubernetes unknown value: ${String(kubernetes)}`)
  const refs = valueAt(value, 'refs')
  const variables = listAt(place, value, 'variables')
  for (const each of variables ?? []) if (!parseExpression(each)) place.add('variables invalid expression syntax')
  return {
    refs: refs === undefined ? null : readRefs(place, refs, 'refs'),
    variables,
    changes: valueAt(value, 'changes') === undefined ? null : patternsOf(place, value.get('changes') ?? null, 'changes'),
    kubernetes: kubernetes !== undefined,
  }
}

function readRefs(place: Place, value: Value, name: string): string[] | null {
  if (isStrings(value) && value.every((each) => delimitedPattern(each) !== null)) return value
  return place.add(`${name} should be an array of strings or regular expressions using re2 syntax`)
}
