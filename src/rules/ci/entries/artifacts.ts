import { MAX_CACHES, MAX_KEY_FILES } from '../limits.js'
import { parsePeriod } from '../periods.js'
import type { JobArtifacts, JobCache } from '../types.js'
import { type Config, isConfig, type Value } from '../yaml/values.js'
import { flagAt, isKnown, isSupported, listAt, mapAt, neededText, oneOf, type Place, textAt, textsAt, valueAt } from './place.js'

const KEYS = ['name', 'untracked', 'paths', 'exclude', 'when', 'expire_in', 'expose_as', 'reports', 'public', 'access']
const WHENS = ['on_success', 'on_failure', 'always'] as const
const WHEN_FAULT = 'should be one of: on_success, on_failure, always'
const ACCESS = ['none', 'developer', 'maintainer', 'all'] as const

/** Reports that are read, or kept for others to read (CI-250). */
const REPORTS = ['junit', 'dotenv', 'codequality', 'cobertura', 'coverage_report']
/** Those of the original that are not done: a job that has one is refused, so that none is ignored. */
const OTHER_REPORTS = [
  ...['sast', 'secret_detection', 'dependency_scanning', 'container_scanning', 'cluster_image_scanning', 'dast', 'api_fuzzing', 'coverage_fuzzing'],
  ...['performance', 'browser_performance', 'load_performance', 'license_scanning', 'license_management', 'metrics', 'lsif', 'terraform'],
  ...['accessibility', 'requirements', 'requirements_v2', 'cyclonedx', 'annotations', 'repository_xray'],
]

export function readArtifacts(place: Place, value: Value): JobArtifacts | null {
  if (!isConfig(value)) return place.add('config should be a hash')
  if (!isKnown(place, value, KEYS)) return null
  const expires = textAt(place, value, 'expire_in')
  const seconds = expires === null || expires === 'never' ? null : parsePeriod(expires)
  if (expires !== null && expires !== 'never' && seconds === null) place.add('expire in should be a duration')
  const exposeAs = textAt(place, value, 'expose_as')
  const paths = listAt(place, value, 'paths')
  if (exposeAs !== null) checkExposed(place, exposeAs, paths)
  if (value.has('public') && value.has('access')) place.add('config these keys cannot be used together: public, access')
  const isPublic = flagAt(place, value, 'public')
  return {
    name: textAt(place, value, 'name'),
    paths: paths ?? [],
    exclude: listAt(place, value, 'exclude') ?? [],
    untracked: flagAt(place, value, 'untracked') ?? false,
    when: oneOf(place, value, 'when', WHENS, WHEN_FAULT) ?? 'on_success',
    expire_in: expires,
    expire_in_seconds: seconds,
    expose_as: exposeAs,
    access:
      oneOf(place, value, 'access', ACCESS, "should be 'none', 'developer', 'maintainer' or 'all'") ?? (isPublic === false ? 'developer' : 'all'),
    reports: readReports(place, value),
  }
}

function checkExposed(place: Place, name: string, paths: string[] | null): void {
  if (name.length > 100) place.add('expose as is too long (maximum is 100 characters)')
  if (!/^\w[-\w ]*$/.test(name)) place.add("expose as can contain only letters, digits, '-', '_' and spaces")
  if (!paths) place.add("paths can't be blank")
  if (paths?.some((each) => each.includes('*'))) place.add("paths can't contain '*' when used with 'expose_as'")
}

function readReports(place: Place, value: Config): JobArtifacts['reports'] {
  const reports = mapAt(place, value, 'reports')
  const own = place.of('reports')
  if (!reports || !isSupported(own, reports, OTHER_REPORTS) || !isKnown(own, reports, REPORTS)) return []
  return [...reports.keys()].flatMap((type) => {
    if (type === 'coverage_report') return readCoverageReport(own, reports)
    const paths = textsAt(own, reports, type)
    return paths ? { type, paths } : []
  })
}

const FORMATS = ['cobertura', 'jacoco'] as const

function readCoverageReport(place: Place, reports: Config): JobArtifacts['reports'] {
  const report = mapAt(place, reports, 'coverage_report')
  const own = place.of('coverage_report')
  if (!report || !isKnown(own, report, ['coverage_format', 'path'])) return []
  const path = neededText(own, report, 'path')
  if (!report.has('coverage_format')) own.add("coverage format can't be blank")
  const format = oneOf(own, report, 'coverage_format', FORMATS, 'must be one of supported formats: cobertura, jacoco')
  if (format === 'jacoco') own.add('`jacoco` is not supported by this server')
  return path !== null && format !== null ? [{ type: format, paths: [path] }] : []
}

const CACHE_KEYS = ['key', 'fallback_keys', 'paths', 'untracked', 'policy', 'when', 'unprotect']
const POLICIES = ['pull-push', 'push', 'pull']

/** One cache or a list of them. */
export function readCaches(place: Place, value: Value): JobCache[] | null {
  const list = Array.isArray(value) ? value : [value]
  if (list.length > MAX_CACHES) return place.of('caches').add(`config no more than ${MAX_CACHES} caches can be created`)
  return list.flatMap((each) => readCache(place, each) ?? [])
}

function readCache(place: Place, value: Value): JobCache | null {
  if (!isConfig(value)) return place.add('config should be a hash')
  if (!isKnown(place, value, CACHE_KEYS)) return null
  const policy = textAt(place, value, 'policy') ?? 'pull-push'
  if (!POLICIES.includes(policy) && !policy.includes('$')) place.add('policy should be a variable or one of: pull-push, push, pull')
  const fallback = listAt(place.of('fallback_keys'), value, 'fallback_keys') ?? []
  if (fallback.length > 5) place.of('fallback_keys').add('config has too many entries (maximum 5)')
  for (const each of fallback) checkKey(place.of('fallback_keys'), each)
  return {
    key: readKey(place.of('key'), value),
    fallback_keys: fallback,
    paths: listAt(place, value, 'paths') ?? [],
    untracked: flagAt(place, value, 'untracked') ?? false,
    policy,
    when: oneOf(place, value, 'when', WHENS, WHEN_FAULT) ?? 'on_success',
    unprotect: flagAt(place, value, 'unprotect') ?? false,
  }
}

function readKey(place: Place, cache: Config): JobCache['key'] {
  const value = valueAt(cache, 'key')
  if (value === undefined) return 'default'
  if (typeof value === 'string') {
    checkKey(place, value)
    return value
  }
  if (!isConfig(value)) {
    place.add('should be a hash, a string or a symbol')
    return 'default'
  }
  if (!isSupported(place, value, ['files_commits']) || !isKnown(place, value, ['files', 'prefix'])) return 'default'
  const files = listAt(place.of('files'), value, 'files') ?? []
  if (!value.has('files')) place.add('config missing required keys: files')
  else if (files.length === 0 || files.length > MAX_KEY_FILES)
    place.of('files').add(`config requires at least 1 item and at most ${MAX_KEY_FILES} items`)
  const prefix = textAt(place.of('prefix'), value, 'prefix')
  if (prefix !== null) checkKey(place.of('prefix'), prefix)
  return { files, prefix }
}

/** A key is the name of a folder where the runner keeps the cache. */
function checkKey(place: Place, key: string): void {
  const name = key.replaceAll(/%2f/gi, '/').replaceAll(/%2e/gi, '.')
  if (name.includes('/')) place.add('config cannot contain the "/" character')
  else if (/^\.+$/.test(name)) place.add('config cannot be "." or ".."')
}
