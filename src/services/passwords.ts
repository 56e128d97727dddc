import { hash, verify } from '@node-rs/argon2'

/** argon2id with the library's own costs (19 MiB, two passes); runs off the event loop. */
export const hashPassword = (password: string) => hash(password)

let decoy: Promise<string> | undefined

/** Whether the password opens the account. An unknown account, or one without a password, costs the same time as a wrong password (SEC-27). */
export async function checkPassword(stored: string | null | undefined, password: string): Promise<boolean> {
  decoy ??= hashPassword('no account has this one')
  if (password.length === 0 || password.length > 128) return false
  const matches = await verify(stored ?? (await decoy), password)
  return matches && typeof stored === 'string'
}

/** What somebody is told whose password an administrator set (CR-24). */
export const mustChange = (base: string) =>
  `The password was set by an administrator and must be changed before it is used: PUT ${base}/api/v4/user/password with username, current_password and password`
