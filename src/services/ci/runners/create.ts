import type { SignedIn } from '../../../access/actor.js'
import { getGroupFor, getProjectFor } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { forbidden, invalidInput } from '../../../failures.js'
import { createRunner, type RunnerAttributes, type RunnerScope } from './runners.js'

/** Makes a runner for a user who may: administrators for all projects, owners for a group, maintainers for a project. */
export async function newRunnerOf(ctx: Context, caller: SignedIn, { kind, group_id, project_id, ...attributes }: RunnerScope & RunnerAttributes) {
  const needed = { instance_type: null, group_type: group_id, project_type: project_id }[kind]
  if (kind === 'instance_type' && !caller.user.admin) throw forbidden()
  if (kind === 'group_type') {
    if (group_id === null) throw invalidInput('group_id is missing')
    if (!(await getGroupFor(ctx, caller, String(group_id))).can('manage_runners')) throw forbidden()
  }
  if (kind === 'project_type') {
    if (project_id === null) throw invalidInput('project_id is missing')
    if (!(await getProjectFor(ctx, caller, String(project_id))).can('manage_runners')) throw forbidden()
  }
  const scope = { kind, group_id: kind === 'group_type' ? needed : null, project_id: kind === 'project_type' ? needed : null }
  return createRunner(ctx, scope, attributes, { creator: caller.user.id, registered: false })
}
