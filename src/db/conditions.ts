import { and, eq, isNull, type SQL } from 'drizzle-orm'
import { mergeRequests } from './schema/index.js'

/** Merge requests that are open: only these are touched by what happens to branches (MR-75). */
export const isOpen = and(eq(mergeRequests.state, 'opened'), isNull(mergeRequests.deleted_at)) as SQL
