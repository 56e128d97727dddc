import { sql } from 'drizzle-orm'
import type { Database } from './client.js'
import { connectOnce } from './servers.js'

/** Tables that timers, retries and leases are kept in: they go by the machine's clock. */
const BY_THE_MACHINE = ['former_repositories', 'jobs', 'pending_repository_deletions', 'ref_intents', 'storage_failures']

/** Built into each plan as a constant; when it is replaced, Postgres plans anew what has it. */
const clockAt = (moment: Date, or = '') =>
  `create ${or}function test_clock.now() returns timestamptz language sql stable return timestamptz '${moment.toISOString()}'`

/**
 * Gives a database a clock of its own, which stands still: `now()` means it on connections that are made from then on,
 * and in the defaults of columns; `pg_catalog.now()` is the machine's. Ids of discussions come from a sequence.
 */
export async function installTestClock(url: string, moment: Date): Promise<void> {
  const client = await connectOnce(url, 'roost clock')
  try {
    await client.query(`begin; create schema test_clock; ${clockAt(moment)}; create sequence test_clock.discussions;
      create function test_clock.discussion() returns text language sql volatile as
        $$ select left(md5('discussion ' || n) || md5(n::text), 40) from nextval('test_clock.discussions') as n $$;
      alter table notes alter column discussion_id set default test_clock.discussion();
      do $$ declare statement text; begin
        for statement in select format('alter table %s alter column %I set default test_clock.now()', a.attrelid::regclass, a.attname)
          from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum join pg_class t on t.oid = a.attrelid
          where t.relnamespace = 'public'::regnamespace and pg_get_expr(d.adbin, d.adrelid) = 'now()'
            and t.relname <> all ('{${BY_THE_MACHINE.join()}}')
        loop execute statement; end loop;
        -- of each copy of this database as well; where there is no such schema the name means nothing
        execute format('alter role %I set search_path = test_clock, pg_catalog, public', current_user);
      end $$; commit`)
  } finally {
    await client.end()
  }
}

/** Moves the clock of a database that has one. */
export const setTestClock = async (db: Database, moment: Date): Promise<void> =>
  void (await db.write.execute(sql.raw(clockAt(moment, 'or replace '))))
