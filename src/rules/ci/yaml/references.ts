import { MAX_NESTING } from '../limits.js'
import { type Config, ConfigFault, isConfig, Reference, type Value } from './values.js'

/** Replaces `!reference` by what it names, in the whole configuration (CI-8). */
export function resolveReferences(config: Config): Config {
  const found = new Map<string, Value>()
  /** Parts that have been walked through, by what they were: anchors share them. */
  const done = new Map<object, Value>()

  const target = (reference: Reference): Value => {
    let value: Value | undefined = config
    for (const key of reference.path) {
      // a reference on the way is followed
      if (value instanceof Reference) value = follow(value, [reference.toString()])
      value = isConfig(value) ? value.get(key) : undefined
    }
    if (value === undefined) throw new ConfigFault(`${reference} could not be found`)
    return value
  }
  const follow = (reference: Reference, chain: readonly string[]): Value => {
    const name = reference.toString()
    if (chain.includes(name)) throw new ConfigFault(`${reference} is part of a circular chain`)
    if (chain.length >= MAX_NESTING) throw new ConfigFault(`${reference} is nested too deep: at most ${MAX_NESTING} levels are followed`)
    const known = found.get(name)
    if (known !== undefined) return known
    const value = resolve(target(reference), [...chain, name])
    found.set(name, value)
    return value
  }
  const resolve = (value: Value, chain: readonly string[]): Value => {
    if (value instanceof Reference) return follow(value, chain)
    if (!(Array.isArray(value) || isConfig(value))) return value
    const known = done.get(value)
    if (known !== undefined) return known
    let changed = false
    const each = (part: Value) => {
      const resolved = resolve(part, chain)
      changed ||= resolved !== part
      return resolved
    }
    const copy: Value = isConfig(value) ? new Map([...value].map(([key, part]) => [key, each(part)])) : value.map(each)
    const result = changed ? copy : value
    done.set(value, result)
    return result
  }
  return resolve(config, []) as Config
}
