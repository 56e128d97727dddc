import { and, eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { emails, sshKeys, users } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { emailFault, normaliseEmail } from '../../lib/email.js'
import { audit } from '../core/audit.js'
import { defaultProjectsLimit, readSettings } from '../core/settings.js'
import { ghostId } from '../identity/ghost.js'
import { addKey } from '../identity/keys.js'
import { insertUser, userFaults } from '../identity/users.js'
import { bring, bringAll, findOne, Refused, readAll, type Write } from './bring.js'
import type { Run } from './run.js'
import { EVERYTHING } from './source/dialect.js'
import type { Person, UserRecord } from './source/records.js'

/** Accounts that were here before have this kind in the ledger: nothing of theirs is changed. */
const MATCHED = 'existing user'
const CREATED = 'user'

/** Brings all users that the server lists, and returns their names. */
export async function bringUsers(run: Run): Promise<string[]> {
  const names: string[] = []
  await readAll(run, 'user', EVERYTHING, async (records) => {
    for (const record of records) {
      names.push(record.username)
      run.userIds.set(record.key, await remember(run, record.username, () => placeUser(run, record)))
    }
  })
  return names
}

/** The id here of somebody there; the ghost user stands for those whom the server does not name. */
export async function personId(run: Run, person: Person | null): Promise<number> {
  if (person === null) {
    await run.ledger.leftOut('author', 'unknown', 'unknown authors', 'the server does not name some authors: what they wrote is the ghost user’s')
    return run.ledger.dry ? 0 : ghostId(run.ctx)
  }
  return remember(run, person.username, async () => placeUser(run, await detailed(run, person)))
}

/** The same where nobody is nobody. */
export const maybePersonId = async (run: Run, person: Person | null): Promise<number | null> => person && (await personId(run, person))

function remember(run: Run, username: string, place: () => Promise<number>): Promise<number> {
  const name = username.toLowerCase()
  const known = run.people.get(name) ?? place()
  run.people.set(name, known)
  return known
}

/** What the server knows of somebody who was not in its list of users. */
async function detailed(run: Run, person: Person): Promise<UserRecord> {
  const found = await findOne(run, 'one user', { key: '', path: person.username })
  const profile = { bio: null, location: null, website_url: '', organization: '', messenger: '', jobsnet: '', microblog: '' }
  const same = found?.username.toLowerCase() === person.username.toLowerCase() ? found : undefined
  return same ?? { key: '', ...person, blocked: false, admin: false, external: false, profile, created_at: null }
}

/** Finds the account of somebody, or creates it; their SSH keys come only to accounts that are created. */
async function placeUser(run: Run, record: UserRecord): Promise<number> {
  const key = record.username.toLowerCase()
  const known = (await run.ledger.known(CREATED, [key])).get(key)
  if (known && (await isThere(run, known))) {
    await bringKeys(run, record, known)
    return known
  }
  const existing = await existingUser(run, record)
  const item = { kind: existing === null ? CREATED : MATCHED, key, name: record.username }
  const created = await bring(run, item, async () => (existing === null ? newUser(run, record) : async () => existing))
  if (run.ledger.dry) return 0
  if (created === null) return ghostId(run.ctx)
  if (existing === null) await bringKeys(run, record, created)
  return created
}

const isThere = async ({ ctx }: Run, id: number) => (await ctx.db.write.$count(users, eq(users.id, id))) > 0

/** By the map that was given, by username, or by e-mail address. */
async function existingUser(run: Run, { username, email }: UserRecord): Promise<number | null> {
  const { db } = run.ctx
  const mapped = run.options.users?.get(username.toLowerCase())
  const find = async (where: ReturnType<typeof sql>) =>
    (
      await db.write
        .select({ id: users.id })
        .from(users)
        .where(and(eq(users.kind, 'human'), where))
    )[0]?.id ?? null
  const named = await find(sql`lower(${users.username}) = ${(mapped ?? username).toLowerCase()}`)
  if (named !== null || mapped !== undefined || email === null) return named
  const address = normaliseEmail(email)
  return find(
    sql`(lower(${users.email}) = ${address} and ${users.confirmed_at} is not null or ${users.id} in (select e.user_id from ${emails} e where lower(e.email) = ${address} and e.confirmed_at is not null))`,
  )
}

/** Of a domain that can have no mailbox. */
const NO_MAILBOX = 'users.invalid'

async function newUser(run: Run, record: UserRecord): Promise<Write> {
  const { ctx } = run
  const { username, name, profile, created_at, admin } = record
  const mapped = run.options.users?.get(username.toLowerCase())
  if (mapped !== undefined) throw new Refused(`the map names ${mapped}, who does not exist`)
  const settings = await readSettings(ctx)
  const given = record.email === null ? null : normaliseEmail(record.email)
  const email = given !== null && emailFault(given) === null ? given : null
  if (admin) await run.ledger.leftOut('administrator', username.toLowerCase(), username, 'is an ordinary user here')
  if (email === null)
    await run.ledger.leftOut(
      'e-mail address',
      username.toLowerCase(),
      username,
      'is not known, so that the user is blocked: give them one and unblock them',
    )
  const values = { username, name, email: email ?? `${username.toLowerCase()}@${NO_MAILBOX}`, ...profile }
  if (run.ledger.dry) await ctx.db.transaction((tx) => refuseFaults(tx, values))
  return async (tx) => {
    await refuseFaults(tx, values)
    const now = ctx.now()
    const user = await insertUser(tx, {
      ...values,
      state: record.blocked || email === null ? 'blocked' : 'active',
      projects_limit: defaultProjectsLimit(settings),
      external: record.external || settings.user_default_external,
      confirmed_at: email === null ? null : now,
      created_at: created_at ?? now,
      updated_at: now,
    })
    await audit(ctx, tx, { action: 'user_created', target: { type: 'user', id: user.id, name: username }, changes: { imported: true } })
    return user.id
  }
}

async function refuseFaults(tx: Transaction, user: Parameters<typeof userFaults>[1]): Promise<void> {
  const faults = await userFaults(tx, user, null)
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

/** A key opens an account: those of accounts that were here before are added by their owners. */
async function bringKeys(run: Run, { key, username }: UserRecord, here: number): Promise<void> {
  await bringAll(run, 'key', { key: key || username, path: username }, async ({ title, line, created_at }) => async (tx, ctx) => {
    const { id } = await addKey(ctx, { id: here, username }, { title, key: line })
    if (created_at) await tx.update(sshKeys).set({ created_at }).where(eq(sshKeys.id, id))
    return id
  })
}
