import { listed } from '../../rules/texts/listed.js'
import { assignableUsers, namedUsers, type Person } from './arguments.js'
import { type Acting, type ActionTarget, type CommandDefinition, manages, rowOf, set } from './target.js'

type Column = 'assignee_ids' | 'reviewer_ids'

/** Who has the role, after the commands before. */
const peopleOf = ({ target, attributes }: Acting, column: Column): number[] =>
  attributes[column] ?? (column === 'assignee_ids' ? rowOf(target)?.assignee_ids : target.request?.request.reviewer_ids) ?? []

const names = (people: Person[]) => listed(people.map(({ username }) => `@${username}`))
const has = (target: ActionTarget, column: Column) =>
  ((column === 'assignee_ids' ? rowOf(target)?.assignee_ids : target.request?.request.reviewer_ids) ?? []).length > 0

const asReviewers = (people: Person[]) => (people.length === 1 ? 'as reviewer' : 'as reviewers')
const noAssignee = 'Failed to assign a user because no user was found.'
const noReviewer = 'Failed to assign a reviewer because no user was found.'

/** Takes the people named out of a role. */
const takeOut = (column: Column, role: string): CommandDefinition['plan'] =>
  async function takeOutOf(acting, argument) {
    const now = peopleOf(acting, column)
    const people = (await namedUsers(acting, argument)).filter(({ id }) => now.includes(id))
    if (people.length === 0) return null
    const ids = people.map(({ id }) => id)
    return set({ [column]: now.filter((id) => !ids.includes(id)) }, `Removed ${names(people)} as ${role}${people.length === 1 ? '' : 's'}.`)
  }

/** Commands about assignees and reviewers (QA-6, MR-622). */
export const PEOPLE_COMMANDS: CommandDefinition[] = [
  {
    names: ['assign'],
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const people = await assignableUsers(acting, argument)
      if (people.length === 0) return noAssignee
      return set({ assignee_ids: [...new Set([...peopleOf(acting, 'assignee_ids'), ...people.map(({ id }) => id)])] }, `Assigned ${names(people)}.`)
    },
  },
  {
    names: ['reassign'],
    existing: true,
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const people = await assignableUsers(acting, argument)
      if (people.length === 0) return noAssignee
      return set({ assignee_ids: people.map(({ id }) => id) }, `Replaced the assignees with ${names(people)}.`)
    },
  },
  {
    names: ['unassign', 'remove_assignee'],
    existing: true,
    argument: 'required',
    may: (target) => has(target, 'assignee_ids') && manages(target),
    plan: takeOut('assignee_ids', 'assignee'),
    without: () => set({ assignee_ids: [] }, 'Removed the assignee.'),
  },
  {
    names: ['assign_reviewer', 'reviewer', 'request_review'],
    on: 'MergeRequest',
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const people = await assignableUsers(acting, argument)
      if (people.length === 0) return noReviewer
      const ids = people.map(({ id }) => id)
      const now = peopleOf(acting, 'reviewer_ids')
      const reviewer_ids = [...new Set([...now, ...ids])]
      // who is a reviewer already is asked anew
      const review_again = ids.filter((id) => now.includes(id))
      const effect = set({ reviewer_ids }, `Assigned ${names(people)} ${asReviewers(people)}.`)
      return review_again.length > 0 ? { ...effect, attributes: { reviewer_ids, review_again } } : effect
    },
  },
  {
    names: ['reassign_reviewer'],
    on: 'MergeRequest',
    existing: true,
    argument: 'required',
    may: manages,
    async plan(acting, argument) {
      const people = await assignableUsers(acting, argument)
      if (people.length === 0) return noReviewer
      return set({ reviewer_ids: people.map(({ id }) => id) }, `Replaced the reviewers with ${names(people)}.`)
    },
  },
  {
    names: ['unassign_reviewer', 'remove_reviewer'],
    on: 'MergeRequest',
    existing: true,
    argument: 'required',
    may: (target) => has(target, 'reviewer_ids') && manages(target),
    plan: takeOut('reviewer_ids', 'reviewer'),
    without: () => set({ reviewer_ids: [] }, 'Removed the reviewer.'),
  },
]
