import { circleOf } from './check-jobs.js'
import { Conditions } from './conditions.js'
import { isInScope } from './environment-scope.js'
import { expandEach, expandVariables, valuesOf } from './expand-variables.js'
import { NO_COMPARE_TO } from './includes/failures.js'
import { countOf, type Instance, instancesOf, isAmong, selectionFor, variablesOf } from './instances.js'
import { MAX_ERRORS, MAX_JOBS, MAX_NEEDS } from './limits.js'
import { areSatisfied } from './policies.js'
import type {
  CompiledConfig,
  CompiledJob,
  CompiledNeed,
  CompiledRule,
  Matrix,
  PipelineContext,
  Plan,
  PlannedJob,
  PlannedNeed,
  Variable,
} from './types.js'
import { ConfigFault } from './yaml/values.js'

const EDGES = new Set(['.pre', '.post'])
const EMPTY = 'No stages / jobs for this pipeline.'

/** A job that this pipeline gets, with the rule that lets it in. */
interface Chosen {
  job: CompiledJob
  rule: CompiledRule | null
  when: PlannedJob['when']
}

/** What has changed since a ref is not known yet. */
class UnknownChanges extends Error {
  constructor(readonly ref: string) {
    super()
  }
}

/** Which jobs a pipeline has, and what each of them is (CI-30). */
export function plan(compiled: CompiledConfig, context: PipelineContext): Plan {
  return new Planning(compiled, context).result()
}

class Planning {
  readonly #conditions: Conditions
  readonly #errors: string[] = []
  readonly #compares = new Set<string>()
  #workflowVariables: Variable[] = []

  constructor(
    private readonly compiled: CompiledConfig,
    private readonly context: PipelineContext,
  ) {
    this.#conditions = new Conditions({
      changedPaths: (compareTo) => {
        if (compareTo === null) return context.changed_paths
        const known = context.changed_paths_since ?? {}
        const paths = Object.hasOwn(known, compareTo) ? known[compareTo] : undefined
        if (paths === undefined) throw new UnknownChanges(compareTo)
        if (paths === false) throw new ConfigFault(NO_COMPARE_TO)
        return paths
      },
      tree: () => context.tree,
    })
  }

  result(): Plan {
    const { compiled } = this
    const { workflow } = compiled
    const nothing = {
      warnings: compiled.warnings,
      is_filtered: false,
      is_empty: false,
      name: null,
      auto_cancel: workflow.auto_cancel,
      stages: [],
      jobs: [],
      compares: [],
    }
    if (compiled.errors.length > 0) return { ...nothing, errors: compiled.errors }
    const rule = this.#guarded('workflow', () => workflow.rules && this.#conditions.firstOf(workflow.rules, this.#variablesFor(null)))
    const unknown = () => ({ ...nothing, errors: [], compares: [...this.#compares] })
    if (this.#compares.size > 0) return unknown()
    if (this.#errors.length > 0) return { ...nothing, errors: this.#errors }
    if (workflow.rules && (!rule || rule.when === 'never'))
      return { ...nothing, errors: ['Pipeline filtered out by workflow rules.'], is_filtered: true }
    this.#workflowVariables = rule?.variables ?? []
    const chosen = compiled.jobs.flatMap((job) => this.#guarded(job.name, () => this.#choose(job)) ?? [])
    if (this.#compares.size > 0) return unknown()
    if (this.#errors.length > 0) return { ...nothing, errors: this.#errors }
    if (chosen.every(({ job }) => EDGES.has(job.stage))) return { ...nothing, errors: [EMPTY], is_empty: true }
    if (chosen.reduce((sum, { job }) => sum + countOf(job.parallel), 0) > MAX_JOBS)
      return {
        ...nothing,
        errors: [`The number of jobs has exceeded the limit of ${MAX_JOBS}. Try splitting the configuration with parent-child-pipelines`],
      }
    const jobs = this.#planAll(chosen)
    const circle = circleOf(new Map(jobs.map((job) => [job.name, (job.needs ?? []).map((each) => each.job)])))
    if (circle) this.#errors.push(`The pipeline has circular dependencies: ${circle.slice(0, 10).join(', ')}`)
    const base = { ...nothing, auto_cancel: rule?.auto_cancel ?? workflow.auto_cancel }
    if (this.#errors.length > 0) return { ...base, errors: this.#errors.slice(0, MAX_ERRORS) }
    const name = workflow.name === null ? null : expandVariables(workflow.name, this.#variablesFor(null)).slice(0, 255)
    return { ...base, errors: [], name, stages: this.#stagesOf(jobs), jobs }
  }

  #guarded<T>(name: string, work: () => T): T | null {
    try {
      return work()
    } catch (error) {
      if (error instanceof UnknownChanges) {
        this.#compares.add(error.ref)
        return null
      }
      if (!(error instanceof ConfigFault)) throw error
      this.#errors.push(`Failed to parse rule for ${name}: ${error.message}`)
      return null
    }
  }

  /** All variables that conditions of a job see, expanded: predefined ones, those of the file, and those above them. */
  #variablesFor(job: CompiledJob | null): Variable[] {
    const { predefined, overriding } = this.context
    const environment = job?.environment?.name ?? null
    const all = [
      ...predefined,
      ...(job
        ? [
            { key: 'CI_JOB_NAME', value: job.name },
            { key: 'CI_JOB_STAGE', value: job.stage },
          ]
        : []),
      ...this.#globalFor(job),
      ...(job?.variables ?? []),
    ]
    const name = environment === null ? null : expandVariables(environment, [...all, ...overriding.filter((each) => isInScope(each, null))])
    return expandEach([...all, ...overriding.filter((each) => isInScope(each, name))])
  }

  /** Variables of the whole file that a job takes. */
  #globalFor(job: CompiledJob | null): Variable[] {
    const inherits = job?.inherit_variables ?? true
    if (inherits === false) return []
    const all = [...this.compiled.variables.map(({ key, value, raw }) => ({ key, value, ...(raw && { raw }) })), ...this.#workflowVariables]
    return inherits === true ? all : all.filter((each) => inherits.includes(each.key))
  }

  #choose(job: CompiledJob): Chosen | null {
    const variables = this.#variablesFor(job)
    const rule = job.rules ? this.#conditions.firstOf(job.rules, variables) : null
    if (job.rules ? !rule : !areSatisfied(job, this.context, this.#conditions, variables)) return null
    const when = rule?.when ?? job.when
    return when === 'never' ? null : { job, rule, when }
  }

  #planAll(chosen: readonly Chosen[]): PlannedJob[] {
    const instances = new Map(chosen.map(({ job }) => [job.name, instancesOf(job)]))
    const names = new Map([...instances.values()].flat().map((each) => [each.name, each]))
    const levels = new Map(this.compiled.stages.map((stage, at) => [stage, at]))
    const inOrder = chosen.toSorted((a, b) => (levels.get(a.job.stage) ?? 0) - (levels.get(b.job.stage) ?? 0))
    const stages = [...new Set(inOrder.map(({ job }) => job.stage))]
    return inOrder.flatMap((each) => {
      const dependencies = each.job.dependencies?.flatMap((name) => namesOf(name, null, instances, names)) ?? null
      const index = stages.indexOf(each.job.stage)
      const own = instances.get(each.job.name) ?? []
      const needs = this.#needsOf(each, own, instances, names)
      return own.map((instance, at) => this.#planOne(each, instance, index, (needs && (needs[at] ?? needs[0])) ?? null, dependencies))
    })
  }

  /** The needs of each instance, or of all in one list; null if the job has none. */
  #needsOf({ job, rule }: Chosen, own: Instance[], instances: Map<string, Instance[]>, names: Map<string, Instance>): PlannedNeed[][] | null {
    const needs: CompiledNeed[] | null = rule?.needs ?? job.needs
    if (!needs) return null
    if (needs.length > MAX_NEEDS)
      this.#errors.push(
        `${job.name}: one job can only need ${MAX_NEEDS} others, but you have listed ${needs.length}. See needs keyword documentation for more details`,
      )
    const differ = needs.some((need) => JSON.stringify(need.matrix).includes('$[['))
    return (differ ? own : own.slice(0, 1)).map((instance) => {
      const planned = needs.flatMap((need) => {
        const matrix = need.matrix && selectionFor(instance, need.matrix)
        const found = need.matrix && !matrix ? [] : namesOf(need.job, matrix, instances, names)
        if (found.length === 0 && !need.optional) this.#errors.push(missingNeed(job.name, need.job))
        return found.map((name): PlannedNeed => ({ job: name, artifacts: need.artifacts }))
      })
      return [...new Map(planned.map((each) => [each.job, each])).values()]
    })
  }

  #planOne(
    { job, rule, when }: Chosen,
    instance: Instance,
    stageIndex: number,
    needs: PlannedJob['needs'],
    dependencies: string[] | null,
  ): PlannedJob {
    const { rules: _, only, except, inherit_variables, parallel, ...rest } = job
    const matrix = Object.entries(instance.matrix ?? {}).map(([key, value]) => ({ key, value }))
    const variables = [...valuesOf([...this.#globalFor(job), ...job.variables, ...matrix, ...(rule?.variables ?? [])]).values()]
    const seen = () => {
      const known = expandEach([...this.#variablesFor({ ...job, variables }), { key: 'CI_JOB_NAME', value: instance.name }, ...variablesOf(instance)])
      return valuesOf(known)
    }
    const expand = lazily(seen)
    return {
      ...rest,
      name: instance.name,
      group_name: job.name,
      stage_index: stageIndex,
      when,
      start_in: when === 'delayed' ? (rule?.start_in ?? job.start_in) : null,
      allow_failure: rule?.allow_failure ?? job.allow_failure,
      allow_failure_exit_codes: rule?.allow_failure === null || !rule ? job.allow_failure_exit_codes : null,
      needs,
      dependencies: dependencies ?? needs?.filter((each) => each.artifacts).map((each) => each.job) ?? null,
      variables,
      tags: [...new Set(job.tags.map(expand).filter((each) => each !== ''))],
      environment: job.environment && { ...job.environment, name: expand(job.environment.name) },
      resource_group: job.resource_group === null ? null : expand(job.resource_group),
      interruptible: rule?.interruptible ?? job.interruptible,
      parallel: instance.parallel,
      matrix: instance.matrix,
    }
  }

  #stagesOf(jobs: readonly PlannedJob[]): string[] {
    return [...new Set(jobs.map((each) => each.stage))]
  }
}

const missingNeed = (job: string, need: string) =>
  `'${job}' job needs '${need}' job, but '${need}' does not exist in the pipeline. This might be because of the only, except, or rules keywords. To need a job that sometimes does not exist in the pipeline, use needs:optional.`

/** Expands texts, most of which have nothing to expand. */
function lazily(values: () => Map<string, Variable>): (text: string) => string {
  let known: Map<string, Variable> | undefined
  return (text) => {
    if (!text.includes('$') && !text.includes('%')) return text
    known ??= values()
    return expandVariables(text, known)
  }
}

/** The planned jobs that a name means: all that `parallel` makes of it, or one of them by its own name. */
function namesOf(name: string, matrix: Matrix[] | null, instances: Map<string, Instance[]>, names: Map<string, Instance>): string[] {
  const group = instances.get(name)
  if (group) return group.filter((each) => !matrix || isAmong(each.matrix, matrix)).map((each) => each.name)
  return names.has(name) ? [name] : []
}
