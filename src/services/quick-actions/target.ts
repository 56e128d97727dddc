import type { ProjectAbility } from '../../access/abilities/project.js'
import type { SignedIn } from '../../access/actor.js'
import type { IssueSubject } from '../../access/issues.js'
import type { MergeRequestSubject } from '../../access/merge-requests.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Target, TargetType } from '../activity/subscriptions.js'
import type { IssueChanges } from '../issuables/issues/update.js'
import type { MergeRequestChanges } from '../issuables/merge-requests/writing/update.js'

/** What commands act on: an issue or merge request that exists, or one that is about to be created. */
export interface ActionTarget {
  type: TargetType
  /** Its project. */
  project: ProjectSubject
  /** Null for a merge request, and for an issue that does not exist yet. */
  issue: IssueSubject | null
  /** Null for an issue, and for a merge request that does not exist yet. */
  request: MergeRequestSubject | null
  title: string
}

export const onNew = (type: TargetType, project: ProjectSubject, title: string): ActionTarget => ({
  type,
  project,
  issue: null,
  request: null,
  title,
})

export const onIssue = (issue: IssueSubject): ActionTarget => ({ type: 'Issue', project: issue, issue, request: null, title: issue.issue.title })

export const onMergeRequest = (request: MergeRequestSubject): ActionTarget => ({
  type: 'MergeRequest',
  project: request,
  issue: null,
  request,
  title: request.request.title,
})

/** The row; null if it does not exist yet. */
export const rowOf = ({ issue, request }: ActionTarget) => issue?.issue ?? request?.request ?? null

/** The noun for messages. */
export const nounOf = ({ type }: ActionTarget) => (type === 'Issue' ? 'issue' : 'merge request')

/** Attributes that one update changes for all commands of a text together. */
export type Attributes = IssueChanges & MergeRequestChanges

/** A text with commands, its author, and what it acts on. */
export interface Acting {
  ctx: Context
  caller: SignedIn
  target: ActionTarget
  /** What the commands before change. */
  attributes: Attributes
}

const may = ({ issue, request, project }: ActionTarget, ability: ProjectAbility) =>
  issue?.may(ability) ?? request?.may(ability) ?? project.can(ability)

/** Whether the caller may change title, state and times, as the endpoints say; those who create something may. */
export const updates = (target: ActionTarget): boolean =>
  rowOf(target) === null || may(target, target.type === 'Issue' ? 'update_issue' : 'update_merge_request')

/** Whether the caller may change labels, milestone, people, due date and lock, as the endpoints say. */
export const manages = (target: ActionTarget): boolean =>
  updates(target) && target.project.can(target.type === 'Issue' ? 'manage_issue' : 'manage_merge_request')

/** Whether the caller has an ability on what exists. */
export const has = (target: ActionTarget, ability: ProjectAbility): boolean => rowOf(target) !== null && may(target, ability)

/** What a command does. */
export type Effect = {
  /** For `commands_changes`. */
  shown: Record<string, unknown>
} & (
  | { attributes: Attributes; message: string }
  /** Done after the update; answers the message, or null if it cannot be done. */
  | { act(target: Target): Promise<string | null>; last?: boolean }
)

/** An effect on one attribute, which `commands_changes` shows by its name. */
export const set = (attributes: Attributes, message: string): Effect => ({ shown: { ...attributes }, attributes, message })

/** A command: what it is called, when it may be used, and what it does. */
export interface CommandDefinition {
  /** The name for messages, and others. */
  names: [string, ...string[]]
  /** The type that has it; both by default. */
  on?: TargetType
  /** Works only on what exists, not in the description of something new. */
  existing?: boolean
  /** Whether it needs an argument; any other command ignores it. */
  argument?: 'required'
  /** Whether the caller may use it here and now. */
  may(target: ActionTarget): boolean
  /** What it does; null, or a text that says why, if it cannot be done. */
  plan(acting: Acting, argument: string): Promise<Effect | string | null>
  /** What it does without its argument. */
  without?(): Effect
}
