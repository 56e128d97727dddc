import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { defineJob } from '../../src/jobs/kinds.js'

/**
 * Takes the milliseconds of its input; records its run in the table `runs`, in which two runs at once are refused by a lock that ends with the
 * process, and then are recorded as doubled.
 */
export const lockingJob = (client: pg.Client) =>
  defineJob({
    kind: 'locking',
    input: z.object({ name: z.string(), takes: z.number() }),
    perLane: 2,
    async run(_: unknown, { name, takes }) {
      const { rows } = await client.query('select pg_try_advisory_lock(hashtextextended($1, 1)) as mine', [name])
      await client.query('insert into runs (name, doubled) values ($1, $2)', [name, !rows[0].mine])
      await sleep(takes)
      await client.query('insert into finished (name) values ($1)', [name])
      if (rows[0].mine) await client.query('select pg_advisory_unlock(hashtextextended($1, 1))', [name])
    },
  })

export async function lockingKinds(url: string) {
  const client = new pg.Client({ connectionString: url, pipeline: true })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('create table if not exists runs (name text, doubled boolean)')
  await client.query('create table if not exists finished (name text)')
  return { client, kinds: [lockingJob(client)] }
}
