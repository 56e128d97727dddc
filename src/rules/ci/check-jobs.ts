import type { Faults } from './entries/place.js'
import { instancesOf } from './instances.js'
import type { CompiledJob } from './types.js'

/** What jobs say about each other and about stages (CI-12). */
export function checkJobs(jobs: readonly CompiledJob[], stages: readonly string[], faults: Faults): void {
  const byName = new Map(jobs.map((job) => [job.name, job]))
  let instances: Map<string, CompiledJob> | undefined
  /** A job by its name, or by that of one that `parallel` makes of it. */
  const find = (name: string): CompiledJob | undefined => {
    const found = byName.get(name)
    if (found) return found
    instances ??= new Map(jobs.flatMap((job) => (job.parallel === null ? [] : instancesOf(job).map((each) => [each.name, job] as const))))
    return instances.get(name)
  }
  const levels = new Map(stages.map((stage, at) => [stage, at]))
  const isLater = (other: CompiledJob, job: CompiledJob) => (levels.get(other.stage) ?? 0) > (levels.get(job.stage) ?? 0)

  for (const job of jobs) {
    if (!levels.has(job.stage)) {
      faults.add(`${job.name} job: chosen stage ${job.stage} does not exist; available stages are ${stages.join(', ')}`)
      continue
    }
    for (const name of job.dependencies ?? []) {
      const other = find(name)
      if (!other) faults.add(`${job.name} job: undefined dependency: ${name}`)
      else if (isLater(other, job)) faults.add(`${job.name} job: dependency ${name} is not defined in current or prior stages`)
    }
    for (const needs of [job.needs ?? [], ...(job.rules ?? []).map((rule) => rule.needs ?? [])]) {
      for (const { job: name, optional } of needs) {
        const other = find(name)
        if (!other && !optional) faults.add(`${job.name} job: undefined need: ${name}`)
        else if (other && isLater(other, job)) faults.add(`${job.name} job: need ${name} is not defined in current or prior stages`)
      }
      const plain = needs.filter((each) => each.matrix === null).map((each) => each.job)
      const doubled = plain.filter((name, at) => plain.indexOf(name) !== at)
      if (doubled.length > 0) faults.add(`${job.name} has the following needs duplicated: ${[...new Set(doubled)].join(', ')}.`)
    }
    checkOnStop(job, byName, faults)
  }
  if (faults.errors.length === 0) checkCycles(jobs, faults)
}

function checkOnStop({ name, environment }: CompiledJob, byName: Map<string, CompiledJob>, faults: Faults): void {
  if (!environment || environment.on_stop === null) return
  const stop = environment.on_stop
  const other = byName.get(stop)
  const fault = (text: string) => faults.add(`${name} job: on_stop job ${stop} ${text}`)
  if (!other) fault('is not defined')
  else if (!other.environment) fault('does not have environment defined')
  else if (other.environment.name !== environment.name) fault('have different environment name')
  else if (other.environment.action !== 'stop') fault('needs to have action stop defined')
}

function checkCycles(jobs: readonly CompiledJob[], faults: Faults): void {
  const circle = circleOf(new Map(jobs.map((job) => [job.name, (job.needs ?? []).map((each) => each.job)])))
  if (circle) faults.add(`The pipeline has circular dependencies: topological sort failed: ${JSON.stringify(circle).replaceAll(',', ', ')}`)
}

/** Names that need each other; null if there are none. */
export function circleOf(needs: ReadonlyMap<string, readonly string[]>): string[] | null {
  const left = new Map([...needs].map(([name, others]) => [name, others.filter((each) => needs.has(each)).length]))
  const neededBy = new Map<string, string[]>()
  for (const [name, others] of needs) for (const each of others) pushTo(neededBy, each, name)
  const free = [...left].filter(([, count]) => count === 0).map(([name]) => name)
  for (const name of free) {
    left.delete(name)
    for (const each of neededBy.get(name) ?? []) {
      const count = (left.get(each) ?? 0) - 1
      left.set(each, count)
      if (count === 0) free.push(each)
    }
  }
  return left.size > 0 ? [...left.keys()] : null
}

function pushTo(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
