import { Document, Scalar } from 'yaml'
import { checkJobs } from './check-jobs.js'
import { readArtifacts, readCaches } from './entries/artifacts.js'
import { readImage, readServices } from './entries/containers.js'
import { DEFAULT_KEYS, readJob } from './entries/jobs.js'
import { commandsOf, Faults, flatten, isKnown, Place, textAt, valueAt } from './entries/place.js'
import { readAutoCancel, readRules } from './entries/rules.js'
import { readGlobalVariables } from './entries/variables.js'
import { loadAll, type Round } from './includes/load.js'
import { type CompileStep, failed, inRounds, NO_AUTO_CANCEL } from './rounds.js'
import type { CompileContext, CompiledConfig, CompiledJob, CompiledWorkflow, IncludeResolver, Reads } from './types.js'
import { resolveExtends } from './yaml/extends.js'
import { resolveReferences } from './yaml/references.js'
import { type Config, ConfigFault, Decimal, isConfig, type Value, weigh } from './yaml/values.js'

/**
 * Compiles a configuration (CI-1), asking for included files in rounds: those of one depth together. It runs here; what
 * users write is compiled off the event loop, by `steps`.
 */
export async function compile(text: string, context: CompileContext, resolve: IncludeResolver): Promise<CompiledConfig> {
  return inRounds((round) => compileStep(text, context, round), resolve)
}

/** Goes as far as the files that are known allow. */
export function compileStep(text: string, context: CompileContext, round: Round): CompileStep {
  try {
    if (text.trim() === '') throw new ConfigFault('Please provide content of .gitlab-ci.yml')
    const loaded = loadAll(text, context, round)
    if ('wanted' in loaded) return loaded
    weigh(loaded.config)
    const config = resolveReferences(resolveExtends(loaded.config))
    weigh(config)
    return { compiled: { ...read(config, context.wants_merged_yaml === true), includes: loaded.includes } }
  } catch (error) {
    if (error instanceof ConfigFault) return { compiled: failed([error.message]) }
    throw error
  }
}

const RESERVED = ['default', 'include', 'variables', 'stages', 'types', 'workflow']
/** Old places of what `default` has. */
const TOP_DEFAULTS = ['image', 'services', 'before_script', 'after_script', 'cache']
const STAGES = ['build', 'test', 'deploy']

function read(config: Config, wantsYaml: boolean): CompiledConfig {
  const faults = new Faults()
  const root = new Place(faults, '')
  const variables = readGlobalVariables(root.of('variables'), config.get('variables'))
  const stages = readStages(root, config)
  const workflow = readWorkflow(root, config)
  const defaults = readDefaults(root, config)
  const inherited = { defaults, hasWorkflowRules: workflow.rules !== null }
  const entries = [...config].filter(([name]) => !RESERVED.includes(name) && !TOP_DEFAULTS.includes(name))
  const place = root.of('jobs')
  if (!entries.some(([name]) => !name.startsWith('.'))) place.add('config should contain at least one visible job')
  const jobs: CompiledJob[] = []
  for (const [name, value] of entries) {
    if (name.startsWith('.')) continue
    const own = place.of(name)
    if (!isConfig(value) || !['script', 'run', 'trigger', 'needs'].some((key) => value.has(key)))
      own.add('config should implement a script:, run:, or trigger: keyword')
    else if (!['script', 'run', 'trigger'].some((key) => value.has(key))) own.add('config should contain either a trigger or a needs:pipeline')
    else {
      if (value.has('type')) faults.warn(`jobs:${name} \`type\` is deprecated in 9.0 and will be removed in 15.0.`)
      const job = readJob(own, name, value, inherited)
      if (job) jobs.push(job)
    }
  }
  if (config.has('types')) faults.warn('root `types` is deprecated in 9.0 and will be removed in 15.0.')
  if (faults.errors.length === 0) checkJobs(jobs, stages, faults)
  const mergedYaml = wantsYaml ? dump(config) : null
  if (faults.errors.length > 0) return { ...failed(faults.errors, faults.warnings), merged_yaml: mergedYaml }
  return {
    errors: [],
    warnings: faults.warnings,
    merged_yaml: mergedYaml,
    stages,
    workflow,
    variables,
    jobs,
    reads: readsOf(jobs, workflow),
    includes: [],
  }
}

/** `.pre` and `.post` are always there, first and last. */
function readStages(root: Place, config: Config): string[] {
  const key = config.has('stages') ? 'stages' : 'types'
  const value = valueAt(config, key)
  const list = Array.isArray(value) ? flatten(value, (each) => typeof each === 'string') : null
  if (value !== undefined && !list) root.of(key).add('config should be an array of strings')
  const names = (list as string[] | null) ?? STAGES
  return ['.pre', ...new Set(names.filter((each) => each !== '.pre' && each !== '.post')), '.post']
}

function readWorkflow(root: Place, config: Config): CompiledWorkflow {
  const none = { name: null, rules: null, auto_cancel: NO_AUTO_CANCEL }
  const value = valueAt(config, 'workflow')
  if (value === undefined) return none
  const place = root.of('workflow')
  if (!isConfig(value)) {
    place.add('config should be a hash')
    return none
  }
  if (!isKnown(place, value, ['rules', 'name', 'auto_cancel'])) return none
  const name = textAt(place, value, 'name')
  if (name !== null && name.length > 255) place.of('name').add('config is too long (maximum is 255 characters)')
  return {
    name,
    rules: valueAt(value, 'rules') === undefined ? null : readRules(place, value.get('rules') ?? null, 'workflow'),
    auto_cancel: readAutoCancel(place.of('auto_cancel'), value.get('auto_cancel') ?? null),
  }
}

/** What jobs inherit: `default`, and its older form at the top. A wrong value is reported once, and not inherited. */
function readDefaults(root: Place, config: Config): Config {
  const value = config.get('default') ?? new Map()
  const place = root.of('default')
  const found: Config = new Map()
  if (!isConfig(value)) place.add('config should be a hash')
  else if (isKnown(place, value, DEFAULT_KEYS)) for (const [key, each] of value) found.set(key, each)
  for (const key of TOP_DEFAULTS) {
    const each = valueAt(config, key)
    if (each === undefined) continue
    if (valueAt(found, key) !== undefined) place.add(`config ${key} is defined in top-level and \`default:\` entry`)
    else found.set(key, each)
  }
  const readers: Record<string, (place: Place, value: Value) => unknown> = {
    image: readImage,
    services: readServices,
    before_script: commandsOf,
    after_script: commandsOf,
    cache: readCaches,
    artifacts: readArtifacts,
  }
  for (const [key, each] of found) {
    const before = root.count
    if (each !== null) readers[key]?.(config.has(key) ? root.of(key) : place.of(key), each)
    if (root.count > before) found.delete(key)
  }
  return found
}

function readsOf(jobs: CompiledJob[], workflow: CompiledWorkflow): Reads {
  const rules = [...(workflow.rules ?? []), ...jobs.flatMap((each) => each.rules ?? [])]
  const policies = jobs.flatMap((each) => [each.only, each.except])
  return {
    changes: rules.some((each) => each.changes) || policies.some((each) => each?.changes),
    compare_to: [...new Set(rules.flatMap((each) => each.changes?.compare_to ?? []))],
    exists: rules.some((each) => each.exists),
  }
}

/** As YAML 1.1, so that texts such as `on` are quoted. */
function dump(config: Config): string {
  const plain = (value: Value): unknown => {
    if (value instanceof Decimal) return Object.assign(new Scalar(value.value), { minFractionDigits: 1 })
    if (Array.isArray(value)) return value.map(plain)
    return isConfig(value) ? Object.assign(Object.create(null), Object.fromEntries([...value].map(([key, part]) => [key, plain(part)]))) : value
  }
  const document = new Document(plain(config), { version: '1.1', aliasDuplicateObjects: false })
  return `---\n${document.toString({ directives: false, lineWidth: 0 })}`
}
