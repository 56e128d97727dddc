import { type Faults, isKnown, isSupported, Place } from '../entries/place.js'
import { inputOf } from '../entries/triggers.js'
import { expandVariables } from '../expand-variables.js'
import { compilePattern, delimitedPattern } from '../regex.js'
import type { InputValue, Variable } from '../types.js'
import { type Config, ConfigFault, isConfig, Reference, type Value } from '../yaml/values.js'

const TYPES: Record<string, (value: InputValue) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
}
const ARTICLES: Record<string, string> = { string: 'a string', number: 'a number', boolean: 'a boolean', array: 'an array' }
const DEFINITION_KEYS = ['default', 'description', 'options', 'regex', 'type']
const BLOCK = /\$\[\[([^[\]]{0,1024})\]\]/g
const MAX_FUNCTIONS = 3

/** The values of the inputs that the header of a file declares (CI-6). */
export function inputsOf(header: Config | null, given: Record<string, InputValue>): Map<string, InputValue> {
  const names = Object.keys(given)
  if (!header) {
    if (names.length > 0) throw new ConfigFault('Given inputs not defined in the `spec` section of the included configuration file')
    return new Map()
  }
  const spec = header.get('spec')
  const faults: string[] = []
  const place = new Place({ add: (text: string) => faults.push(text) } as unknown as Faults, 'header:spec')
  if (!isKnown(new Place(place.faults, 'header'), header, ['spec'])) throw new ConfigFault(faults[0])
  const specMap: Config = isConfig(spec) ? spec : new Map()
  if (!isSupported(place, specMap, ['include', 'component']) || !isKnown(place, specMap, ['inputs'])) throw new ConfigFault(faults[0])
  const declared = specMap.get('inputs')
  const definitions: Config = isConfig(declared) ? declared : new Map()
  const unknown = names.filter((name) => !definitions.has(name))
  if (unknown.length > 0) throw new ConfigFault(`unknown input arguments: ${unknown.join(', ')}`)
  return new Map([...definitions].map(([name, definition]) => [name, inputValue(name, definition, given[name], Object.hasOwn(given, name))]))
}

function inputValue(name: string, value: Value, given: InputValue | undefined, isGiven: boolean): InputValue {
  const fault = (text: string) => new ConfigFault(`\`${name}\` input: ${text}`)
  const definition: Config = isConfig(value) ? value : new Map()
  const unknown = [...definition.keys()].filter((key) => !DEFINITION_KEYS.includes(key))
  if (unknown.length > 0) throw new ConfigFault(`header:spec:inputs:${name} config contains unknown keys: ${unknown.join(', ')}`)
  const type = definition.get('type') ?? 'string'
  const isOfType = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (!isOfType || typeof type !== 'string') throw new ConfigFault(`header:spec:inputs:${name} input type unknown value: ${String(type)}`)
  const byDefault = definition.has('default') ? inputOf(definition.get('default') ?? null) : undefined
  const input = isGiven ? given : byDefault
  if (input === undefined) throw fault('required value has not been provided')
  const origin = isGiven ? 'provided value' : 'default value'
  if (!isOfType(input)) throw fault(`${origin} is not ${ARTICLES[type]}`)
  const options = definition.get('options')
  if (Array.isArray(options) && !options.some((each) => inputOf(each) === input))
    throw fault(`\`${String(input)}\` cannot be used because it is not in the list of allowed options`)
  const regex = definition.get('regex')
  if (typeof regex === 'string') {
    const pattern = delimitedPattern(regex) ?? compilePattern(regex)
    if (!pattern) throw fault('invalid regular expression')
    if (!pattern.test(String(input))) throw fault(`${origin} does not match required RegEx pattern`)
  }
  return input
}

/** Replaces `$[[ inputs.x ]]` everywhere in a configuration, in keys as well (CI-6). */
export function interpolate(config: Config, inputs: Map<string, InputValue>, variables: readonly Variable[]): Config {
  const done = new Map<object, Value>()
  const replace = (value: Value): Value => {
    if (typeof value === 'string') return value.includes('$[[') ? interpolated(value, inputs, variables) : value
    if (value instanceof Reference) return new Reference(value.path.map((each) => String(replace(each))))
    if (!(Array.isArray(value) || isConfig(value))) return value
    const known = done.get(value)
    if (known !== undefined) return known
    const result: Value = isConfig(value) ? new Map([...value].map(([key, part]) => [String(replace(key)), replace(part)])) : value.map(replace)
    done.set(value, result)
    return result
  }
  return replace(config) as Config
}

function interpolated(text: string, inputs: Map<string, InputValue>, variables: readonly Variable[]): Value {
  const blocks = [...text.matchAll(BLOCK)]
  // a value alone keeps its type
  if (blocks.length === 1 && blocks[0]?.[0] === text.trim()) return asValue(blockValue(blocks[0][1] ?? '', inputs, variables))
  return text.replace(BLOCK, (_, block: string) => {
    const value = blockValue(block, inputs, variables)
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  })
}

const asValue = (value: InputValue): Value => {
  if (Array.isArray(value)) return value.map(asValue)
  return typeof value === 'object' ? new Map(Object.entries(value).map(([key, part]) => [key, asValue(part)])) : value
}

function blockValue(block: string, inputs: Map<string, InputValue>, variables: readonly Variable[]): InputValue {
  const [access = '', ...functions] = block.split('|').map((each) => each.trim())
  const [scope, name, ...rest] = access.split('.')
  if (scope !== 'inputs') throw new ConfigFault(`unknown interpolation key: \`${scope}\``)
  const value = name === undefined || rest.length > 0 ? undefined : inputs.get(name)
  if (value === undefined) throw new ConfigFault(`unknown interpolation provided: \`${name ?? ''}\` in \`${access}\``)
  if (functions.length > MAX_FUNCTIONS) throw new ConfigFault('too many functions in interpolation block')
  return functions.reduce((result, each) => apply(each, result, variables), value)
}

function apply(call: string, value: InputValue, variables: readonly Variable[]): InputValue {
  if (typeof value === 'string') {
    if (call === 'expand_vars') return expandVariables(value, variables)
    if (call === 'posix_escape') return value === '' ? "''" : value.replaceAll(/[^A-Za-z0-9_\-.,:+/@\n]/g, '\\$&').replaceAll('\n', "'\n'")
    const [, offset, length] = /^truncate\(\s*(\d{1,6})\s*,\s*(\d{1,6})\s*\)$/.exec(call) ?? []
    if (offset !== undefined) return value.slice(Number(offset), Number(offset) + Number(length))
  }
  throw new ConfigFault(`no function matching \`${call}\`: check that the function name, arguments, and types are correct`)
}
