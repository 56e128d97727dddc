import { MAX_JOB_NAME, MAX_START_IN, MAX_TAGS, MAX_TIMEOUT } from '../limits.js'
import { delimitedPattern } from '../regex.js'
import type { CompiledJob, JobRetry, When } from '../types.js'
import { type Config, isConfig, isStrings, type Value } from '../yaml/values.js'
import { readArtifacts, readCaches } from './artifacts.js'
import { readImage, readServices } from './containers.js'
import { readEnvironment, readRelease } from './deployments.js'
import { readNeeds } from './needs.js'
import { readParallel } from './parallel.js'
import { commandsOf, flatten, integersAt, isKnown, isSupported, listAt, type Place, periodOf, textAt, textsAt, valueAt } from './place.js'
import { readPolicy, readRules } from './rules.js'
import { readTrigger } from './triggers.js'
import { readVariables } from './variables.js'

const COMMON_KEYS = [
  'extends',
  'stage',
  'type',
  'only',
  'except',
  'rules',
  'variables',
  'inherit',
  'allow_failure',
  'when',
  'needs',
  'resource_group',
]
/** What `default` may have, and the top of a file for the first ones. */
export const DEFAULT_KEYS = ['image', 'services', 'before_script', 'after_script', 'cache', 'tags', 'artifacts', 'retry', 'timeout', 'interruptible']
const BUILD_KEYS = [...COMMON_KEYS, ...DEFAULT_KEYS, 'script', 'start_in', 'dependencies', 'environment', 'coverage', 'parallel', 'release']
const BRIDGE_KEYS = [...COMMON_KEYS, 'trigger', 'parallel', 'interruptible']
/** Keywords of later versions, which are not done here (CI-11). */
const NOT_DONE = ['secrets', 'id_tokens', 'identity', 'run', 'hooks', 'inputs', 'dast_configuration', 'pages', 'publish', 'manual_confirmation']
const WHENS: When[] = ['on_success', 'on_failure', 'always', 'manual', 'delayed']

/** What jobs inherit from the file. */
export interface Inherited {
  /** `default`, or the same keys at the top. */
  defaults: Config
  hasWorkflowRules: boolean
}

/** A job by name; null if it is wrong. */
export function readJob(place: Place, name: string, job: Config, inherited: Inherited): CompiledJob | null {
  const isBridge = !job.has('script') && job.has('trigger')
  const before = place.count
  if (name.trim() === '') place.add("name can't be blank")
  if (name.length > MAX_JOB_NAME) place.add(`name is too long (maximum is ${MAX_JOB_NAME} characters)`)
  if (!isSupported(place, job, NOT_DONE)) return null
  isKnown(place, job, isBridge ? BRIDGE_KEYS : BUILD_KEYS)
  const hasRules = valueAt(job, 'rules') !== undefined
  const against = ['only', 'except', 'start_in'].filter((key) => valueAt(job, key) !== undefined)
  if (hasRules && against.length > 0) place.add(`config key may not be used with \`rules\`: ${against.join(', ')}`)
  const when = readWhen(place, job, isBridge)
  const dependencies = listAt(place, job, 'dependencies')
  const resourceGroup = textAt(place, job, 'resource_group')
  const allowed = readAllowFailure(place, job)
  const startIn = readStartIn(place, job, when, hasRules)
  if (!isBridge && !hasCommands(job.get('script'))) place.add("script can't be blank")
  if (place.count > before) return null

  const inherit = readInherit(place, job)
  const defaults = inherit.defaults === true ? inherited.defaults : inherit.defaults === false ? null : pick(inherited.defaults, inherit.defaults)
  /** The value of the job, or the whole of the default. */
  const at = (key: string): Value | undefined => job.get(key) ?? (isBridge ? undefined : defaults?.get(key)) ?? undefined
  const read = <T>(key: string, reader: (place: Place, value: Value) => T): T | null => {
    const value = at(key)
    return value === undefined ? null : reader(place.of(key), value)
  }
  const needs = valueAt(job, 'needs') === undefined ? null : readNeeds(place, job.get('needs') ?? null)
  if (isBridge && needs && needs.external.length > 0) place.of('needs').add('config uses invalid types: cross_dependency')
  checkDependencies(
    place,
    dependencies,
    needs?.jobs.map((each) => each.job),
  )
  const rules = hasRules ? readRules(place, job.get('rules') ?? null, 'job') : null
  if (rules && !inherited.hasWorkflowRules) warnOfDoubles(place, rules)
  const only = read('only', readPolicy)
  const isLimited = rules !== null || only !== null || inherited.hasWorkflowRules
  const stage = valueAt(job, 'stage') ?? valueAt(job, 'type') ?? 'test'
  if (typeof stage !== 'string') place.of(job.has('stage') ? 'stage' : 'type').add('config should be a string')
  return {
    name,
    kind: isBridge ? 'bridge' : 'build',
    stage: String(stage),
    when,
    start_in: startIn,
    allow_failure: allowed.always ?? when === 'manual',
    allow_failure_exit_codes: allowed.codes,
    rules,
    // the default refs are gone where rules decide
    only: only
      ? { ...only, refs: only.refs ?? DEFAULT_REFS }
      : isLimited
        ? null
        : { refs: DEFAULT_REFS, variables: null, changes: null, kubernetes: false },
    except: read('except', readPolicy),
    needs: needs?.jobs ?? null,
    external_needs: (needs?.external ?? []).map(({ matrix: _, ...need }) => need),
    dependencies,
    inherit_variables: inherit.variables,
    variables: readVariables(place.of('variables'), job.get('variables')),
    tags: read('tags', readTags) ?? [],
    before_script: read('before_script', commandsOf) ?? [],
    script: read('script', commandsOf) ?? [],
    after_script: read('after_script', commandsOf) ?? [],
    image: read('image', readImage),
    services: read('services', readServices) ?? [],
    artifacts: read('artifacts', readArtifacts),
    cache: read('cache', readCaches) ?? [],
    environment: read('environment', readEnvironment),
    retry: read('retry', readRetry) ?? NO_RETRY,
    timeout: read('timeout', (own, value) => periodOf(own, value, MAX_TIMEOUT, 'config')),
    parallel: read('parallel', readParallel),
    coverage: read('coverage', readCoverage),
    resource_group: resourceGroup,
    interruptible: read('interruptible', readFlag) ?? false,
    release: read('release', readRelease),
    trigger: isBridge ? read('trigger', readTrigger) : null,
  }
}

const DEFAULT_REFS = ['branches', 'tags']
const hasCommands = (value: Value | undefined) =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
const pick = (config: Config, keys: string[]): Config => new Map([...config].filter(([key]) => keys.includes(key)))
const readFlag = (place: Place, value: Value) => (typeof value === 'boolean' ? value : place.add('config should be a boolean value'))

function readWhen(place: Place, job: Config, isBridge: boolean): When {
  const allowed = isBridge ? WHENS.filter((each) => each !== 'delayed') : WHENS
  const value = valueAt(job, 'when') ?? 'on_success'
  const found = allowed.find((each) => each === value)
  if (!found) place.add(`when should be one of: ${allowed.join(', ')}`)
  return found ?? 'on_success'
}

function readStartIn(place: Place, job: Config, when: When, hasRules: boolean): number | null {
  const value = valueAt(job, 'start_in')
  if (when === 'delayed' && !hasRules) return periodOf(place, value ?? null, MAX_START_IN, 'start in')
  if (value !== undefined && !hasRules) place.add('start in must be blank')
  return null
}

function readAllowFailure(place: Place, job: Config): { always: boolean | null; codes: number[] | null } {
  const value = valueAt(job, 'allow_failure')
  if (value === undefined || typeof value === 'boolean') return { always: value ?? null, codes: null }
  const own = place.of('allow_failure')
  if (!isConfig(value)) place.add('allow failure should be a hash or a boolean value')
  else if (isKnown(own, value, ['exit_codes'])) {
    if (!value.has('exit_codes')) own.add("exit codes can't be blank")
    const codes = integersAt(own, value, 'exit_codes')
    if (codes) return { always: false, codes }
  }
  return { always: null, codes: null }
}

/** `inherit`: what the job takes of the file. */
function readInherit(place: Place, job: Config): { defaults: boolean | string[]; variables: boolean | string[] } {
  const all = { defaults: true, variables: true }
  const value = valueAt(job, 'inherit')
  if (value === undefined) return all
  const own = place.of('inherit')
  if (!isConfig(value)) {
    own.add('config should be a hash')
    return all
  }
  if (!isKnown(own, value, ['default', 'variables'])) return all
  const choice = (key: string, known?: readonly string[]): boolean | string[] => {
    const chosen = valueAt(value, key)
    if (chosen === undefined || typeof chosen === 'boolean') return chosen ?? true
    if (!isStrings(chosen)) own.of(key).add('should be a bool or array of strings')
    else {
      const unknown = known ? chosen.filter((each) => !known.includes(each)) : []
      if (unknown.length === 0) return chosen
      own.of(key).add(`config contains unknown values: ${unknown.join(', ')}`)
    }
    return true
  }
  return { defaults: choice('default', DEFAULT_KEYS), variables: choice('variables') }
}

function checkDependencies(place: Place, dependencies: string[] | null, needed: string[] | undefined): void {
  if (!dependencies || dependencies.length === 0 || !needed || needed.length === 0) return
  const missing = dependencies.filter((each) => !needed.includes(each))
  if (missing.length > 0) place.add(`dependencies the ${missing.join(', ')} should be part of needs`)
}

/** A last rule that always holds makes two pipelines of one push to a branch with a merge request. */
function warnOfDoubles(place: Place, rules: NonNullable<CompiledJob['rules']>): void {
  const last = rules.at(-1)
  if (
    !last?.when ||
    last.when === 'never' ||
    last.if !== null ||
    last.changes ||
    last.exists ||
    last.allow_failure !== null ||
    last.variables.length > 0
  )
    return
  place.faults.warn(
    `${place.at} may allow multiple pipelines to run for a single action due to \`rules:when\` clause with no \`workflow:rules\` - read more: https://docs.gitlab.com/ee/ci/troubleshooting.html#pipeline-warnings`,
  )
}

function readTags(place: Place, value: Value): string[] | null {
  const tags = Array.isArray(value) ? flatten(value, (each) => typeof each === 'string') : null
  if (!tags) return place.add('config should be an array of strings')
  return tags.length > MAX_TAGS ? place.add(`config must be less than the limit of ${MAX_TAGS} tags`) : (tags as string[])
}

const NO_RETRY: JobRetry = { max: 0, when: [], exit_codes: [] }
const RETRY_REASONS = [
  ...['always', 'unknown_failure', 'script_failure', 'api_failure', 'stuck_or_timeout_failure', 'runner_system_failure'],
  ...['missing_dependency_failure', 'runner_unsupported', 'stale_schedule', 'job_execution_timeout', 'archived_failure'],
  ...['unmet_prerequisites', 'scheduler_failure', 'data_integrity_failure', 'forward_deployment_failure', 'user_blocked', 'project_deleted'],
  ...['ci_quota_exceeded', 'pipeline_loop_detected', 'no_matching_runner', 'trace_size_exceeded', 'builds_disabled', 'environment_creation_failure'],
  ...['deployment_rejected', 'failed_outdated_deployment_job', 'runner_interrupted', 'runner_provisioning_timeout'],
]

function readRetry(place: Place, value: Value): JobRetry | null {
  if (typeof value === 'number') return { ...NO_RETRY, max: maximumOf(place, value, 'config') }
  if (!isConfig(value)) return place.add('config has to be either an integer or a hash')
  if (!isKnown(place, value, ['max', 'when', 'exit_codes'])) return null
  const when = textsAt(place, value, 'when') ?? []
  const unknown = when.filter((each) => !RETRY_REASONS.includes(each))
  if (unknown.length > 0)
    place.add(typeof value.get('when') === 'string' ? 'when is not included in the list' : `when contains unknown values: ${unknown.join(', ')}`)
  const max = valueAt(value, 'max')
  return { max: max === undefined ? 0 : maximumOf(place, max, 'max'), when, exit_codes: integersAt(place, value, 'exit_codes') ?? [] }
}

function maximumOf(place: Place, value: Value, name: string): number {
  if (typeof value !== 'number') place.add(`${name} is not a number`)
  else if (value < 0) place.add(`${name} must be greater than or equal to 0`)
  else if (value > 2) place.add(`${name} must be less than or equal to 2`)
  else return value
  return 0
}

function readCoverage(place: Place, value: Value): string | null {
  if (typeof value !== 'string' || !delimitedPattern(value)) return place.add('config must be a regular expression with re2 syntax')
  const end = value.lastIndexOf('/')
  const flags = value.slice(end + 1)
  return `${flags === '' ? '' : `(?${flags})`}${value.slice(1, end)}`
}
