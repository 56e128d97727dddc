import { MAX_EXTERNAL_NEEDS } from '../limits.js'
import type { CompiledNeed, Matrix } from '../types.js'
import { type Config, isConfig, type Value } from '../yaml/values.js'
import { readMatrix } from './parallel.js'
import { flagAt, flatten, isKnown, mapAt, neededText, type Place, textAt } from './place.js'

/** Needs of this pipeline, for which a job waits, and of others, of which it gets the artifacts. */
export interface Needs {
  jobs: CompiledNeed[]
  external: CompiledNeed[]
}

export function readNeeds(place: Place, value: Value): Needs | null {
  const own = place.of('needs')
  const list = Array.isArray(value) ? flatten(value, () => true) : isConfig(value) ? [value] : null
  if (!list) return own.add('config can only be a hash or an array')
  const needs = list.flatMap((each) => readNeed(own.of('need'), each) ?? [])
  const isExternal = (need: CompiledNeed) => need.project !== null || need.pipeline !== null
  const external = needs.filter(isExternal)
  if (external.length > MAX_EXTERNAL_NEEDS) own.add(`config must be less than or equal to ${MAX_EXTERNAL_NEEDS}`)
  return { jobs: needs.filter((each) => !isExternal(each)), external }
}

/** Needs where only jobs of this pipeline are allowed: of rules and of bridges. */
export function readOwnNeeds(place: Place, value: Value): CompiledNeed[] | null {
  const needs = readNeeds(place, value)
  if (needs && needs.external.length > 0) return place.of('needs').add('config uses invalid types: cross_dependency')
  return needs?.jobs ?? null
}

const nothing = { artifacts: true, optional: false, matrix: null, project: null, ref: null, pipeline: null }

function readNeed(place: Place, value: Value): CompiledNeed | null {
  if (typeof value === 'string') return value === '' ? place.add("config can't be blank") : { ...nothing, job: value }
  if (!isConfig(value)) return place.add('has an unsupported type')
  if (value.has('project')) return readOther(place, value, ['project', 'ref', 'job', 'artifacts'], ['project', 'ref', 'job'])
  if (value.has('pipeline')) {
    if (!value.has('job')) return place.add('`pipeline` without `job` is not supported by this server')
    return readOther(place, value, ['pipeline', 'job', 'artifacts', 'optional'], ['pipeline', 'job'])
  }
  if (!value.has('job')) return place.add('has an unsupported type')
  if (!isKnown(place, value, ['job', 'artifacts', 'optional', 'parallel'])) return null
  const job = neededText(place, value, 'job')
  const matrix = readNeededMatrix(place, value)
  if (job === null) return null
  return { ...nothing, job, artifacts: flagAt(place, value, 'artifacts') ?? true, optional: flagAt(place, value, 'optional') ?? false, matrix }
}

function readOther(place: Place, value: Config, keys: string[], needed: string[]): CompiledNeed | null {
  if (!isKnown(place, value, keys)) return null
  const texts = needed.map((key) => neededText(place, value, key))
  if (texts.includes(null)) return null
  return {
    ...nothing,
    job: textAt(place, value, 'job') ?? '',
    artifacts: flagAt(place, value, 'artifacts') ?? true,
    optional: flagAt(place, value, 'optional') ?? false,
    project: textAt(place, value, 'project'),
    ref: textAt(place, value, 'ref'),
    pipeline: textAt(place, value, 'pipeline'),
  }
}

function readNeededMatrix(place: Place, value: Config): Matrix[] | null {
  const own = place.of('parallel')
  if (typeof value.get('parallel') === 'number') return own.add('config cannot use "parallel: <number>".')
  const parallel = mapAt(place, value, 'parallel')
  if (!parallel || !isKnown(own, parallel, ['matrix'])) return null
  return readMatrix(own.of('matrix'), parallel.get('matrix') ?? null)
}
