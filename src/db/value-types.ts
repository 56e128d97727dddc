import pg from 'pg'

/** Timestamps, dates and intervals stay text and are decoded by their columns, as drizzle does it. */
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
/** As ISO 8601, because `Date` takes a year below 100 in another form for one of 1900 or 2000, or for a day. */
const asIso = (value: string) => (value[10] === ' ' && value.endsWith('+00') ? `${value.slice(0, 10)}T${value.slice(11, -3)}Z` : value)
/** How values that Postgres answers are read, in place of what drizzle gives with each statement. */
export const TYPES = {
  getTypeParser: (id: number, format?: string) => {
    if (id === pg.types.builtins.TIMESTAMPTZ) return asIso
    return TEXT_TYPES.has(id) ? asText : pg.types.getTypeParser(id, format as 'text')
  },
} as pg.CustomTypesConfig
