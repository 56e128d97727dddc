import { checkRefName } from '../../../lib/ref-name.js'
import { parsePeriod } from '../periods.js'
import type { JobEnvironment, JobRelease } from '../types.js'
import { type Config, isConfig, type Value } from '../yaml/values.js'
import { isKnown, isSupported, mapAt, neededText, oneOf, type Place, textAt, textsAt, valueAt } from './place.js'

const KEYS = ['name', 'url', 'action', 'on_stop', 'auto_stop_in', 'deployment_tier']
const ACTIONS = ['start', 'stop', 'prepare', 'verify', 'access'] as const
const TIERS = ['production', 'staging', 'testing', 'development', 'other'] as const
const NAME = /^[a-zA-Z0-9_\-${}. ](?:[a-zA-Z0-9_\-/${}. ]*[a-zA-Z0-9_\-${}. ])?$/
const NAME_FAULT = "name can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'"

export function readEnvironment(place: Place, value: Value): JobEnvironment | null {
  const plain = { url: null, on_stop: null, action: 'start', auto_stop_in: null, deployment_tier: null } as const
  if (typeof value === 'string') return NAME.test(value) ? { name: value, ...plain } : place.add(NAME_FAULT)
  if (!isConfig(value)) return place.add('config should be a hash or a string')
  if (!isSupported(place, value, ['kubernetes']) || !isKnown(place, value, KEYS)) return null
  const name = neededText(place, value, 'name')
  if (name === null) return null
  if (!NAME.test(name)) return place.add(NAME_FAULT)
  const url = textAt(place, value, 'url')
  if (url !== null && url.length > 255) place.add('url is too long (maximum is 255 characters)')
  const stop = textAt(place, value, 'auto_stop_in')
  if (stop !== null && !stop.includes('$') && stop !== 'never' && parsePeriod(stop) === null) place.add('auto stop in should be a duration')
  return {
    name,
    url,
    on_stop: textAt(place, value, 'on_stop'),
    action: oneOf(place, value, 'action', ACTIONS, 'should be start, stop, prepare, verify, or access') ?? 'start',
    auto_stop_in: stop,
    deployment_tier: oneOf(place, value, 'deployment_tier', TIERS, `must be one of ${TIERS.join(', ')}`),
  }
}

const RELEASE_KEYS = ['tag_name', 'tag_message', 'name', 'description', 'ref', 'milestones', 'released_at', 'assets']
const LINK_TYPES = ['other', 'runbook', 'image', 'package'] as const
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/

export function readRelease(place: Place, value: Value): JobRelease | null {
  if (!isConfig(value)) return place.add('config should be a hash')
  if (!isKnown(place, value, RELEASE_KEYS)) return null
  const tag = neededText(place, value, 'tag_name')
  const description = neededText(place, value, 'description')
  const ref = textAt(place, value, 'ref')
  if (ref !== null && !ref.includes('$') && !checkRefName(`refs/heads/${ref}`)) place.add('ref must be a valid ref')
  const releasedAt = textAt(place, value, 'released_at')
  if (releasedAt !== null && !releasedAt.includes('$') && !(INSTANT.test(releasedAt) && !Number.isNaN(Date.parse(releasedAt))))
    place.add('released at must be a valid datetime')
  if (tag === null || description === null) return null
  return {
    tag_name: tag,
    tag_message: textAt(place, value, 'tag_message'),
    name: textAt(place, value, 'name'),
    description,
    ref,
    milestones: textsAt(place, value, 'milestones') ?? [],
    released_at: releasedAt,
    assets: readAssets(place, value),
  }
}

function readAssets(place: Place, release: Config): JobRelease['assets'] {
  const assets = mapAt(place, release, 'assets')
  const own = place.of('assets')
  if (!assets || !isKnown(own, assets, ['links'])) return []
  const links = valueAt(assets, 'links')
  if (!Array.isArray(links) || !links.every(isConfig)) {
    own.of('links').add('config should be an array of hashes')
    return []
  }
  return links.flatMap((link) => {
    const at = own.of('links').of('link')
    if (!isKnown(at, link, ['name', 'url', 'filepath', 'link_type'])) return []
    const [name, url] = [neededText(at, link, 'name'), neededText(at, link, 'url')]
    if (name === null || url === null) return []
    return { name, url, link_type: oneOf(at, link, 'link_type', LINK_TYPES), filepath: textAt(at, link, 'filepath') }
  })
}
