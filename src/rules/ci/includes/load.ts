import { Conditions } from '../conditions.js'
import { expandVariables } from '../expand-variables.js'
import { pathsThatMatch } from '../globs.js'
import { MAX_ALL_BYTES, MAX_INCLUDES } from '../limits.js'
import type { CompileContext, IncludeAnswer, IncludeRequest, InputValue, Origin } from '../types.js'
import { type LoadedFile, loadYaml } from '../yaml/load.js'
import { type Config, ConfigFault, mergeDeep, TOO_BIG } from '../yaml/values.js'
import { type Include, readIncludes } from './entries.js'
import { noLocalFile } from './failures.js'
import { inputsOf, interpolate } from './inputs.js'
import { keyOf } from './request-key.js'

/** Answers so far, and the files that were parsed, from round to round. */
export interface Round {
  answers: Map<string, IncludeAnswer>
  parsed: Map<string, LoadedFile>
}

/** A fault that says which file it is about. */
class IncludeFault extends ConfigFault {}

/** What is still to be asked for; or the configuration with everything that it includes, the including file on top. */
export type Loaded = { wanted: IncludeRequest[] } | { config: Config; includes: IncludeRequest[] }

/** Goes through all files that are known (CI-4); throws a `ConfigFault`. */
export function loadAll(text: string, context: CompileContext, round: Round): Loaded {
  const wanted = new Map<string, IncludeRequest>()
  const includes = new Map<string, IncludeRequest>()
  let [count, bytes] = [0, 0]

  const ask = (request: IncludeRequest): IncludeAnswer | null => {
    const key = keyOf(request)
    const answer = round.answers.get(key)
    if (!answer) wanted.set(key, request)
    return answer ?? null
  }
  const parse = (content: string): LoadedFile => {
    let file = round.parsed.get(content)
    if (!file) {
      file = loadYaml(content)
      round.parsed.set(content, file)
    }
    return file
  }
  const loadFile = (content: string, origin: Origin | null, given: Record<string, InputValue>): Config => {
    bytes += Buffer.byteLength(content)
    if (bytes > MAX_ALL_BYTES) throw new IncludeFault(TOO_BIG)
    const file = parse(content)
    const inputs = inputsOf(file.header, given)
    const config = file.header ? interpolate(file.content, inputs, context.variables) : file.content
    let merged: Config = new Map()
    for (const include of readIncludes(config.get('include'), origin)) {
      if (!isWanted(include, origin)) continue
      if (include.refused !== undefined) throw new ConfigFault(include.refused)
      for (const request of include.requests) for (const part of filesOf(request, include.inputs)) merged = mergeDeep(merged, part)
    }
    const own = new Map(config)
    own.delete('include')
    return mergeDeep(merged, own)
  }
  const isWanted = ({ rules }: Include, origin: Origin | null): boolean => {
    if (!rules) return true
    let asks = false
    const paths = (request: IncludeRequest): string[] | null => {
      asks ||= !ask(request)
      return pathsOf(request)
    }
    const conditions = new Conditions({
      changedPaths: (compareTo) => paths({ kind: 'changes', compare_to: compareTo, from: null }),
      tree: () => paths({ kind: 'list', from: origin }),
    })
    const rule = conditions.firstOf(rules, context.variables)
    return !asks && rule !== null && rule.when !== 'never'
  }
  /** Null: it is not known yet, or there is nothing to compare with. */
  const pathsOf = (request: IncludeRequest): string[] | null => {
    const answer = ask(request)
    if (answer && 'failure' in answer) throw new ConfigFault(answer.failure)
    return answer && 'text' in answer ? answer.text.split('\n').filter((each) => each !== '') : null
  }
  const filesOf = (request: IncludeRequest, inputs: Record<string, InputValue>): Config[] => {
    const expanded = expandRequest(request, context)
    const requests = expanded.kind === 'local' && expanded.path.includes('*') ? matching(expanded) : [expanded]
    return requests.flatMap((each) => fileOf(each, inputs) ?? [])
  }
  const matching = (request: IncludeRequest & { kind: 'local' }): IncludeRequest[] => {
    const paths = pathsOf({ kind: 'list', from: request.from })
    return paths ? pathsThatMatch(request.path, paths).map((path) => ({ ...request, path })) : []
  }
  const fileOf = (request: IncludeRequest, inputs: Record<string, InputValue>): Config | null => {
    const name = nameOf(request)
    if (!/\.ya?ml$/i.test(name)) throw new IncludeFault(`Included file \`${name}\` does not have YAML extension!`)
    count++
    if (count > MAX_INCLUDES) throw new IncludeFault(`Maximum of ${MAX_INCLUDES} nested includes are allowed!`)
    includes.set(keyOf(request), request)
    const answer = ask(request)
    if (!answer) return null
    if ('failure' in answer) throw new IncludeFault(answer.failure)
    if (!('text' in answer)) return null
    try {
      return loadFile(answer.text, answer.origin === undefined ? request.from : answer.origin, inputs)
    } catch (error) {
      // the innermost file is the one to look at
      if (error instanceof ConfigFault && !(error instanceof IncludeFault)) throw new IncludeFault(`\`${name}\`: ${error.message}`)
      throw error
    }
  }

  const config = loadFile(text, context.origin ?? null, context.inputs ?? {})
  return wanted.size > 0 ? { wanted: [...wanted.values()] } : { config, includes: [...includes.values()] }
}

function expandRequest(request: IncludeRequest, { variables }: CompileContext): IncludeRequest {
  const expand = (text: string) => expandVariables(text, variables, { missing: 'empty' })
  const path = (text: string) => expand(text).replace(/^\//, '')
  switch (request.kind) {
    case 'local': {
      const expanded = path(request.path)
      if (expanded === '') throw new IncludeFault(noLocalFile(request.path))
      return { ...request, path: expanded }
    }
    case 'project':
      return { ...request, project: expand(request.project), ref: request.ref === null ? null : expand(request.ref), path: path(request.path) }
    case 'remote':
      return { ...request, url: expand(request.url) }
    case 'template':
      return { ...request, name: expand(request.name) }
    default:
      return request
  }
}

function nameOf(request: IncludeRequest): string {
  if (request.kind === 'remote') return request.url
  if (request.kind === 'template') return request.name
  return request.kind === 'local' || request.kind === 'project' ? request.path : ''
}
