import { z } from 'zod'
import { MAIL_EVENTS } from '../../rules/notifications.js'
import { VERDICTS } from '../../rules/reviews/states.js'

/** Events that have no setting: an edit mentions users, labels were added, an approval was given or taken back, or a review was submitted. */
const FURTHER_EVENTS = ['mention', 'relabel', 'approved', 'unapproved', 'review'] as const

/** What a mail is about. It has only ids, because the content is loaded when the mail is sent (ML-11). */
export const Notification = z.object({
  event: z.enum([...MAIL_EVENTS, ...FURTHER_EVENTS]),
  project: z.int(),
  /** The user who caused it, if there is one. */
  actor: z.int().nullable(),
  target: z.enum(['Issue', 'MergeRequest', 'Commit', 'Snippet', 'Pipeline', 'Release']),
  /** Null for a commit. */
  id: z.int().nullable(),
  sha: z.string().nullable().default(null),
  note: z.int().nullable().default(null),
  /** What a review says, and its notes. */
  verdict: z.enum(VERDICTS).default('commented'),
  notes: z.array(z.int()).default([]),
  /** The new and former assignees or reviewers of a change of them. */
  people: z.array(z.int()).default([]),
  /** Added labels. */
  labels: z.array(z.int()).default([]),
})

/** The event whose setting decides: a review is as its notes are (ML-600). */
export const settingOf = ({ event }: Pick<Notification, 'event'>) => (event === 'review' ? 'new_note' : event)

export type Notification = z.output<typeof Notification>

/** Why a user gets a mail, the strongest reason first (ML-9). */
export const REASONS = [
  'assigned',
  'review_requested',
  'mentioned',
  'subscribed',
  'label_subscribed',
  'own_pipeline',
  'participating',
  'watching',
  'custom',
] as const
export type Reason = (typeof REASONS)[number]
