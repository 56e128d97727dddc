import { and, eq, sql } from 'drizzle-orm'
import type { Transaction } from '../../db/client.js'
import { emails, sshKeys, users } from '../../db/schema/index.js'
import { invalidRecord } from '../../failures.js'
import { emailFault, normaliseEmail } from '../../rules/email.js'
import { audit } from '../core/audit.js'
import { readSettings } from '../core/settings.js'
import { ghostId } from '../identity/ghost.js'
import { addKey } from '../identity/keys.js'
import { insertUser, userFaults } from '../identity/users.js'
import { MAX_PEOPLE } from '../issuables/readers.js'
import { CannotImport, fetchFirst, importItem, importList, readList, type Write } from './items.js'
import type { Run } from './run.js'
import { WHOLE_SERVER } from './source/dialect.js'
import type { Person, UserRecord } from './source/records.js'

/** The ledger kind of accounts that existed before the import; these are not changed. */
const MATCHED = 'existing user'
const CREATED = 'user'

/** Imports all users that the server lists, and returns their usernames. */
export async function importUsers(run: Run): Promise<string[]> {
  const names: string[] = []
  await readList(run, 'user', WHOLE_SERVER, async (records) => {
    for (const record of records) {
      names.push(record.username)
      run.userIdsByKey.set(record.key, await cachedUserId(run, record.username, () => findOrImportUser(run, record)))
    }
  })
  return names
}

/** The local id of a source user, imported if necessary; the ghost user if the server does not name one. */
export async function personId(run: Run, person: Person | null): Promise<number> {
  if (person === null) {
    await run.ledger.reportLeftOut(
      'author',
      'unknown',
      'unknown authors',
      'the server does not name some authors: what they wrote is the ghost user’s',
    )
    return run.ledger.dry ? 0 : ghostId(run.ctx)
  }
  return cachedUserId(run, person.username, async () => findOrImportUser(run, await fetchUser(run, person)))
}

/** Like personId, but null stays null. */
export const maybePersonId = async (run: Run, person: Person | null): Promise<number | null> => person && (await personId(run, person))

/** The local ids of several users in their order, each once, up to as many as there may be (MR-620). */
export async function personIds(run: Run, people: readonly Person[]): Promise<number[]> {
  const ids = new Set<number>()
  for (const person of people.slice(0, MAX_PEOPLE)) ids.add(await personId(run, person))
  return [...ids]
}

function cachedUserId(run: Run, username: string, place: () => Promise<number>): Promise<number> {
  const name = username.toLowerCase()
  const known = run.userIdsByName.get(name) ?? place()
  run.userIdsByName.set(name, known)
  return known
}

/** Looks up a user who was not in the list of users; falls back to the embedded fields. */
async function fetchUser(run: Run, person: Person): Promise<UserRecord> {
  const found = await fetchFirst(run, 'one user', { key: '', path: person.username })
  const profile = {
    bio: null,
    location: null,
    website_url: '',
    organization: '',
    messenger: '',
    jobsnet: '',
    microblog: '',
    public_email: '',
    private_profile: false,
  }
  const same = found?.username.toLowerCase() === person.username.toLowerCase() ? found : undefined
  return same ?? { key: '', ...person, blocked: false, admin: false, external: false, profile, created_at: null }
}

/** Finds the local account of a user, or creates it. SSH keys are imported only for created accounts. */
async function findOrImportUser(run: Run, record: UserRecord): Promise<number> {
  const key = record.username.toLowerCase()
  const known = (await run.ledger.findImported(CREATED, [key])).get(key)
  if (known && (await userExists(run, known))) {
    await importKeys(run, record, known)
    return known
  }
  const existing = await existingUser(run, record)
  const item = { kind: existing === null ? CREATED : MATCHED, key, name: record.username }
  const created = await importItem(run, item, async () => (existing === null ? prepareUser(run, record) : async () => existing))
  if (run.ledger.dry) return 0
  if (created === null) return ghostId(run.ctx)
  if (existing === null) await importKeys(run, record, created)
  return created
}

const userExists = async ({ ctx }: Run, id: number) => (await ctx.db.write.$count(users, eq(users.id, id))) > 0

/** Matches by the given map, by username, or by confirmed e-mail address. */
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

/** `.invalid` can have no mailbox (RFC 2606). */
const PLACEHOLDER_EMAIL_DOMAIN = 'users.invalid'

async function prepareUser(run: Run, record: UserRecord): Promise<Write> {
  const { ctx } = run
  const { username, name, profile, created_at, admin } = record
  const mapped = run.options.users?.get(username.toLowerCase())
  if (mapped !== undefined) throw new CannotImport(`the map names ${mapped}, who does not exist`)
  const settings = await readSettings(ctx)
  const given = record.email === null ? null : normaliseEmail(record.email)
  const email = given !== null && emailFault(given) === null ? given : null
  if (admin) await run.ledger.reportLeftOut('administrator', username.toLowerCase(), username, 'is an ordinary user here')
  if (email === null)
    await run.ledger.reportLeftOut(
      'e-mail address',
      username.toLowerCase(),
      username,
      'is not known, so that the user is blocked: give them one and unblock them',
    )
  const public_email = email !== null && normaliseEmail(profile.public_email) === email ? email : ''
  const values = { username, name, email: email ?? `${username.toLowerCase()}@${PLACEHOLDER_EMAIL_DOMAIN}`, ...profile, public_email }
  if (run.ledger.dry) await ctx.db.transaction((tx) => refuseFaults(tx, values))
  return async (tx) => {
    await refuseFaults(tx, values)
    const now = ctx.now()
    const user = await insertUser(tx, {
      ...values,
      state: record.blocked || email === null ? 'blocked' : 'active',
      projects_limit: settings.default_projects_limit,
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

/** Only for created accounts: a key grants access, so existing users add theirs themselves. */
async function importKeys(run: Run, { key, username }: UserRecord, here: number): Promise<void> {
  await importList(run, 'key', { key: key || username, path: username }, async ({ title, line, created_at }) => async (tx, ctx) => {
    // an import mails nothing
    const { id } = await addKey({ ...ctx, mail: null }, { id: here, username }, { title, key: line })
    if (created_at) await tx.update(sshKeys).set({ created_at }).where(eq(sshKeys.id, id))
    return id
  })
}
