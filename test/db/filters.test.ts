import { eq, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, test } from 'vitest'
import { conditionsOf, type Filters, usedFilters } from '../../src/db/filters.js'
import { users } from '../../src/db/schema/index.js'

interface Request {
  username?: string
  external?: boolean
}

const FILTERS = {
  username: { where: (name) => eq(users.username, name), value: ({ username }) => username },
  external: { where: () => sql`${users.external}`, value: ({ external }) => external || undefined, cacheable: false },
} satisfies Filters<Request, keyof Request>

describe('filters of a list', () => {
  test('only those of the request are used, with their values', () => {
    expect(usedFilters(FILTERS, {})).toMatchObject({ names: [], cacheable: true })
    expect(usedFilters(FILTERS, { username: 'ada', external: false })).toMatchObject({
      names: ['username'],
      values: { username: 'ada' },
      cacheable: true,
    })
  })

  test('one filter on data without a version keeps the total from being cached', () => {
    expect(usedFilters(FILTERS, { username: 'ada', external: true })).toMatchObject({ names: ['username', 'external'], cacheable: false })
  })

  test('the value of a condition is the placeholder of the same name', () => {
    const [condition] = conditionsOf(FILTERS, ['username'], null)
    expect(new PgDialect().sqlToQuery(condition ?? sql``)).toMatchObject({
      sql: '"users"."username" = $1',
      params: [{ name: 'username' }],
    })
  })

  test('a filter that the list does not have is an error', () => {
    // @ts-expect-error a misspelt name does not compile
    expect(() => conditionsOf(FILTERS, ['user_name'], null)).toThrow(TypeError)
  })
})
