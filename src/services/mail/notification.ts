import { z } from 'zod'
import { MAIL_EVENTS } from '../../lib/notifications.js'

/** Beside the events that can be switched on: somebody was mentioned by a change; labels were put on something. */
const FURTHER_EVENTS = ['mention', 'relabel'] as const

/** What people are mailed about, by ids: what is said of it is read when it is sent (ML-11). */
export const Notification = z.object({
  event: z.enum([...MAIL_EVENTS, ...FURTHER_EVENTS]),
  project: z.int(),
  /** Who did it; null: nobody in particular. */
  actor: z.int().nullable(),
  target: z.enum(['Issue', 'MergeRequest', 'Commit', 'Snippet', 'Pipeline', 'Release']),
  /** Null for a commit. */
  id: z.int().nullable(),
  sha: z.string().nullable().default(null),
  note: z.int().nullable().default(null),
  /** Who was assigned before. */
  former: z.int().nullable().default(null),
  /** That were put on it. */
  labels: z.array(z.int()).default([]),
})

export type Notification = z.output<typeof Notification>

/** Why somebody is mailed, the strongest reason first (ML-9). */
export const REASONS = ['assigned', 'mentioned', 'subscribed', 'label_subscribed', 'own_pipeline', 'participating', 'watching', 'custom'] as const
export type Reason = (typeof REASONS)[number]
