import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { kinds } from '../../src/cli/kinds.js'
import { ENQUEUED_NOTICE, TRANSACTION_SETTINGS } from '../../src/db/sql/names.js'
import { createTestDatabase } from '../support/template-database.js'

const FOLDER = 'src/db/sql'
const files = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sql'))
  .map((name) => readFileSync(`${FOLDER}/${name}`, 'utf8'))
const text = files.join('\n')

/** The distinct matches of the first group. */
const found = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name as string))].sort()

describe('the functions and triggers of the database', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>
  let client: pg.Client

  beforeEach(async () => {
    test = await createTestDatabase()
    client = new pg.Client(test.url)
    await client.connect()
  })
  afterEach(async () => {
    await client.end()
    await test.drop()
  })

  const functions = `from pg_proc p where p.pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`

  /** The definitions of all functions and triggers. */
  async function definitions(): Promise<string[]> {
    const { rows } = await client.query<{ definition: string }>(`select pg_get_functiondef(p.oid) as definition ${functions}
      union all select pg_get_triggerdef(t.oid) from pg_trigger t where not t.tgisinternal order by definition`)
    return rows.map(({ definition }) => definition)
  }

  it('are, after all migrations, those of the files in src/db/sql and no others', async () => {
    const migrated = await definitions()
    expect(migrated).toContainEqual(expect.stringMatching(/^CREATE TRIGGER/))
    await client.query(`do $$ declare f regprocedure; begin
      for f in select p.oid::regprocedure ${functions} loop execute format('drop function %s cascade', f); end loop; end $$`)
    expect(await definitions()).toEqual([])
    for (const file of files) await client.query(file)
    expect(await definitions()).toEqual(migrated)
  })

  it('are the same when a file runs again, as a migration that changes it does', async () => {
    const before = await definitions()
    for (const file of files) await client.query(file)
    expect(await definitions()).toEqual(before)
  })
})

describe('names that triggers share with the program', () => {
  it('settings of a transaction: each is set by the program or by the triggers themselves', () => {
    const own = found(/set_config\('(roost\.\w+)'/g)
    expect(found(/current_setting\('(roost\.\w+)'/g)).toEqual([...own, TRANSACTION_SETTINGS.actor, TRANSACTION_SETTINGS.silent].sort())
  })
  it('the SQLSTATE of the notice about a job', () => {
    expect(found(/ERRCODE = '(\w+)'/g)).toEqual([ENQUEUED_NOTICE])
  })
  it('the kinds of the jobs that triggers enqueue', () => {
    const enqueued = found(/INTO jobs \(kind, payload, run_at\) VALUES \('([^']+)'/g)
    expect(enqueued).toHaveLength(2)
    expect(kinds.map(({ kind }) => kind)).toEqual(expect.arrayContaining(enqueued))
  })
})
