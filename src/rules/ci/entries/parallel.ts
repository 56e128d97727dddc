import { MAX_PARALLEL } from '../limits.js'
import type { CompiledJob, Matrix } from '../types.js'
import { isConfig, isScalar, type Value } from '../yaml/values.js'
import { isKnown, type Place } from './place.js'

export function readParallel(place: Place, value: Value): CompiledJob['parallel'] {
  if (typeof value === 'number') {
    if (value < 1) return place.add('config must be greater than or equal to 1')
    return value > MAX_PARALLEL ? place.add(`config must be less than or equal to ${MAX_PARALLEL}`) : value
  }
  if (!isConfig(value)) return place.add('should be an integer or a hash')
  if (!isKnown(place, value, ['matrix'])) return null
  if (!value.has('matrix')) return place.add('config missing required keys: matrix')
  return readMatrix(place.of('matrix'), value.get('matrix') ?? null)
}

export function readMatrix(place: Place, value: Value): Matrix[] | null {
  if (!Array.isArray(value) || !value.every(isConfig)) return place.add('config should be an array of hashes')
  const own = place.of('variables')
  const matrices = value.map((each): Matrix | null => {
    const entries = [...each].map(([key, values]) => [key, Array.isArray(values) ? values.flat() : [values]] as const)
    if (entries.length === 0 || entries.some(([, values]) => values.length === 0 || !values.every(isScalar)))
      return own.add('config should be a hash of key value pairs, value can be an array')
    return Object.fromEntries(entries.map(([key, values]) => [key, values.map(String)]))
  })
  if (matrices.length === 0) return own.add('config should be a hash of key value pairs, value can be an array')
  const made = matrices.reduce((sum, each) => sum + Object.values(each ?? {}).reduce((product, values) => product * values.length, 1), 0)
  if (made > MAX_PARALLEL) return place.add(`config generates too many jobs (maximum is ${MAX_PARALLEL})`)
  return matrices.every((each) => each !== null) ? matrices : null
}
