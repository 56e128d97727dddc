import { and, eq, isNull, type SQL } from 'drizzle-orm'
import { mergeRequests } from './schema/index.js'

/** Open merge requests; changes of branches affect only these (MR-75). */
export const isOpen = and(eq(mergeRequests.state, 'opened'), isNull(mergeRequests.deleted_at)) as SQL
