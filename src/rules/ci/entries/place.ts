import { MAX_ERRORS, MAX_NESTING } from '../limits.js'
import { parsePeriod } from '../periods.js'
import { type Config, isConfig, isStrings, type Value } from '../yaml/values.js'

/** What is wrong with a configuration, in the original's words. */
export class Faults {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  add(text: string): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push(text)
  }
  warn(text: string): void {
    if (this.warnings.length < MAX_ERRORS) this.warnings.push(text)
  }
}

/** Where an entry stands, such as `jobs:rspec:artifacts`; faults begin with it. */
export class Place {
  constructor(
    readonly faults: Faults,
    readonly at: string,
  ) {}
  of(key: string): Place {
    return new Place(this.faults, this.at === '' ? key : `${this.at}:${key}`)
  }
  add(text: string): null {
    this.faults.add(`${this.at === '' ? '' : `${this.at} `}${text}`)
    return null
  }
  /** How many faults there are so far: an entry with one of its own does not look into its parts. */
  get count(): number {
    return this.faults.errors.length
  }
}

/** The words of a key in messages: `expire_in` is "expire in". */
const words = (key: string) => key.replaceAll('_', ' ')
/** Null counts as absent, so that `extends` can take something away. */
export const valueAt = (config: Config, key: string): Exclude<Value, null> | undefined => config.get(key) ?? undefined

export function isKnown(place: Place, config: Config, allowed: readonly string[]): boolean {
  const unknown = [...config.keys()].filter((key) => !allowed.includes(key))
  if (unknown.length > 0) place.add(`config contains unknown keys: ${unknown.join(', ')}`)
  return unknown.length === 0
}

/** Keywords of later versions that are not done here are refused by their names (CI-11). */
export function isSupported(place: Place, config: Config, refused: readonly string[]): boolean {
  const found = refused.filter((key) => valueAt(config, key) !== undefined)
  for (const key of found) place.add(`\`${key}\` is not supported by this server`)
  return found.length === 0
}

export function textAt(place: Place, config: Config, key: string): string | null {
  const value = valueAt(config, key)
  if (value === undefined || typeof value === 'string') return value ?? null
  return place.add(`${words(key)} should be a string`)
}

/** A text that must be there and not be empty. */
export function neededText(place: Place, config: Config, key: string): string | null {
  const value = valueAt(config, key)
  if (value === undefined || value === '') return place.add(`${words(key)} can't be blank`)
  return textAt(place, config, key)
}

export function flagAt(place: Place, config: Config, key: string): boolean | null {
  const value = valueAt(config, key)
  if (value === undefined || typeof value === 'boolean') return value ?? null
  return place.add(`${words(key)} should be a boolean value`)
}

export function listAt(place: Place, config: Config, key: string): string[] | null {
  const value = valueAt(config, key)
  if (value === undefined || isStrings(value)) return value ?? null
  return place.add(`${words(key)} should be an array of strings`)
}

/** One text or several. */
export function textsAt(place: Place, config: Config, key: string): string[] | null {
  const value = valueAt(config, key)
  if (typeof value === 'string') return [value]
  if (value === undefined || isStrings(value)) return value ?? null
  return place.add(`${words(key)} should be an array of strings or a string`)
}

export function oneOf<T extends string>(place: Place, config: Config, key: string, values: readonly T[], message?: string): T | null {
  const value = valueAt(config, key)
  if (value === undefined) return null
  const found = values.find((each) => each === value)
  return found ?? place.add(`${words(key)} ${message ?? `should be one of: ${values.join(', ')}`}`)
}

export function integersAt(place: Place, config: Config, key: string): number[] | null {
  const value = valueAt(config, key)
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
  if (values.every((each) => typeof each === 'number')) return value === undefined ? null : (values as number[])
  return place.add(`${words(key)} should be an array of integers or an integer`)
}

/** A duration in seconds, at most so many. */
export function periodAt(place: Place, config: Config, key: string, limit = Number.POSITIVE_INFINITY): number | null {
  const value = valueAt(config, key)
  if (value === undefined) return null
  return periodOf(place, value, limit, words(key))
}

export function periodOf(place: Place, value: Value, limit: number, name: string): number | null {
  const seconds = typeof value === 'string' || typeof value === 'number' ? parsePeriod(String(value)) : null
  if (seconds === null) return place.add(`${name} should be a duration`)
  return seconds > limit ? place.add(`${name} should not exceed the limit`) : seconds
}

/** Commands: a text, or lists that may be nested, which references make. Null after a fault. */
export function commandsOf(place: Place, value: Value): string[] | null {
  const commands =
    typeof value === 'string'
      ? [value].filter((each) => each !== '')
      : Array.isArray(value)
        ? flatten(value, (each) => typeof each === 'string')
        : null
  return (commands as string[] | null) ?? place.add(`config should be a string or a nested array of strings up to ${MAX_NESTING} levels deep`)
}

/** The leaves of nested lists; null if one is not wanted, or too deep. */
export function flatten(values: Value[], isWanted: (value: Value) => boolean, levels = MAX_NESTING): Value[] | null {
  const flat: Value[] = []
  for (const each of values) {
    if (!Array.isArray(each)) {
      if (!isWanted(each)) return null
      flat.push(each)
      continue
    }
    const inner = levels > 1 ? flatten(each, isWanted, levels - 1) : null
    if (!inner) return null
    for (const part of inner) flat.push(part)
  }
  return flat
}

/** A map at a key, or a fault; undefined if the key is absent. */
export function mapAt(place: Place, config: Config, key: string): Config | null | undefined {
  const value = valueAt(config, key)
  if (value === undefined) return undefined
  return isConfig(value) ? value : place.of(key).add('config should be a hash')
}
