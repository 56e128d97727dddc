import { Faults, isKnown, Place, valueAt } from '../entries/place.js'
import { readRules } from '../entries/rules.js'
import { inputsAt, locationOf } from '../entries/triggers.js'
import type { CompiledRule, IncludeRequest, InputValue, Origin } from '../types.js'
import { type Config, ConfigFault, isConfig, isStrings, type Value } from '../yaml/values.js'

/** An entry of `include`, with variables in its paths. */
export interface Include {
  requests: IncludeRequest[]
  rules: CompiledRule[] | null
  inputs: Record<string, InputValue>
  /** A kind that is not done here, which is a fault if the rules want it. */
  refused?: string
}

const KINDS = ['local', 'project', 'remote', 'template'] as const
const LATER = ['artifact', 'component']
const KEYS = {
  local: ['local', 'rules', 'inputs'],
  project: ['project', 'file', 'ref', 'rules', 'inputs'],
  remote: ['remote', 'rules', 'inputs'],
  template: ['template', 'rules', 'inputs'],
}

export function readIncludes(value: Value | undefined, from: Origin | null): Include[] {
  if (value === undefined || value === null) return []
  const faults = new Faults()
  const place = new Place(faults, 'include')
  const includes = (Array.isArray(value) ? value.flat(10) : [value]).map((each) => readInclude(place, each as Value, from))
  if (faults.errors[0] !== undefined) throw new ConfigFault(faults.errors[0])
  return includes.flatMap((each) => each ?? [])
}

function readInclude(place: Place, value: Value, from: Origin | null): Include | null {
  if (typeof value === 'string') return { requests: [{ ...locationOf(value), from }], rules: null, inputs: {} }
  if (!isConfig(value)) return place.add('config should be a hash or a string')
  const later = LATER.find((key) => value.has(key))
  if (later)
    return { requests: [], rules: rulesOf(place, value), inputs: {}, refused: `include:include \`${later}\` is not supported by this server` }
  const found = KINDS.filter((key) => value.has(key))
  const kind = found[0]
  if (!kind || found.length > 1) {
    const names = [...KINDS, ...LATER].map((each) => `\`${each}\``).join(', ')
    const shown = JSON.stringify(Object.fromEntries([...value].filter(([, each]) => typeof each === 'string')))
    return kind
      ? place.add(`Each include must use only one of: ${names}`)
      : place.add(`\`${shown}\` does not have a valid subkey for include. Valid subkeys are: ${names}`)
  }
  if (!isKnown(place.of('include'), value, KEYS[kind])) return null
  const requests = requestsOf(place, value, kind, from)
  return requests && { requests, rules: rulesOf(place, value), inputs: inputsAt(place, value) }
}

function rulesOf(place: Place, value: Config): CompiledRule[] | null {
  const rules = valueAt(value, 'rules')
  return rules === undefined ? null : readRules(place.of('include'), rules, 'include')
}

function requestsOf(place: Place, value: Config, kind: (typeof KINDS)[number], from: Origin | null): IncludeRequest[] | null {
  const name = value.get(kind)
  if (typeof name !== 'string' || name === '') return place.add(`\`${kind}\` should be a string`)
  if (kind === 'local') return [{ kind, path: name, from }]
  if (kind === 'remote') return [{ kind, url: name, from }]
  if (kind === 'template') return [{ kind, name, from }]
  const file = value.get('file') ?? null
  const paths = typeof file === 'string' ? [file] : file
  if (!isStrings(paths) || paths.length === 0)
    return place.add(`\`${JSON.stringify({ project: name })}\` must specify the file where to fetch the config from`)
  const ref = value.get('ref') ?? null
  if (ref !== null && typeof ref !== 'string') return place.add('`ref` should be a string')
  return paths.map((path) => ({ kind: 'project', project: name, ref, path, from }))
}
