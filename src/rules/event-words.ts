/** What happened to the target of an event. */
export const EVENT_VERBS = {
  created: 'opened',
  updated: 'changed',
  closed: 'closed',
  reopened: 'reopened',
  commented: 'commented on',
  merged: 'merged',
  approved: 'approved',
  joined: 'joined the project',
  left: 'left the project',
  destroyed: 'removed',
  expired: 'is no longer a member: the time was over',
} as const

/** Targets, before their number. */
export const TARGET_NAMES: Record<string, string> = {
  Issue: 'issue #',
  MergeRequest: 'merge request !',
  Milestone: 'milestone %',
  Snippet: 'snippet $',
}

/** What a push did to a branch or tag. */
export const PUSH_VERBS = { created: 'pushed a new', removed: 'deleted the', pushed: 'pushed to the' } as const
