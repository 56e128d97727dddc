import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { and, asc, eq, gt, or, sql } from 'drizzle-orm'
import { readConfig } from '../../config.js'
import type { Context } from '../../context.js'
import { users } from '../../db/schema/index.js'
import { notFound } from '../../failures.js'
import { StartFault } from '../../lib/start-fault.js'
import { withContext } from '../context.js'
import { print, printJson, table } from '../output.js'

/** Users to read per query. */
const BATCH = 1_000

const PASSWORD_OPTION = ['--password-stdin', 'read the password from standard input; otherwise one is made and printed'] as const

export function userCommands(program: Command): void {
  const user = program
    .command('user')
    .summary('create, list, approve and block users, set passwords, turn off second factors')
    .description('Users, for administrators with a shell on the machine.')
    .usage('<command> | <username> --approve | <username> --no-second-factor')
    .helpCommand(false)
    .argument('[username]')
    .option('--approve', 'let this user in, who has signed up and waits for approval')
    .option('--no-second-factor', 'turn off the second factor of this user')
    .action(changeSignIn)
  user
    .command('create')
    .description('Create a user with a confirmed address.')
    .argument('<username>')
    .requiredOption('--email <address>', 'their address')
    .option('--name <name>', 'their name; the username if it is not given')
    .option('--admin', 'make them an administrator')
    .option(...PASSWORD_OPTION)
    .option('--json', 'as JSON')
    .action(create)
  user
    .command('password')
    .description('Set the password of a user, who must change it before it signs them in.')
    .argument('<username>')
    .option(...PASSWORD_OPTION)
    .option('--json', 'as JSON')
    .action(setPassword)
  for (const [name, state, about] of [
    ['block', 'blocked', 'Block a user: nothing of theirs signs in or works any more, and nothing is removed.'],
    ['unblock', 'active', 'Let a blocked user in again.'],
    ['ban', 'banned', 'Ban a user: nothing of theirs signs in or works any more, until they are unbanned.'],
    ['unban', 'active', 'Let a banned user in again.'],
    ['deactivate', 'deactivated', 'Deactivate a user who was away for 90 days: nothing of theirs works before they sign in again.'],
    ['activate', 'active', 'Activate a deactivated user.'],
  ] as const)
    user
      .command(name)
      .description(about)
      .argument('<username>')
      .action((username: string) => changeState(username, name, state))
  user
    .command('import')
    .description(
      'Create users from comma-separated values, whose first line names the columns: username, email, name, admin, external, projects_limit, password.',
    )
    .argument('<file>', 'the file; - is standard input')
    .option('--json', 'one JSON object a line')
    .action(importFile)
  user
    .command('list')
    .description('List users by their usernames.')
    .option('--admins', 'administrators only')
    .option('--blocked', 'blocked users only')
    .option('--search <text>', 'those with this in their username, name or address')
    .option('--json', 'one JSON object a line')
    .action(list)
}

interface Filter {
  admins?: boolean
  blocked?: boolean
  search?: string
}

interface PasswordOptions {
  passwordStdin?: boolean
  json?: boolean
}

async function create(username: string, options: PasswordOptions & { email: string; name?: string; admin?: boolean }): Promise<void> {
  const { email, name = username, admin = false, json } = options
  const { password, generated } = await chosenPassword(options)
  await withContext(readConfig(), async (ctx) => {
    const { createUser } = await import('../../services/identity/users.js')
    const { id } = await createUser(ctx, { username, email, name, admin, password, skip_confirmation: true })
    if (json) return printJson({ id, username, email: email.toLowerCase(), admin, ...(generated && { password }) })
    await print(generated ? `${password}\n` : `user ${username} has id ${id}\n`)
  })
}

async function setPassword(username: string, options: PasswordOptions): Promise<void> {
  const { password, generated } = await chosenPassword(options)
  await withContext(readConfig(), async (ctx) => {
    const [{ updateUser }, { passwordFault }] = await Promise.all([
      import('../../services/identity/user-update.js'),
      import('../../services/identity/users.js'),
    ])
    const { id } = await userNamed(ctx, username)
    const fault = passwordFault(password)
    if (fault) throw new StartFault(`the password ${fault}`)
    await updateUser(ctx, id, { password })
    if (options.json) return printJson({ id, username, ...(generated && { password }) })
    await print(generated ? `${password}\n` : `user ${username} has a new password\n`)
  })
}

async function changeState(
  username: string,
  command: 'block' | 'unblock' | 'ban' | 'unban' | 'deactivate' | 'activate',
  state: string,
): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const { userStateChanges } = await import('../../services/identity/user-state.js')
    const changed = await userStateChanges[command](ctx, (await userNamed(ctx, username)).id)
    await print(`user ${username} ${changed ? 'is' : 'was already'} ${state}\n`)
  })
}

interface SignInChange {
  approve?: boolean
  secondFactor: boolean
}

async function changeSignIn(username: string | undefined, { approve, secondFactor }: SignInChange, command: Command): Promise<void> {
  if (username === undefined || (!approve && secondFactor)) return command.help({ error: true })
  await withContext(readConfig(), async (ctx) => {
    const [{ disableSecondFactor }, { approveUser }, { getUser }] = await Promise.all([
      import('../../services/identity/sign-in/second-factor.js'),
      import('../../services/identity/sign-in/sign-up.js'),
      import('../../services/identity/users.js'),
    ])
    const { id } = await userNamed(ctx, username)
    if (approve) {
      await approveUser(ctx, id)
      await print(`user ${username} is approved\n`)
    }
    if (!secondFactor) {
      await disableSecondFactor(ctx, await getUser(ctx, id))
      await print(`user ${username} signs in with the password alone\n`)
    }
  })
}

async function list({ json, ...filter }: Filter & { json?: boolean }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const rows: (string | number)[][] = []
    for await (const user of usersIn(ctx, filter)) {
      const { id, username, name, email, state, admin } = user
      if (json) await printJson(user)
      else rows.push([id, username, name, email, admin ? `${state}, admin` : state])
    }
    if (!json) await print(table(['id', 'username', 'name', 'email', 'state'], rows))
  })
}

/** Prints what became of each line, with the passwords that were made up; fails if one was refused (WB-185). */
async function importFile(path: string, { json }: { json?: boolean }): Promise<void> {
  const content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  await withContext(readConfig(), async (ctx) => {
    const { importUsers } = await import('../../services/operations/user-import.js')
    const users = await importUsers(ctx, content)
    if (json) for (const user of users) await printJson(user)
    else
      await print(
        table(
          ['line', 'username', 'password', 'fault'],
          users.map(({ line, username, password, fault }) => [line, username, password ?? '', fault ?? '']),
        ),
      )
    const refused = users.filter(({ fault }) => fault !== null).length
    if (refused > 0) throw new StartFault(`${refused} of ${users.length} users were not created`)
  })
}

/** Human users that match the filter, ordered by username. */
async function* usersIn({ db }: Context, { admins, blocked, search }: Filter) {
  const wanted = and(
    eq(users.kind, 'human'),
    admins ? users.admin : undefined,
    blocked ? sql`${users.state} not in ('active', 'deactivated')` : undefined,
    search === undefined
      ? undefined
      : or(...[users.username, users.name, users.email].map((column) => sql`strpos(lower(${column}), lower(${search})) > 0`)),
  )
  const { id, username, name, email, state, admin, created_at } = users
  for (let last = ''; ; ) {
    const batch = await db.write
      .select({ id, username, name, email, state, admin, created_at })
      .from(users)
      .where(and(wanted, gt(username, last)))
      .orderBy(asc(username))
      .limit(BATCH)
    yield* batch
    if (batch.length < BATCH) return
    last = batch.at(-1)?.username as string
  }
}

async function userNamed(ctx: Context, username: string): Promise<{ id: number }> {
  const { findUserByName } = await import('../../services/identity/users.js')
  const user = await findUserByName(ctx, username)
  if (user?.kind !== 'human') throw notFound('User')
  return user
}

/** The password from standard input without its final line break, or a new random one. */
async function chosenPassword({ passwordStdin }: PasswordOptions): Promise<{ password: string; generated: boolean }> {
  if (!passwordStdin) return { password: randomBytes(18).toString('base64url'), generated: true }
  return { password: (await text(process.stdin)).replace(/\r?\n$/, ''), generated: false }
}
