import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'

const t = testApp()

/** Columns of foreign keys with what goes on with them, and the indexes that begin with them: `where` is an index's own condition. People are left out, for they are deleted one at a time. */
const KEYS = `select c.conname as name, (select count(*)::int from pg_index i where i.indrelid = c.conrelid
    and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indpred is null or cardinality(c.conkey) = 1 and
      pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)')) as indexes
  from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
  where c.contype = 'f' and c.confrelid <> 'users'::regclass order by 1`

describe('foreign keys', () => {
  it('find the rows that go with a row by an index, however many others there are', async () => {
    const client = new pg.Client({ connectionString: t.databaseUrl })
    await client.connect()
    try {
      const { rows } = await client.query<{ name: string; indexes: number }>(KEYS)
      expect(rows.length).toBeGreaterThan(50)
      expect(rows.filter(({ indexes }) => indexes === 0)).toEqual([])
    } finally {
      await client.end()
    }
  })
})
