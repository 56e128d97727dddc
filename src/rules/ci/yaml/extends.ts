import { MAX_NESTING } from '../limits.js'
import { type Config, ConfigFault, isConfig, isStrings, mergeDeep } from './values.js'

/** Puts together each entry that has `extends`: the later base wins, then the entry itself (CI-9). */
export function resolveExtends(config: Config): Config {
  const done = new Map<string, Config>()
  const resolve = (name: string, chain: readonly string[]): Config => {
    const known = done.get(name)
    if (known) return known
    const entry = config.get(name) as Config
    const bases = entry.get('extends')
    const names = typeof bases === 'string' ? [bases] : bases
    // what is no name is refused where the job is read
    if (!isStrings(names) || names.length === 0) return entry
    if (chain.length > MAX_NESTING) throw new ConfigFault(`${chain[0]}: nesting too deep in \`extends\``)
    const unknown = names.filter((each) => !config.has(each))
    if (unknown.length > 0) throw new ConfigFault(`${name}: unknown keys in \`extends\` (${unknown.join(', ')})`)
    const invalid = names.filter((each) => !isConfig(config.get(each)))
    if (invalid.length > 0) throw new ConfigFault(`${name}: invalid base hashes in \`extends\` (${invalid.join(', ')})`)
    if (names.some((each) => each === name || chain.includes(each))) throw new ConfigFault(`${name}: circular dependency detected in \`extends\``)
    let merged: Config = new Map()
    for (const each of names) merged = mergeDeep(merged, resolve(each, [...chain, name]))
    merged = mergeDeep(merged, entry)
    done.set(name, merged)
    return merged
  }
  return new Map([...config].map(([name, value]) => [name, isConfig(value) && value.has('extends') ? resolve(name, []) : value]))
}
