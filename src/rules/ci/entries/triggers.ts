import { MAX_TRIGGER_INCLUDES } from '../limits.js'
import type { InputValue, JobTrigger, TriggerInclude } from '../types.js'
import { type Config, Decimal, isConfig, isStrings, type Value } from '../yaml/values.js'
import { flagAt, isKnown, mapAt, neededText, oneOf, type Place, textAt, valueAt } from './place.js'

/** A group and a name, or a variable that has them. */
const isProjectPath = (text: string) => /[^\s/]\/[^\s/]|\$\S/.test(text)
const NO_PATH = 'should be the full path of a project'
const STRATEGIES = ['depend', 'mirror'] as const

export function readTrigger(place: Place, value: Value): JobTrigger | null {
  const plain: JobTrigger = {
    project: null,
    branch: null,
    include: [],
    strategy: null,
    forward: { yaml_variables: true, pipeline_variables: false },
    inputs: {},
  }
  if (typeof value === 'string') {
    if (value === '') return place.add("config can't be blank")
    return isProjectPath(value) ? { ...plain, project: value } : place.add(NO_PATH)
  }
  if (!isConfig(value)) return place.add('has to be either a string or a hash')
  if (value.size === 0) return place.add("config can't be blank")
  const isChild = value.has('include')
  if (!isKnown(place, value, isChild ? ['include', 'strategy', 'forward'] : ['project', 'branch', 'strategy', 'forward', 'inputs'])) return null
  const common = {
    strategy: oneOf(place, value, 'strategy', STRATEGIES, 'should be one of: depend, mirror'),
    forward: readForward(place, value),
    inputs: inputsAt(place, value),
  }
  if (isChild) return { ...plain, ...common, include: readIncludes(place, value.get('include') ?? null) }
  const project = neededText(place, value, 'project')
  if (project !== null && !isProjectPath(project)) place.add(`project ${NO_PATH}`)
  return project === null ? null : { ...plain, ...common, project, branch: textAt(place, value, 'branch') }
}

function readForward(place: Place, trigger: Config): JobTrigger['forward'] {
  const forward = mapAt(place, trigger, 'forward')
  const own = place.of('forward')
  const isRead = forward && isKnown(own, forward, ['yaml_variables', 'pipeline_variables'])
  return {
    yaml_variables: (isRead ? flagAt(own, forward, 'yaml_variables') : null) ?? true,
    pipeline_variables: (isRead ? flagAt(own, forward, 'pipeline_variables') : null) ?? false,
  }
}

function readIncludes(place: Place, value: Value): TriggerInclude[] {
  const list = Array.isArray(value) ? value : [value]
  const own = place.of('include')
  if (list.length > MAX_TRIGGER_INCLUDES) {
    own.add(`config is too long (maximum is ${MAX_TRIGGER_INCLUDES})`)
    return []
  }
  return list.flatMap((each) => readInclude(own, each))
}

const KINDS: Record<string, string[]> = {
  local: ['local', 'inputs'],
  remote: ['remote', 'inputs'],
  template: ['template', 'inputs'],
  artifact: ['artifact', 'job', 'inputs'],
  project: ['project', 'file', 'ref', 'inputs'],
}

function readInclude(place: Place, value: Value): TriggerInclude[] {
  if (typeof value === 'string') return [{ ...locationOf(value), inputs: {} }]
  if (!isConfig(value)) return fault(place.add('config should be a hash or a string'))
  const kind = Object.keys(KINDS).find((each) => value.has(each))
  if (kind === undefined) return fault(place.add(`config must use one of: ${Object.keys(KINDS).join(', ')}`))
  if (!isKnown(place, value, KINDS[kind] ?? [])) return []
  if (kind === 'artifact' && valueAt(value, 'job') === undefined)
    return fault(place.add('config must specify the job where to fetch the artifact from'))
  if (kind === 'project' && valueAt(value, 'file') === undefined)
    return fault(place.add('config must specify the file where to fetch the config from'))
  const name = neededText(place, value, kind)
  const inputs = inputsAt(place, value)
  if (name === null) return []
  if (kind === 'template') return [{ kind, name, inputs }]
  if (kind === 'remote') return [{ kind, url: name, inputs }]
  if (kind === 'artifact') return [{ kind, path: name, job: textAt(place, value, 'job') ?? '', inputs }]
  if (kind === 'local') return [{ kind, path: name, inputs }]
  if (!isProjectPath(name)) return fault(place.add(`project ${NO_PATH}`))
  const file = value.get('file') ?? ''
  const paths = isStrings(file) ? file : [file]
  if (!isStrings(paths)) return fault(place.add('file should be an array of strings or a string'))
  return paths.map((path) => ({ kind: 'project', project: name, ref: textAt(place, value, 'ref'), path, inputs }))
}

const fault = (_: null): [] => []

/** A text alone is an address or a path. */
export const locationOf = (text: string): { kind: 'remote'; url: string } | { kind: 'local'; path: string } =>
  /^https?:\/\//i.test(text) ? { kind: 'remote', url: text } : { kind: 'local', path: text }

/** Values for `spec: inputs`. */
export function inputsAt(place: Place, config: Config): Record<string, InputValue> {
  const inputs = mapAt(place, config, 'inputs')
  return inputs ? Object.fromEntries([...inputs].map(([key, value]) => [key, inputOf(value)])) : {}
}

export function inputOf(value: Value): InputValue {
  if (Array.isArray(value)) return value.map(inputOf)
  if (isConfig(value)) return Object.fromEntries([...value].map(([key, part]) => [key, inputOf(part)]))
  if (value instanceof Decimal) return value.value
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return value === null ? '' : String(value)
}
