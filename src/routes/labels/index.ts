import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type GroupSubject, getGroupFor, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { Label, presentLabel } from '../../entities/issuables/label.js'
import { refused } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, int, needsOneOf, opt, orDefault, paging, searchText, str } from '../../http/params.js'
import { createLabel, deleteLabel, getLabel, type LabelSource, listLabels, subscribeToLabel, updateLabel } from '../../services/issuables/labels.js'
import { promoteLabel } from '../../services/issuables/promote-label.js'

const MAX = 2_147_483_647
const priority = () => int({ min: 0, max: MAX })
/** A priority; an empty value clears it. */
const clearablePriority = () =>
  z.preprocess((value) => (value === '' ? null : value), z.union([z.null(), priority().def.out as z.ZodType<number>], 'is invalid').optional())

const id = { label_id: z.string() }
const changes = {
  new_name: opt(documented.labelTitle()),
  color: opt(documented.color()),
  description: opt(clearable()),
  priority: clearablePriority(),
}
const CHANGES = ['new_name', 'color', 'description', 'priority'] as const

interface LabelRoutes<Subject> {
  /** `/projects/:id` or `/groups/:id`. */
  at: string
  read: Access<Subject, true>
  write: Access<Subject, true>
  source(subject: Subject): LabelSource
}

/** The same endpoints for projects and for groups (LB-1 to LB-5, LB-7). */
function labelsOf<Subject extends ProjectSubject | GroupSubject>({ at, read, write, source }: LabelRoutes<Subject>) {
  const LABELS = `${at}/labels`
  return [
    endpoint({
      method: 'GET',
      path: LABELS,
      summary: 'List labels',
      access: read,
      input: z.object({ search: opt(searchText()), include_ancestor_groups: orDefault(bool(), true), ...paging }),
      output: z.array(Label),
      async handler({ ctx, caller, subject, input }) {
        return pageOf(await listLabels(ctx, caller, source(subject), input), input, presentLabel)
      },
    }),
    endpoint({
      method: 'GET',
      path: `${LABELS}/:label_id`,
      summary: 'Get a label',
      access: read,
      input: z.object(id),
      output: Label,
      async handler({ ctx, caller, subject, input }) {
        return presentLabel(await getLabel(ctx, caller, source(subject), input.label_id))
      },
    }),
    endpoint({
      method: 'POST',
      path: LABELS,
      summary: 'Create a label',
      answers: [409],
      access: write,
      input: z.object({
        name: documented.labelTitle(),
        color: documented.color(),
        description: opt(clearable()),
        priority: opt(priority()),
      }),
      output: Label,
      async handler({ ctx, subject, input }) {
        return presentLabel(await createLabel(ctx, source(subject), input))
      },
    }),
    endpoint({
      method: 'PUT',
      path: LABELS,
      summary: 'Update a label by its name',
      answers: [409],
      access: write,
      input: needsOneOf(z.object({ name: str(), ...changes }), ...CHANGES),
      output: Label,
      async handler({ ctx, caller, subject, input: { name, ...input } }) {
        return presentLabel(await updateLabel(ctx, caller, source(subject), name, input))
      },
    }),
    endpoint({
      method: 'PUT',
      path: `${LABELS}/:label_id`,
      summary: 'Update a label',
      answers: [409],
      access: write,
      input: needsOneOf(z.object({ ...id, ...changes }), ...CHANGES),
      output: Label,
      async handler({ ctx, caller, subject, input: { label_id, ...input } }) {
        return presentLabel(await updateLabel(ctx, caller, source(subject), label_id, input))
      },
    }),
    endpoint({
      method: 'DELETE',
      path: LABELS,
      summary: 'Delete a label by its name',
      answers: [412],
      access: write,
      input: z.object({ name: str() }),
      handler: async ({ ctx, caller, subject, input, unchangedSince }) => deleteLabel(ctx, caller, source(subject), input.name, unchangedSince),
    }),
    endpoint({
      method: 'DELETE',
      path: `${LABELS}/:label_id`,
      summary: 'Delete a label',
      answers: [412],
      access: write,
      input: z.object(id),
      handler: async ({ ctx, caller, subject, input, unchangedSince }) => deleteLabel(ctx, caller, source(subject), input.label_id, unchangedSince),
    }),
  ]
}

const subscription = <Subject>(verb: 'subscribe' | 'unsubscribe', { at, read, source }: Pick<LabelRoutes<Subject>, 'at' | 'read' | 'source'>) =>
  endpoint({
    method: 'POST',
    path: `${at}/labels/:label_id/${verb}`,
    summary: verb === 'subscribe' ? 'Subscribe to a label' : 'Unsubscribe from a label',
    answers: [304],
    access: read,
    input: z.object(id),
    output: Label,
    async handler({ ctx, caller, subject, input }) {
      const label = await subscribeToLabel(ctx, caller, source(subject), input.label_id, verb === 'subscribe')
      return label ? presentLabel(label) : new Answer(304)
    },
  })

const OF_PROJECT: LabelRoutes<ProjectSubject> = {
  at: '/projects/:id',
  read: onProjectSignedIn('read_label'),
  write: onProjectSignedIn('manage_label'),
  source: (project) => ({ project }),
}
const OF_GROUP: LabelRoutes<GroupSubject> = {
  at: '/groups/:id',
  read: onGroupSignedIn('read_group'),
  write: onGroupSignedIn('manage_label'),
  source: (group) => ({ group }),
}

/** Labels (LB-1 to LB-7, PT-32, PT-33). */
export const labels = [
  ...labelsOf(OF_PROJECT),
  subscription('subscribe', OF_PROJECT),
  subscription('unsubscribe', OF_PROJECT),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/labels/:label_id/promote',
    summary: 'Make a label of a project one of its group',
    answers: [409],
    access: onProjectSignedIn('manage_label'),
    input: z.object(id),
    output: Label,
    async handler({ ctx, caller, subject, input }) {
      const { label } = await getLabel(ctx, caller, { project: subject }, input.label_id)
      if (label.project_id === null) throw refused('The label is one of a group already')
      const group = await getGroupFor(ctx, caller, await promoteLabel(ctx, caller, subject, label))
      return presentLabel(await getLabel(ctx, caller, { group }, label.title))
    },
  }),
  ...labelsOf(OF_GROUP),
  subscription('subscribe', OF_GROUP),
  subscription('unsubscribe', OF_GROUP),
]
