import { MAX_NESTING } from '../limits.js'
import type { ContainerImage, ContainerService } from '../types.js'
import { type Config, isConfig, type Value } from '../yaml/values.js'
import { flatten, isKnown, isSupported, listAt, mapAt, neededText, type Place, textAt, textsAt, valueAt } from './place.js'
import { readVariables } from './variables.js'

const IMAGE_KEYS = ['name', 'entrypoint', 'ports', 'pull_policy', 'docker']
const SERVICE_KEYS = [...IMAGE_KEYS, 'alias', 'command', 'variables']
const NOT_DONE = ['kubernetes']
const PULL_POLICIES = ['always', 'never', 'if-not-present']
const NO_CONTAINER = 'config should be a hash or a string'

export function readImage(place: Place, value: Value): ContainerImage | null {
  if (typeof value === 'string') return value === '' ? place.add("config can't be blank") : plainImage(value)
  if (!isConfig(value)) return place.add(NO_CONTAINER)
  if (!isSupported(place, value, NOT_DONE) || !isKnown(place, value, IMAGE_KEYS)) return null
  return readContainer(place, value)
}

/** `services`, which may be nested lists. */
export function readServices(place: Place, value: Value): ContainerService[] | null {
  const list = Array.isArray(value) ? flatten(value, () => true, MAX_NESTING) : null
  if (!list) return place.add('config should be an array')
  const own = place.of('service')
  return list.flatMap((each) => readService(own, each) ?? [])
}

function readService(place: Place, value: Value): ContainerService | null {
  if (typeof value === 'string') return { ...plainImage(value), alias: null, command: null, variables: [] }
  if (!isConfig(value)) return place.add(NO_CONTAINER)
  if (!isSupported(place, value, NOT_DONE) || !isKnown(place, value, SERVICE_KEYS)) return null
  const container = readContainer(place, value)
  if (!container) return null
  return {
    ...container,
    alias: textAt(place, value, 'alias'),
    command: listAt(place, value, 'command'),
    variables: readVariables(place.of('variables'), value.get('variables')),
  }
}

const plainImage = (name: string): ContainerImage => ({ name, entrypoint: null, ports: [], pull_policy: [], docker: null })

function readContainer(place: Place, value: Config): ContainerImage | null {
  const name = neededText(place, value, 'name')
  if (name === null) return null
  return {
    name,
    entrypoint: listAt(place, value, 'entrypoint'),
    ports: readPorts(place, value),
    pull_policy: readPullPolicy(place, value),
    docker: readDocker(place, value),
  }
}

function readPorts(place: Place, value: Config): number[] {
  const ports = valueAt(value, 'ports') ?? []
  const numbers = (Array.isArray(ports) ? ports : [ports]).map((each) => (isConfig(each) ? each.get('number') : each))
  if (numbers.every((each) => typeof each === 'number' && each > 0 && each < 65_536)) return numbers as number[]
  place.of('ports').add('config should be an array of port numbers')
  return []
}

function readPullPolicy(place: Place, value: Config): string[] {
  const policies = textsAt(place.of('pull_policy'), value, 'pull_policy') ?? []
  if (policies.length === 0 && Array.isArray(value.get('pull_policy'))) place.of('pull_policy').add("config can't be blank")
  const unknown = policies.filter((each) => !PULL_POLICIES.includes(each))
  if (unknown.length > 0) place.of('pull_policy').add(`config unknown value: ${unknown.join(', ')}`)
  return policies
}

function readDocker(place: Place, value: Config): ContainerImage['docker'] {
  const docker = mapAt(place, value, 'docker')
  const own = place.of('executor_opts:docker')
  if (!docker || !isKnown(own, docker, ['platform', 'user'])) return null
  const user = textAt(own, docker, 'user')
  if (user !== null && !/^[a-z0-9_.-]+(:[a-z0-9_.-]+)?$/i.test(user)) own.add('user invalid format')
  return { platform: textAt(own, docker, 'platform'), user }
}
