import { inArray, sql } from 'drizzle-orm'
import { findIssueFor } from '../../access/issues.js'
import { findMergeRequestFor } from '../../access/merge-requests.js'
import { fullPathOf } from '../../access/rules.js'
import { users } from '../../db/schema/index.js'
import { type IssueReference, referencesIn } from '../../rules/references.js'
import { assignableAmong as assignableToIssue } from '../issuables/issues/attributes.js'
import { loadIssue } from '../issuables/issues/list.js'
import { findLabelIds } from '../issuables/labels.js'
import { loadMergeRequest } from '../issuables/merge-requests/reading/load.js'
import { assignableAmong as assignableToRequest } from '../issuables/merge-requests/writing/attributes.js'
import { findMilestoneNamed } from '../issuables/milestones.js'
import type { Acting } from './target.js'

/** Names in one argument; further ones are ignored. */
const MAX_NAMES = 100

/** A name in quotation marks or without spaces, after an optional sign. */
const NAME = /[~%@]?"([^"]+)"|[~%@]?([^\s"]+)/g

const namesIn = (argument: string): string[] =>
  [...argument.matchAll(NAME)]
    .map(([, quoted, word]) => quoted ?? (word ?? '').replace(/,$/, ''))
    .filter((name) => name !== '')
    .slice(0, MAX_NAMES)

export interface Person {
  id: number
  username: string
}

/** The users named, `me` among them, in the order of their names. */
export async function namedUsers({ ctx, caller }: Acting, argument: string): Promise<Person[]> {
  const names = namesIn(argument).map((name) => (name.toLowerCase() === 'me' ? caller.user.username : name).toLowerCase())
  if (names.length === 0) return []
  const { id, username } = users
  const found = await ctx.db.write
    .select({ id, username })
    .from(users)
    .where(inArray(sql`lower(${username})`, names))
  return [...new Set(names)].flatMap((name) => found.find((each) => each.username.toLowerCase() === name) ?? [])
}

/** Those of them who can be assigned. */
export async function assignableUsers(acting: Acting, argument: string): Promise<Person[]> {
  const { ctx, target } = acting
  const people = await namedUsers(acting, argument)
  const assignableAmong = target.type === 'Issue' ? assignableToIssue : assignableToRequest
  const ids = people.map((each) => each.id)
  const assignable = await assignableAmong(ctx.db.write, target.project, ids)
  return people.filter((each) => assignable.includes(each.id))
}

export interface NamedLabel {
  id: number
  title: string
}

/** The labels named that exist: commands create none. */
export async function namedLabels({ ctx, target }: Acting, argument: string): Promise<NamedLabel[]> {
  const titles = [...new Set(namesIn(argument))]
  const ids = await findLabelIds(ctx.db.write, target.project.project, titles)
  return titles.flatMap((title) => {
    const id = ids.get(title)
    return id === undefined ? [] : [{ id, title }]
  })
}

/** The milestone named, with or without `%` and quotation marks. */
export const namedMilestone = ({ ctx, target }: Acting, argument: string) => {
  const [, quoted, bare = ''] = /^%?(?:"([^"]+)"|([^"]+))$/.exec(argument) ?? []
  return findMilestoneNamed(ctx.db.write, target.project, quoted ?? bare)
}

/** The first reference to an issue or merge request. */
export const referenceIn = async ({ ctx }: Acting, argument: string): Promise<IssueReference | null> =>
  (await referencesIn(ctx.cpu.slices, argument, ctx.links.base)).find((each): each is IssueReference => 'number' in each) ?? null

/** Labels and milestone of another issue or merge request of the project that the caller sees; null if there is none. */
export async function metadataOf(acting: Acting, argument: string) {
  const { ctx, caller, target } = acting
  const reference = await referenceIn(acting, argument)
  const path = fullPathOf(target.project.project)
  if (!reference || (reference.project !== null && reference.project.toLowerCase() !== path.toLowerCase())) return null
  const { kind, number } = reference
  const issue = kind === 'issue' ? await findIssueFor(ctx, caller, target.project, number) : null
  const request = kind === 'merge_request' ? await findMergeRequestFor(ctx, caller, target.project, number) : null
  const record = issue ? await loadIssue(ctx, caller, issue.issue.id) : request && (await loadMergeRequest(ctx, caller, request, request.request.id))
  if (!record) return null
  const titles = record.labels.map((label) => (typeof label === 'string' ? label : label.name))
  const ids = await findLabelIds(ctx.db.write, target.project.project, titles)
  return {
    labels: titles.flatMap((title) => ({ id: ids.get(title) as number, title })),
    milestone: record.milestone,
    reference: `${kind === 'issue' ? '#' : '!'}${number}`,
  }
}
