import { ci } from './ci.js'
import { code } from './code.js'
import { issuables } from './issuables.js'
import { labels, places } from './places.js'
import { query } from './query.js'
import { users } from './users.js'

/** The schema, in the language of GraphQL: names, types and arguments are those of the original (GQL-1). */
export const SCHEMA = [query, users, places, labels, issuables, code, ci].join('\n')
