import type { GlobalVariable, Variable } from '../types.js'
import { type Config, isConfig, isScalar, isStrings, type Value } from '../yaml/values.js'
import { flagAt, isKnown, type Place, textAt, valueAt } from './place.js'

const NO_MAP = 'config should be a hash of key value pairs'

/** `variables` of a job or rule. */
export function readVariables(place: Place, value: Value | undefined): Variable[] {
  return readAll(place, value, ['value', 'expand']).map(({ key, value: text, raw }) => ({ key, value: text, ...(raw && { raw }) }))
}

/** `variables` of the whole file, with what a form shows of them. */
export function readGlobalVariables(place: Place, value: Value | undefined): GlobalVariable[] {
  return readAll(place, value, ['value', 'description', 'expand', 'options'])
}

function readAll(place: Place, value: Value | undefined, keys: string[]): GlobalVariable[] {
  if (value === undefined || value === null) return []
  if (!isConfig(value)) {
    place.add(NO_MAP)
    return []
  }
  return [...value].flatMap(([key, each]) => readOne(place, key, each, keys) ?? [])
}

function readOne(place: Place, key: string, value: Value, keys: string[]): GlobalVariable | null {
  const plain = { key, description: null, options: null }
  // a variable that is set to nothing is the empty text
  if (value === null) return { ...plain, value: '' }
  if (isScalar(value) && typeof value !== 'boolean') return { ...plain, value: String(value) }
  if (!isConfig(value)) return place.add(NO_MAP)
  const own = place.of(key)
  if (!isKnown(own, value, keys)) return null
  const text = readValue(own, value)
  const description = textAt(own, value, 'description')
  const options = readOptions(own, value, text)
  const expand = flagAt(own, value, 'expand')
  return { key, value: text ?? '', description, options, ...(expand === false && { raw: true }) }
}

function readValue(place: Place, definition: Config): string | null {
  const value = valueAt(definition, 'value')
  if (value === undefined) return null
  return isScalar(value) && typeof value !== 'boolean' ? String(value) : place.add('config value must be an alphanumeric string')
}

function readOptions(place: Place, definition: Config, value: string | null): string[] | null {
  const options = valueAt(definition, 'options')
  if (options === undefined) return null
  if (!isStrings(options)) return place.of('options').add('config should be an array of strings')
  if (value === null || !options.includes(value)) return place.add('config value must be present in options')
  return options
}
