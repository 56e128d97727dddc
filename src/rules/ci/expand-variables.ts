import type { Variable } from './types.js'

/** Longer results are not made: a text, or the values of all variables together (CI-40). */
const MAX_EXPANDED = 262_144
/** How many variables may refer to each other in a row. */
const MAX_CHAIN = 100
const REFERENCE = /\$\$|%%|\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)\}|%([A-Za-z_]\w*)%/g

export interface Expansion {
  /** What becomes of references to variables that are not there; they stay by default. */
  missing?: 'keep' | 'empty'
}

/** Values by key; of several with one key the last counts. */
export const valuesOf = (variables: readonly Variable[]): Map<string, Variable> => new Map(variables.map((each) => [each.key, each]))

/**
 * Replaces `$X`, `${X}` and `%X%` by values, which are not expanded again. `$$` and `%%` stay, as the runner makes `$` of
 * the first; so do references to file variables (CI-39). A text that would become too long stays as it is.
 */
export function expandVariables(text: string, variables: readonly Variable[] | Map<string, Variable>, { missing = 'keep' }: Expansion = {}): string {
  if (!text.includes('$') && !text.includes('%')) return text
  const values = variables instanceof Map ? variables : valuesOf(variables)
  let length = text.length
  const expanded = text.replace(REFERENCE, (reference: string, ...keys: (string | undefined)[]) => {
    const key = keys[0] ?? keys[1] ?? keys[2]
    if (key === undefined || length > MAX_EXPANDED) return reference
    const variable = values.get(key)
    if (variable?.file) return reference
    const value = variable?.value ?? (missing === 'keep' ? reference : '')
    length += value.length
    return value
  })
  return length > MAX_EXPANDED ? text : expanded
}

/**
 * Expands the values of variables by each other, whatever their order; references that lead in a circle stay, and so do
 * the values of raw variables (CI-39). Of several with one key the last counts.
 */
export function expandEach(variables: readonly Variable[], options: Expansion = {}): Variable[] {
  const values = valuesOf(variables)
  const done = new Map<string, Variable>()
  const open = new Set<string>()
  let left = MAX_EXPANDED
  const visit = (variable: Variable): Variable => {
    const known = done.get(variable.key)
    if (known) return known
    open.add(variable.key)
    let value = variable.value
    if (!variable.raw && !variable.file) {
      const used = new Map<string, Variable>()
      for (const [reference, ...keys] of value.matchAll(REFERENCE)) {
        const key = keys[0] ?? keys[1] ?? keys[2]
        const found = key === undefined ? undefined : values.get(key)
        if (!found) continue
        // in a circle, or a chain without an end in sight, the reference stays
        used.set(found.key, open.has(found.key) || open.size >= MAX_CHAIN ? { key: found.key, value: reference } : visit(found))
      }
      const expanded = expandVariables(value, used, options)
      left -= expanded.length - value.length
      if (left >= 0) value = expanded
    }
    open.delete(variable.key)
    const result = { ...variable, value }
    done.set(variable.key, result)
    return result
  }
  return [...values.values()].map(visit)
}
