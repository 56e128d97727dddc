import { asc, eq, sql } from 'drizzle-orm'
import type { Project, ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { namespaceAncestry, pipelineVariables, variables } from '../../db/schema/index.js'
import { Failure } from '../../failures.js'
import { isInScope } from '../../rules/ci/environment-scope.js'
import type { ScopedVariable, Variable } from '../../rules/ci/types.js'
import { unsealed } from '../core/unsealed.js'
import { sourceOfVariable, variablePurpose } from '../projects/variables.js'

/**
 * The variables of the instance, of the groups above a project, the outermost first, and of the project, so that later
 * ones count; of those with one key the narrowest scope comes last (V-63). Protected ones are only for protected branches
 * and tags.
 */
export async function storedVariables(ctx: Context, project: Project, isProtected: boolean): Promise<ScopedVariable[]> {
  const ancestors = sql`(select a.ancestor_id, (select count(*) from ${namespaceAncestry} above where above.descendant_id = a.ancestor_id) as depth
    from ${namespaceAncestry} a where a.descendant_id = ${project.namespace.id}) ancestors`
  const isOfInstance = sql`(${variables.project_id} is null and ${variables.group_id} is null)`
  const rows = await ctx.db.write
    .select({ variable: variables })
    .from(variables)
    .leftJoin(ancestors, sql`ancestors.ancestor_id = ${variables.group_id}`)
    .where(sql`${variables.project_id} = ${project.id} or ancestors.depth is not null or ${isOfInstance}`)
    .orderBy(
      sql`case when ${isOfInstance} then 0 else coalesce(ancestors.depth, 1000000) end`,
      sql`case when ${variables.environment_scope} = '*' then 0 when ${variables.environment_scope} like '%*%' then 1 else 2 end`,
      sql`length(${variables.environment_scope})`,
      asc(variables.id),
    )
  return rows.flatMap(({ variable }) => {
    const { key, sealed, file, masked, raw, environment_scope } = variable
    if (variable.protected && !isProtected) return []
    const value = unsealed(ctx, sealed, variablePurpose(sourceOfVariable(variable), key))
    return value === null ? [] : [{ key, value, file, masked, raw, environment_scope }]
  })
}

/** The name of a variable that is given to a pipeline. */
export const VARIABLE_KEY = /^[A-Za-z0-9_]{1,255}$/

/** What is wrong with the keys of variables that are given together. */
export function keysFault(given: { key: string }[]): { malformed?: string; twice?: string } {
  if (given.some(({ key }) => !VARIABLE_KEY.test(key))) return { malformed: 'have a key that is not made of letters, digits and _' }
  const again = given.find(({ key }, i) => given.findIndex((other) => other.key === key) < i)
  return again ? { twice: `have duplicate values (${again.key})` } : {}
}

/** Binds the encrypted value of a variable that a pipeline was made with to it. */
export const pipelineVariablePurpose = (pipeline: number, key: string) => `pipeline ${pipeline} variable ${key}`

/** The variables that a pipeline was made with; the value is null where it cannot be decrypted any more. */
export async function pipelineVariablesOf(ctx: Context, pipeline: number): Promise<{ key: string; value: string | null; file: boolean }[]> {
  const rows = await ctx.db.write
    .select()
    .from(pipelineVariables)
    .where(eq(pipelineVariables.pipeline_id, pipeline))
    .orderBy(asc(pipelineVariables.key))
  return rows.map(({ key, sealed, file }) => ({ key, value: unsealed(ctx, sealed, pipelineVariablePurpose(pipeline, key)), file }))
}

/** What counts above the variables of the file for a job: those that are stored, and `given` with its pipeline. */
export async function overridingVariables(
  ctx: Context,
  { project, pipeline, environment }: { project: Project; pipeline: { id: number; protected: boolean }; environment: string | null },
): Promise<{ stored: Variable[]; given: Variable[] }> {
  const stored = await storedVariables(ctx, project, pipeline.protected)
  const given = await pipelineVariablesOf(ctx, pipeline.id)
  return {
    stored: stored.filter((each) => isInScope(each, environment)),
    given: given.flatMap(({ key, value, file }) => (value === null ? [] : [{ key, value, file }])),
  }
}

/** Throws 400 where only maintainers give variables to pipelines and jobs, for others (FD-14). */
export function refuseVariables({ project, can }: ProjectSubject): void {
  if (project.restrict_user_defined_variables && !can('manage_project'))
    throw new Failure('invalid', { message: { base: ['Insufficient permissions to set pipeline variables'] } })
}
