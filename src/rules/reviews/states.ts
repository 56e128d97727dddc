/** What a reviewer has said: an approval stands above what else they have (MR-103). */
export const REVIEWER_STATES = ['unreviewed', 'reviewed', 'requested_changes', 'approved'] as const
export type ReviewerState = (typeof REVIEWER_STATES)[number]

/** What a review says as a whole. */
export const VERDICTS = ['commented', 'requested_changes', 'approved'] as const
export type Verdict = (typeof VERDICTS)[number]
