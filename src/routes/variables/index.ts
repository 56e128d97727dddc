import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { adminFirst, fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import {
  InstanceVariable,
  presentInstanceVariable,
  presentVariable,
  presentWrittenVariable,
  Variable,
  WrittenVariable,
} from '../../entities/projects/variable.js'
import { invalidInput } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, documentedWith, oneOf, opt, paging, str, updateOf } from '../../http/params.js'
import {
  createVariable,
  deleteVariable,
  getVariable,
  INSTANCE_VARIABLES,
  isHidden,
  listVariables,
  updateVariable,
  type VariableSource,
} from '../../services/projects/variables.js'

const named = { key: z.string() }
const scoped = { ...named, filter: z.object({ environment_scope: opt(str()) }).optional() }
const flags = {
  variable_type: opt(oneOf(['env_var', 'file'])),
  protected: opt(bool()),
  masked: opt(bool()),
  raw: opt(bool()),
  description: opt(str()),
}
const attributes = { ...flags, environment_scope: opt(str()) }
const newKey = documentedWith(str(), { pattern: '^[A-Za-z0-9_]{1,255}$' })

const namedBy = ({ key, filter }: { key: string; filter?: { environment_scope?: string | undefined } | undefined }) => ({
  key,
  scope: filter?.environment_scope,
})

/** The attributes of a variable, with its type as a flag. */
const stored = <Input extends { variable_type?: 'env_var' | 'file' | undefined }>({ variable_type, ...given }: Input) => ({
  ...given,
  file: variable_type === undefined ? undefined : variable_type === 'file',
})

const variablesOf = <Subject>(kind: 'project' | 'group', access: Access<Subject, true>, sourceOf: (subject: Subject) => VariableSource) => {
  const path = `/${kind}s/:id/variables`
  // project variables are returned without `protected` (V-2); the contract does not define this for groups
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
      input: z.object(scoped),
      output: Shown,
      answers: [409],
      handler: async ({ ctx, subject, input }) => present(await getVariable(ctx, sourceOf(subject), namedBy(input))),
    }),
    endpoint({
      method: 'POST',
      path,
      summary: `Create a variable of a ${kind}`,
      access,
      input: z.object({ key: newKey, value: str(), ...attributes, masked_and_hidden: opt(bool()) }),
      output: WrittenVariable,
      handler: async ({ ctx, subject, input: { masked_and_hidden: hidden, ...input } }) =>
        presentWrittenVariable(await createVariable(ctx, sourceOf(subject), { ...stored(input), hidden })),
    }),
    endpoint({
      method: 'PUT',
      path: `${path}/:key`,
      summary: `Update a variable of a ${kind}`,
      access,
      input: z.object({ ...scoped, value: opt(str()), ...attributes }),
      output: WrittenVariable,
      answers: [409],
      description: '`value` is required, but for a hidden variable.',
      async handler({ ctx, subject, input }) {
        const source = sourceOf(subject)
        if (input.value === undefined && !(await isHidden(ctx, source, namedBy(input)))) throw invalidInput('value is missing')
        return presentWrittenVariable(await updateVariable(ctx, source, namedBy(input), stored(input)))
      },
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:key`,
      summary: `Delete a variable of a ${kind}`,
      access,
      input: z.object(scoped),
      answers: [409],
      handler: ({ ctx, subject, input }) => deleteVariable(ctx, sourceOf(subject), namedBy(input)),
    }),
  ]
}

const ofInstance = [
  endpoint({
    method: 'GET',
    path: '/admin/ci/variables',
    summary: 'List the variables of the instance',
    access: adminFirst,
    scope: 'api',
    input: z.object(paging),
    output: z.array(InstanceVariable),
    handler: async ({ ctx, input }) => pageOf(await listVariables(ctx, INSTANCE_VARIABLES, input), input, presentInstanceVariable),
  }),
  endpoint({
    method: 'GET',
    path: '/admin/ci/variables/:key',
    summary: 'Get a variable of the instance',
    access: adminFirst,
    scope: 'api',
    input: z.object(named),
    output: InstanceVariable,
    handler: async ({ ctx, input }) => presentInstanceVariable(await getVariable(ctx, INSTANCE_VARIABLES, input)),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/ci/variables',
    summary: 'Create a variable of the instance',
    access: adminFirst,
    input: z.object({ key: newKey, value: str(), ...flags }),
    output: InstanceVariable,
    handler: async ({ ctx, input }) => presentInstanceVariable(await createVariable(ctx, INSTANCE_VARIABLES, stored(input))),
  }),
  endpoint({
    method: 'PUT',
    path: '/admin/ci/variables/:key',
    summary: 'Update a variable of the instance',
    access: adminFirst,
    input: updateOf(z.object({ ...named, value: opt(str()), ...flags })),
    output: InstanceVariable,
    handler: async ({ ctx, input }) => presentInstanceVariable(await updateVariable(ctx, INSTANCE_VARIABLES, { key: input.key }, stored(input))),
  }),
  endpoint({
    method: 'DELETE',
    path: '/admin/ci/variables/:key',
    summary: 'Delete a variable of the instance',
    access: adminFirst,
    input: z.object(named),
    handler: ({ ctx, input }) => deleteVariable(ctx, INSTANCE_VARIABLES, input),
  }),
]

/** Variables (V-1 to V-10, V-60 to V-65, OT-1). */
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
  ...ofInstance,
]
