import pg from 'pg'

/** Timestamps, dates and intervals stay text and are decoded by their columns, as in drizzle. */
const TEXT_TYPES = new Set<number>([
  pg.types.builtins.TIMESTAMP,
  pg.types.builtins.DATE,
  pg.types.builtins.INTERVAL,
  // arrays of them and of numeric
  1231,
  1115,
  1185,
  1187,
  1182,
])
const asText = (value: string) => value
/**
 * Converts to ISO 8601: in the format of Postgres, `Date` would misread years below 100 as 19xx or 20xx, or as days.
 */
const asIso = (value: string) => (value[10] === ' ' && value.endsWith('+00') ? `${value.slice(0, 10)}T${value.slice(11, -3)}Z` : value)
/** Parsers of result values, in place of those that drizzle passes with each statement. */
export const TYPES = {
  getTypeParser: (id: number, format?: string) => {
    if (id === pg.types.builtins.TIMESTAMPTZ) return asIso
    return TEXT_TYPES.has(id) ? asText : pg.types.getTypeParser(id, format as 'text')
  },
} as pg.CustomTypesConfig
