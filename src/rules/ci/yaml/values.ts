import { MAX_DEPTH, MAX_WEIGHT } from '../limits.js'

/** A number with a fraction; its text is what the original makes of it: `1.10` is `1.1`, and `1.0` stays. */
export class Decimal {
  constructor(readonly value: number) {}
  toString(): string {
    return Number.isInteger(this.value) ? this.value.toFixed(1) : String(this.value)
  }
}

/** `!reference [job, key]`. */
export class Reference {
  constructor(readonly path: string[]) {}
  toString(): string {
    return `!reference ${JSON.stringify(this.path).replaceAll(',', ', ')}`
  }
}

/** Values of a file. They are shared by anchors and never changed. */
export type Value = string | number | bigint | boolean | null | Decimal | Reference | Value[] | Config
export type Config = Map<string, Value>

export const isConfig = (value: unknown): value is Config => value instanceof Map
/** Texts, numbers and truth values. */
export const isScalar = (value: unknown): value is string | number | bigint | boolean | Decimal =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || value instanceof Decimal
export const isStrings = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === 'string')

/** A configuration that cannot be read; the message is for whoever wrote it. */
export class ConfigFault extends Error {}

export const TOO_BIG = 'The parsed YAML is too big'

/** Refuses a value that anchors or references make too heavy or too deep; shared parts are looked at once (CI-3). */
export function weigh(value: Value): void {
  const known = new Map<object, { weight: number; depth: number }>()
  const measure = (each: Value, level: number): { weight: number; depth: number } => {
    if (typeof each === 'string') return { weight: each.length + 8, depth: 0 }
    if (!(Array.isArray(each) || isConfig(each))) return { weight: 8, depth: 0 }
    const found = known.get(each)
    if (found) return found
    if (level > MAX_DEPTH) throw new ConfigFault(TOO_BIG)
    const sum = { weight: 8, depth: 0 }
    const add = (part: Value) => {
      const { weight, depth } = measure(part, level + 1)
      sum.weight += weight
      sum.depth = Math.max(sum.depth, depth + 1)
    }
    if (isConfig(each))
      for (const [key, part] of each) {
        sum.weight += key.length
        add(part)
      }
    else for (const part of each) add(part)
    if (sum.weight > MAX_WEIGHT || sum.depth > MAX_DEPTH) throw new ConfigFault(TOO_BIG)
    known.set(each, sum)
    return sum
  }
  measure(value, 0)
}

/** Maps merge deep, the later one wins, and everything else is replaced (CI-7). */
export function mergeDeep(base: Config, over: Config): Config {
  const merged = new Map(base)
  for (const [key, value] of over) {
    const below = merged.get(key)
    merged.set(key, isConfig(below) && isConfig(value) ? mergeDeep(below, value) : value)
  }
  return merged
}
