import { sql } from 'drizzle-orm'
import type { Database } from './client.js'
import { connectOnce } from './servers.js'

/** Tables of timers, retries and leases, which use the clock of the machine. */
const MACHINE_TIME_TABLES = ['former_repositories', 'jobs', 'pending_repository_deletions', 'ref_intents', 'storage_failures']

/**
 * The time is a constant in every plan; when the function is replaced, Postgres plans the statements that use it again.
 */
const createNow = (moment: Date, or = '') =>
  `create ${or}function test_clock.now() returns timestamptz language sql stable return timestamptz '${moment.toISOString()}'`

/**
 * Makes `now()` the test clock on all later connections to databases of this server that have one. In a database
 * without the schema its name in the search path has no effect.
 */
export const useTestClocks = (url: string): Promise<void> =>
  executeOnce(url, `do $$ begin execute format('alter role %I set search_path = test_clock, pg_catalog, public', current_user); end $$`)

/**
 * Gives a database a stopped clock of its own, also for column defaults; `pg_catalog.now()` stays the clock of the
 * machine. Ids of discussions come from a sequence.
 */
export const installTestClock = (url: string, moment: Date): Promise<void> =>
  executeOnce(
    url,
    `begin; create schema test_clock; ${createNow(moment)}; create sequence public.test_discussions;
    create function test_clock.discussion() returns text language sql volatile as
      $$ select left(md5('discussion ' || n) || md5(n::text), 40) from nextval('public.test_discussions') as n $$;
    alter table public.notes alter column discussion_id set default test_clock.discussion();
    do $$ declare statement text; begin
      for statement in select format('alter table %s alter column %I set default test_clock.now()', a.attrelid::regclass, a.attname)
        from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum join pg_class t on t.oid = a.attrelid
        where t.relnamespace = 'public'::regnamespace and t.relname <> all ('{${MACHINE_TIME_TABLES.join()}}')
          and pg_get_expr(d.adbin, d.adrelid) in ('now()', 'pg_catalog.now()')
      loop execute statement; end loop;
    end $$; commit`,
  )

/** Sets the test clock of a database. */
export const setTestClock = async (db: Database, moment: Date): Promise<void> =>
  void (await db.write.execute(sql.raw(createNow(moment, 'or replace '))))

async function executeOnce(url: string, statements: string): Promise<void> {
  const client = await connectOnce(url, 'roost clock')
  try {
    await client.query(statements)
  } finally {
    await client.end()
  }
}
