import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { presentVariable, presentWrittenVariable, Variable, WrittenVariable } from '../../entities/projects/variable.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, documentedWith, opt, paging, str } from '../../http/params.js'
import { createVariable, deleteVariable, getVariable, listVariables, updateVariable, type VariableSource } from '../../services/projects/variables.js'

const named = { key: z.string() }

const variablesOf = <Subject>(kind: VariableSource['kind'], access: Access<Subject, true>, sourceOf: (subject: Subject) => VariableSource) => {
  const path = `/${kind}s/:id/variables`
  // project variables are returned with two fields (V-2); the contract does not define this for groups
  const [Shown, present] = kind === 'project' ? [Variable, presentVariable] : [WrittenVariable, presentWrittenVariable]
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the variables of a ${kind}`,
      access,
      scope: 'api',
      input: z.object(paging),
      output: z.array(Shown),
      handler: async ({ ctx, subject, input }) => pageOf(await listVariables(ctx, sourceOf(subject), input), input, present),
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:key`,
      summary: `Get a variable of a ${kind}`,
      access,
      scope: 'api',
      input: z.object(named),
      output: Shown,
      handler: async ({ ctx, subject, input }) => present(await getVariable(ctx, sourceOf(subject), input.key)),
    }),
    endpoint({
      method: 'POST',
      path,
      summary: `Create a variable of a ${kind}`,
      access,
      input: z.object({ key: documentedWith(str(), { pattern: '^[A-Za-z0-9_]{1,255}$' }), value: str(), protected: opt(bool()) }),
      output: WrittenVariable,
      handler: async ({ ctx, subject, input }) => presentWrittenVariable(await createVariable(ctx, sourceOf(subject), input)),
    }),
    endpoint({
      method: 'PUT',
      path: `${path}/:key`,
      summary: `Update a variable of a ${kind}`,
      access,
      input: z.object({ ...named, value: str(), protected: opt(bool()) }),
      output: WrittenVariable,
      handler: async ({ ctx, subject, input }) => presentWrittenVariable(await updateVariable(ctx, sourceOf(subject), input.key, input)),
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:key`,
      summary: `Delete a variable of a ${kind}`,
      access,
      input: z.object(named),
      handler: ({ ctx, subject, input }) => deleteVariable(ctx, sourceOf(subject), input.key),
    }),
  ]
}

/** Variables (V-1 to V-10, OT-1). */
export const variables = [
  ...variablesOf('project', onProjectSignedIn('manage_variables'), ({ project }: ProjectSubject) => ({
    kind: 'project',
    id: project.id,
    fullPath: fullPathOf(project),
  })),
  ...variablesOf('group', onGroupSignedIn('manage_variables'), ({ group }: GroupSubject) => ({
    kind: 'group',
    id: group.id,
    fullPath: group.full_path,
  })),
]
