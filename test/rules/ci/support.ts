import { compile } from '../../../src/rules/ci/compile.js'
import { plan } from '../../../src/rules/ci/plan.js'
import type { CompileContext, CompiledConfig, IncludeRequest, PipelineContext, Plan, PlannedJob, Variable } from '../../../src/rules/ci/types.js'

/** Files by path; those of other projects by `project:path`, remote ones by address. */
export type Files = Record<string, string>

export const variables = (values: Record<string, string>): Variable[] => Object.entries(values).map(([key, value]) => ({ key, value }))

/** Compiles with files at hand, and counts the rounds of questions for them. */
export async function compileWith(
  text: string,
  files: Files = {},
  { changed = null, ...context }: Partial<CompileContext> & { changed?: string[] | null } = {},
): Promise<CompiledConfig & { rounds: IncludeRequest[][] }> {
  const rounds: IncludeRequest[][] = []
  const compiled = await compile(text, { variables: [], wants_merged_yaml: true, ...context }, async (requests) => {
    rounds.push(requests)
    return requests.map((request) => {
      const at = request.from ? `${request.from.project}:` : ''
      if (request.kind === 'changes') return changed ? { text: changed.join('\n') } : { incomparable: true }
      if (request.kind === 'list') return { text: Object.keys(files).join('\n') }
      if (request.kind === 'local') return answer(files[`${at}${request.path}`], `Local file \`${request.path}\` does not exist!`)
      if (request.kind === 'remote')
        return answer(files[request.url], `Remote file \`${request.url}\` could not be fetched because of HTTP code \`404\` error!`)
      if (request.kind === 'template') return answer(files[request.name], `Template file \`${request.name}\` is not a valid location!`)
      const found = answer(files[`${request.project}:${request.path}`], `Project \`${request.project}\` not found or access denied!`)
      return 'failure' in found ? found : { ...found, origin: { project: request.project, ref: request.ref } }
    })
  })
  return { ...compiled, rounds }
}

const answer = (text: string | undefined, failure: string) => (text === undefined ? { failure } : { text })

export const pipeline = (context: Partial<PipelineContext> = {}): PipelineContext => ({
  source: 'push',
  ref: 'main',
  is_tag: false,
  is_merge_request: false,
  project_path: 'team/app',
  predefined: variables({ CI_COMMIT_BRANCH: 'main', CI_COMMIT_REF_NAME: 'main', CI_PIPELINE_SOURCE: 'push', CI_DEFAULT_BRANCH: 'main' }),
  overriding: [],
  changed_paths: null,
  tree: [],
  ...context,
})

export async function planOf(text: string, context: Partial<PipelineContext> = {}): Promise<Plan> {
  return plan(await compileWith(text), pipeline(context))
}

/** The errors of a configuration, of whatever part of its way. */
export const errorsOf = async (text: string, context: Partial<PipelineContext> = {}): Promise<string[]> => (await planOf(text, context)).errors

/** The planned jobs by name; fails with the errors if there are any. */
export async function jobsOf(text: string, context: Partial<PipelineContext> = {}): Promise<Record<string, PlannedJob>> {
  const { errors, jobs } = await planOf(text, context)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return Object.fromEntries(jobs.map((job) => [job.name, job]))
}
