// The values of the pure language of `.gitlab-ci.yml` (CI-1). Everything here is plain JSON, so that it can be stored,
// and sent between threads. Names are in snake_case, as data is.

/** Why a pipeline is made: `CI_PIPELINE_SOURCE`. */
export type PipelineSource =
  | 'push'
  | 'web'
  | 'trigger'
  | 'schedule'
  | 'api'
  | 'external'
  | 'pipeline'
  | 'parent_pipeline'
  | 'merge_request_event'
  | 'external_pull_request_event'
  | 'webide'
  | 'chat'

/** A variable with a value. `raw`: references in its value are not expanded (`expand: false`). */
export interface Variable {
  key: string
  value: string
  raw?: boolean
  /** The value is the content of a file, and the variable its path: it is not expanded in others. */
  file?: boolean
  /** Logs do not show its value. */
  masked?: boolean
}

/** A variable of a project, group or instance, which counts for jobs of some environments only. */
export interface ScopedVariable extends Variable {
  /** `*`, a name, or a pattern with `*`; absent: all jobs. Of several that match the last wins. */
  environment_scope?: string
}

// ---------------------------------------------------------------- includes

/** Where a file stands: what `local` in it means. Null: the project and commit that the pipeline is for. */
export interface Origin {
  project: string
  ref: string | null
}

/** What the caller is asked for: one file, or the list of files that a pattern or `exists` is about. */
export type IncludeRequest =
  | { kind: 'local'; path: string; from: Origin | null }
  | { kind: 'project'; project: string; ref: string | null; path: string; from: Origin | null }
  | { kind: 'remote'; url: string; from: Origin | null }
  | { kind: 'template'; name: string; from: Origin | null }
  /** All paths of files of a tree; the text of the answer has one a line. */
  | { kind: 'list'; from: Origin | null }
  /** The paths that the pipeline is about, one a line, for `changes`; since the merge base with a ref if there is one. */
  | { kind: 'changes'; compare_to: string | null; from: null }

/**
 * `origin`: where the text stands, if it is in another project. A failure is a whole sentence (`includes/failures.ts`).
 * `incomparable`: there is nothing to compare with, and `changes` holds.
 */
export type IncludeAnswer = { text: string; origin?: Origin | null } | { failure: string } | { incomparable: true }

/** Answers all requests of a round, in their order. What a caller may not read is a failure. */
export type IncludeResolver = (requests: IncludeRequest[]) => Promise<IncludeAnswer[]>

// ----------------------------------------------------------------- compile

export interface CompileContext {
  /** Variables for paths of includes, their rules, and later all else: those that are known before there is a pipeline. */
  variables: Variable[]
  /** Values for `spec: inputs` of the file itself, of a pipeline that was triggered with `inputs`. */
  inputs?: Record<string, InputValue>
  /** Where the file stands, if not in the project of the pipeline. */
  origin?: Origin | null
  /** What the answer should have beside the jobs: `merged_yaml` costs time. */
  wants_merged_yaml?: boolean
}

export type InputValue = string | number | boolean | InputValue[] | { [key: string]: InputValue }

/** A configuration that was read; it is valid if it has no errors. Without errors it always has a job. */
export interface CompiledConfig {
  /** Texts of the original, such as `jobs:x config contains unknown keys: y`. */
  errors: string[]
  warnings: string[]
  /** The configuration with its includes, `extends` and references replaced; null if that fails, or it is not wanted. */
  merged_yaml: string | null
  /** In order, with `.pre` first and `.post` last. */
  stages: string[]
  workflow: CompiledWorkflow
  /** Variables of the whole file: what a form for a new pipeline shows. */
  variables: GlobalVariable[]
  jobs: CompiledJob[]
  /** What `plan` will ask for: the caller may leave out the rest. */
  reads: Reads
  /** The files that were included, once each. */
  includes: IncludeRequest[]
}

export interface Reads {
  changes: boolean
  /** Refs of `changes: compare_to`, with variables unexpanded. */
  compare_to: string[]
  exists: boolean
}

export interface GlobalVariable extends Variable {
  description: string | null
  options: string[] | null
}

export interface CompiledWorkflow {
  name: string | null
  /** Null: there are none, and every pipeline is made. */
  rules: CompiledRule[] | null
  auto_cancel: AutoCancel
}

export interface AutoCancel {
  on_new_commit: 'conservative' | 'interruptible' | 'none' | null
  on_job_failure: 'all' | 'none' | null
}

export interface CompiledRule {
  if: string | null
  changes: { paths: string[]; compare_to: string | null } | null
  exists: string[] | null
  when: When | null
  start_in: number | null
  allow_failure: boolean | null
  variables: Variable[]
  needs: CompiledNeed[] | null
  interruptible: boolean | null
  auto_cancel: AutoCancel | null
}

/** `only` or `except`. */
export interface CompiledPolicy {
  refs: string[] | null
  variables: string[] | null
  changes: string[] | null
  /** `kubernetes: active`: there are no clusters, so it never holds. */
  kubernetes: boolean
}

export type When = 'on_success' | 'on_failure' | 'always' | 'manual' | 'delayed' | 'never'

/** A job of the file, before its rules decide and `parallel` multiplies it. */
export interface CompiledJob extends Omit<PlannedJob, 'group_name' | 'needs' | 'dependencies' | 'when' | 'stage_index' | 'parallel' | 'matrix'> {
  when: When
  rules: CompiledRule[] | null
  only: CompiledPolicy | null
  except: CompiledPolicy | null
  needs: CompiledNeed[] | null
  /** Names of jobs, as written. */
  dependencies: string[] | null
  parallel: number | Matrix[] | null
  /** Global variables that the job does not take. `true`: it takes all. */
  inherit_variables: boolean | string[]
}

/** Values by variable; one job for each combination. */
export type Matrix = Record<string, string[]>

export interface CompiledNeed {
  /** Name of a job of this pipeline, or of the other one. */
  job: string
  artifacts: boolean
  optional: boolean
  /** Only these of the jobs that `parallel: matrix` makes. */
  matrix: Matrix[] | null
  /** Artifacts of the latest successful pipeline of a ref; `project` may have variables, which are unexpanded. */
  project: string | null
  ref: string | null
  /** Id of the parent pipeline, with variables unexpanded. */
  pipeline: string | null
}

// -------------------------------------------------------------------- plan

/** A pipeline that could be made. */
export interface PipelineContext {
  source: PipelineSource
  /** Name of a branch or tag; of a merge request its source branch. */
  ref: string
  is_tag: boolean
  is_merge_request: boolean
  /** Full path of the project, for `only: [ref@path]`. */
  project_path: string
  /** Below the variables of the file: predefined ones. Those of each job (`CI_JOB_NAME`, `CI_NODE_INDEX` …) are added. */
  predefined: Variable[]
  /** Above the variables of the file, lowest first: instance, groups, project, then trigger, API, schedule, manual. */
  overriding: ScopedVariable[]
  /** Null: there is nothing to compare with, and `changes` holds. For merge requests from the merge base to the head. */
  changed_paths: string[] | null
  /**
   * For `changes: compare_to`, by the ref with its variables expanded; null: there is nothing in common, and `changes`
   * holds; false: it does not exist, which is an error. The plan asks for those that are absent (`compares`).
   */
  changed_paths_since?: Record<string, string[] | null | false>
  /** All paths of files of the commit, for `exists`; null: too many, and `exists` holds. */
  tree: string[] | null
}

/** What a pipeline would have. If it has errors there is no pipeline, or a failed one without jobs. */
export interface Plan {
  /** Texts of the original; `is_filtered` and `is_empty` say which of them are no fault of the file. */
  errors: string[]
  warnings: string[]
  /** `workflow: rules` do not want this pipeline. */
  is_filtered: boolean
  /** No job is left for this pipeline. */
  is_empty: boolean
  /** Expanded `workflow: name`. */
  name: string | null
  auto_cancel: AutoCancel
  /** Stages that have jobs, in order. */
  stages: string[]
  /** In order of stages, then of the file. */
  jobs: PlannedJob[]
  /** What `changed_paths_since` lacks: unless this is empty, there is no plan yet. */
  compares: string[]
}

/**
 * A job of a pipeline. Texts have their variables unexpanded, because job ids, dotenv reports and the like are not known
 * yet: the caller expands `image`, `services`, `cache`, `artifacts`, `environment.url`, `release`, `trigger` and
 * `needs` when a runner takes the job (`expandVariables`). Expanded here are `tags`, `environment.name`,
 * `resource_group` and `variables` of matrices. Scripts are never expanded. Durations are in seconds, unless named
 * otherwise.
 */
export interface PlannedJob {
  /** Unique in the pipeline: `x`, `x 1/3` or `x: [a, b]`. */
  name: string
  /** The name in the file. */
  group_name: string
  /** A bridge triggers another pipeline, and no runner takes it. */
  kind: 'build' | 'bridge'
  stage: string
  /** Position in `Plan.stages`. */
  stage_index: number
  when: Exclude<When, 'never'>
  /** Only of delayed jobs. */
  start_in: number | null
  allow_failure: boolean
  /** With them `allow_failure` is false, and a failure with one of these codes is allowed. */
  allow_failure_exit_codes: number[] | null
  /** Null: the job waits for all earlier stages. Otherwise it waits for these, which may be none. */
  needs: PlannedNeed[] | null
  /** Artifacts of other pipelines and projects, which the job does not wait for. */
  external_needs: ExternalNeed[]
  /** Names of planned jobs whose artifacts the job gets; null: of all jobs of earlier stages. */
  dependencies: string[] | null
  /** Variables of the file for this job, lowest first, keys unique: global, of the job, its rules, its matrix. */
  variables: Variable[]
  tags: string[]
  before_script: string[]
  script: string[]
  /** Empty: there is none. */
  after_script: string[]
  image: ContainerImage | null
  services: ContainerService[]
  artifacts: JobArtifacts | null
  cache: JobCache[]
  environment: JobEnvironment | null
  retry: JobRetry
  timeout: number | null
  /** `CI_NODE_INDEX`, `CI_NODE_TOTAL`: of `parallel`, in numbers or by a matrix. */
  parallel: { index: number; total: number } | null
  /** The values of this job of `parallel: matrix`, also in `variables`. */
  matrix: Record<string, string> | null
  /** A regular expression without its slashes, for RE2; the last match counts. */
  coverage: string | null
  resource_group: string | null
  interruptible: boolean
  release: JobRelease | null
  /** Of bridges. */
  trigger: JobTrigger | null
}

export interface PlannedNeed {
  /** Name of a planned job. */
  job: string
  artifacts: boolean
}

/** Either of the latest successful pipeline of a ref of a project, or of the pipeline with an id. Texts are unexpanded. */
export interface ExternalNeed {
  job: string
  artifacts: boolean
  /** Whether the job runs without them as well. */
  optional: boolean
  project: string | null
  ref: string | null
  pipeline: string | null
}

export interface ContainerImage {
  name: string
  entrypoint: string[] | null
  ports: number[]
  pull_policy: string[]
  docker: { platform: string | null; user: string | null } | null
}

export interface ContainerService extends ContainerImage {
  alias: string | null
  command: string[] | null
  variables: Variable[]
}

export interface JobArtifacts {
  name: string | null
  paths: string[]
  exclude: string[]
  untracked: boolean
  when: 'on_success' | 'on_failure' | 'always'
  /** As written (`1 week`, `never`); null: the default of the instance. */
  expire_in: string | null
  /** The same in seconds; null for the default and for `never`. */
  expire_in_seconds: number | null
  expose_as: string | null
  /** Whether those may read them who may not see the jobs: `public`, `access`. */
  access: 'all' | 'developer' | 'maintainer' | 'none'
  /** By type of the runner's payload: `coverage_report` in the file is `cobertura` or `jacoco` here. */
  reports: { type: string; paths: string[] }[]
}

export interface JobCache {
  /** A text with variables, or files whose last commits make the key. */
  key: string | { files: string[]; prefix: string | null }
  fallback_keys: string[]
  paths: string[]
  untracked: boolean
  policy: string
  when: 'on_success' | 'on_failure' | 'always'
  unprotect: boolean
}

export interface JobEnvironment {
  name: string
  url: string | null
  /** Name of the job that stops it: a job of the file, which may be absent from the pipeline. */
  on_stop: string | null
  action: 'start' | 'prepare' | 'stop' | 'verify' | 'access'
  /** As written, with variables unexpanded. */
  auto_stop_in: string | null
  deployment_tier: string | null
}

export interface JobRetry {
  max: number
  /** `always` or reasons of failures; empty: `always`. */
  when: string[]
  exit_codes: number[]
}

export interface JobRelease {
  tag_name: string
  tag_message: string | null
  name: string | null
  description: string
  ref: string | null
  milestones: string[]
  released_at: string | null
  assets: { name: string; url: string; link_type: string | null; filepath: string | null }[]
}

export interface JobTrigger {
  /** Path of another project; null: a child pipeline of `include`. */
  project: string | null
  branch: string | null
  include: TriggerInclude[]
  /** `depend`: the bridge has the state of the pipeline; `mirror` likewise. */
  strategy: 'depend' | 'mirror' | null
  forward: { yaml_variables: boolean; pipeline_variables: boolean }
  inputs: Record<string, InputValue>
}

/** What the child pipeline is made of; all of them are merged, as includes of one file. */
export type TriggerInclude = (
  | { kind: 'local'; path: string }
  | { kind: 'project'; project: string; ref: string | null; path: string }
  | { kind: 'template'; name: string }
  | { kind: 'remote'; url: string }
  /** A file in the artifacts of a job of this pipeline. */
  | { kind: 'artifact'; path: string; job: string }
) & { inputs: Record<string, InputValue> }

// ------------------------------------------------------------------ states

/** States of jobs and of what they make up. */
export type JobState =
  | 'created'
  | 'waiting_for_resource'
  | 'preparing'
  | 'pending'
  | 'running'
  | 'success'
  | 'failed'
  | 'canceling'
  | 'canceled'
  | 'skipped'
  | 'manual'
  | 'scheduled'
