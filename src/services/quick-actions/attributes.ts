import { isDraft, withoutDraftMark } from '../../rules/draft.js'
import { parseDueDate } from '../../rules/due-date.js'
import { lengthOf } from '../../rules/path.js'
import { repositoryOf } from '../repository/repositories.js'
import { metadataOf, type NamedLabel, namedLabels, namedMilestone } from './arguments.js'
import { PEOPLE_COMMANDS } from './people.js'
import { type Acting, type CommandDefinition, type Effect, manages, nounOf, rowOf, set, updates } from './target.js'

const MAX_TITLE = 255

const retitle = (title: string, message: string): Effect | null =>
  title === '' || lengthOf(title) > MAX_TITLE ? null : { shown: { title }, attributes: { title }, message }

/** Marks a merge request as a draft, or as ready. */
function setDraft({ target, attributes }: Acting, to: 'draft' | 'ready' | 'other'): Effect | null {
  const title = attributes.title ?? target.title
  const before = isDraft(title)
  const draft = to === 'other' ? !before : to === 'draft'
  if (draft === before) return null
  const effect = retitle(draft ? `Draft: ${title}` : withoutDraftMark(title), `${draft ? 'Marked' : 'Unmarked'} this merge request as a draft.`)
  return effect && { ...effect, shown: { wip_event: draft ? 'wip' : 'unwip' } }
}

const shownLabels = (labels: NamedLabel[]) => `${labels.map(({ title }) => `~${/^[\w.-]+$/.test(title) ? title : `"${title}"`}`).join(' ')}`
const asLabels = (labels: NamedLabel[]) => `${shownLabels(labels)} ${labels.length === 1 ? 'label' : 'labels'}`
const idsOf = (labels: NamedLabel[]) => labels.map(({ id }) => id)
const titlesOf = (labels: NamedLabel[]) => labels.map(({ title }) => title)

/** A command about labels that exist. */
const aboutLabels = (names: [string, ...string[]], effect: (labels: NamedLabel[]) => Effect): CommandDefinition => ({
  names,
  argument: 'required',
  may: manages,
  async plan(acting, argument) {
    const labels = await namedLabels(acting, argument)
    return labels.length === 0 ? null : effect(labels)
  },
})

const stateEvent = (name: 'close' | 'reopen', from: string[], done: string): CommandDefinition => ({
  names: [name],
  existing: true,
  may: (target) => from.includes(rowOf(target)?.state ?? '') && updates(target),
  plan: async ({ target }) => set({ state_event: name }, `${done} this ${nounOf(target)}.`),
})

const lock = (name: 'lock' | 'unlock', discussion_locked: boolean): CommandDefinition => ({
  names: [name],
  existing: true,
  may: (target) => (rowOf(target)?.discussion_locked ?? false) !== discussion_locked && manages(target),
  plan: async () => set({ discussion_locked }, `${discussion_locked ? 'Locked' : 'Unlocked'} the discussion.`),
})

/** Commands that change attributes (QA-4 to QA-11). */
export const ATTRIBUTE_COMMANDS: CommandDefinition[] = [
  stateEvent('close', ['opened'], 'Closed'),
  stateEvent('reopen', ['closed'], 'Reopened'),
  {
    names: ['title'],
    existing: true,
    argument: 'required',
    may: updates,
    plan: async (_, title) => retitle(title, `Changed the title to "${title}".`),
  },
  ...PEOPLE_COMMANDS,
  aboutLabels(['label', 'labels'], (labels) => ({
    shown: { add_label_ids: idsOf(labels) },
    attributes: { add_labels: titlesOf(labels) },
    message: `Added ${asLabels(labels)}.`,
  })),
  {
    ...aboutLabels(['unlabel', 'remove_label'], (labels) => ({
      shown: { remove_label_ids: idsOf(labels) },
      attributes: { remove_labels: titlesOf(labels) },
      message: `Removed ${asLabels(labels)}.`,
    })),
    existing: true,
    without: () => ({ shown: { label_ids: [] }, attributes: { labels: [] }, message: 'Removed all labels.' }),
  },
  {
    ...aboutLabels(['relabel'], (labels) => ({
      shown: { label_ids: idsOf(labels) },
      attributes: { labels: titlesOf(labels) },
      message: `Replaced all labels with ${asLabels(labels)}.`,
    })),
    existing: true,
  },
  {
    names: ['milestone'],
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const milestone = await namedMilestone(acting, argument)
      return milestone && set({ milestone_id: milestone.id }, `Set the milestone to %"${milestone.title}".`)
    },
  },
  {
    names: ['remove_milestone'],
    existing: true,
    may: (target) => rowOf(target)?.milestone_id !== null && manages(target),
    plan: async () => ({ shown: { milestone_id: null }, attributes: { milestone_id: 0 }, message: 'Removed the milestone.' }),
  },
  {
    names: ['copy_metadata'],
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const other = await metadataOf(acting, argument)
      if (!other) return null
      const milestone = other.milestone && { milestone_id: other.milestone.id }
      return {
        shown: { add_label_ids: idsOf(other.labels), ...milestone },
        attributes: { add_labels: titlesOf(other.labels), ...milestone },
        message: `Copied labels and milestone from ${other.reference}.`,
      }
    },
  },
  lock('lock', true),
  lock('unlock', false),
  {
    names: ['due'],
    on: 'Issue',
    argument: 'required',
    may: manages,
    async plan({ ctx }, argument) {
      const due_date = parseDueDate(argument, ctx.now())
      if (due_date === null) return 'Failed to set due date because the date format is invalid.'
      return set({ due_date }, `Set the due date to ${due_date}.`)
    },
  },
  {
    names: ['remove_due_date'],
    on: 'Issue',
    existing: true,
    may: (target) => target.issue?.issue.due_date !== null && manages(target),
    plan: async () => set({ due_date: null }, 'Removed the due date.'),
  },
  {
    names: ['confidential'],
    on: 'Issue',
    may: (target) => target.issue?.issue.confidential !== true && updates(target),
    plan: async () => set({ confidential: true }, 'Made this issue confidential.'),
  },
  { names: ['draft', 'wip'], on: 'MergeRequest', may: updates, plan: async (acting) => setDraft(acting, 'other') },
  { names: ['ready'], on: 'MergeRequest', may: updates, plan: async (acting) => setDraft(acting, 'ready') },
  {
    names: ['target_branch'],
    on: 'MergeRequest',
    argument: 'required',
    // only those who may read the code learn whether a branch exists
    may: (target) => updates(target) && target.project.can('download_code'),
    async plan({ ctx, target }, target_branch) {
      if (target_branch.includes('\0') || !(await repositoryOf(ctx, target.project.project).ref(`refs/heads/${target_branch}`))) return null
      return set({ target_branch }, `Set target branch to ${target_branch}.`)
    },
  },
]
