import { Failure, failureText } from '../../failures.js'
import { createToken } from '../../services/identity/tokens.js'
import type { SeedUser } from './declaration.js'
import { below, entries, type Seeder, seedFault } from './seeder.js'

/** Creates users with their tokens and keys. */
export async function seedUsers(seeder: Seeder, users: SeedUser[] | undefined): Promise<void> {
  for (const [user, at] of entries('', 'users', users)) {
    const { state: _, tokens, keys, username, name = username, email = `${username}@example.com`, password = `${username}-password`, ...more } = user
    const { id } = await seeder.call({
      at,
      method: 'POST',
      path: '/users',
      body: { username, name, email, password, skip_confirmation: true, ...more },
    })
    seeder.users.set(username.toLowerCase(), id)
    for (const [token, position] of entries(at, 'tokens', tokens)) await seedToken(seeder, position, { id, admin: user.admin ?? false }, token)
    for (const [key, position] of entries(at, 'keys', keys)) await seeder.call({ at: position, method: 'POST', path: `/users/${id}/keys`, body: key })
  }
}

/** Runs last, since blocked users cannot create anything. */
export async function blockUsers(seeder: Seeder, users: SeedUser[] | undefined): Promise<void> {
  for (const [{ state, username }, at] of entries('', 'users', users))
    if (state === 'blocked') await seeder.call({ at: below(at, 'state'), method: 'POST', path: `/users/${await seeder.user(at, username)}/block` })
}

type SeedToken = NonNullable<SeedUser['tokens']>[number]

/** Does not use the API, which generates the values of tokens itself. */
async function seedToken({ world }: Seeder, at: string, user: { id: number; admin: boolean }, given: SeedToken): Promise<void> {
  const { token, name = 'seed', scopes = ['api'], expires_at } = typeof given === 'string' ? { token: given } : given
  try {
    await createToken(world.ctx, user, { name, scopes, expires_at }, { value: token })
  } catch (thrown) {
    if (thrown instanceof Failure) throw seedFault(at, failureText(thrown.body))
    if (/tokens_digest/.test(String((thrown as { cause?: unknown }).cause ?? thrown))) throw seedFault(at, 'there is such a token already')
    throw thrown
  }
}
