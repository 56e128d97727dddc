import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, spawnAs } from './account.js'
import { run } from './processes.js'
import { type Server, serverEnvironment } from './server.js'

/** The content of pg_hba.conf: every connection needs the password (SEC-174). */
export const HBA = 'local all all scram-sha-256\n'

const passwordFile = (directory: string) => join(directory, 'password')

/** Creates the password, which is required to connect even for processes of the account of Postgres. */
export async function newPassword(directory: string): Promise<string> {
  const password = randomBytes(24).toString('hex')
  await writeFile(passwordFile(directory), password, { mode: 0o600 })
  return password
}

/** The password of the database; created for a database that was set up without one. */
export async function passwordFor(directory: string, server: Server, data: string, account: Account | undefined, existing: boolean): Promise<string> {
  const known = await readFile(passwordFile(directory), 'utf8').catch(() => undefined)
  const trusting = existing && /^local\s+all\s+all\s+trust/m.test(await readFile(join(data, 'pg_hba.conf'), 'utf8'))
  if (known !== undefined && !trusting) return known
  const password = known ?? (await newPassword(directory))
  const child = run(join(server.bin, 'postgres'), ['--single', '-D', data, 'postgres'], {
    ...spawnAs(account),
    cwd: '/',
    env: serverEnvironment(server),
  })
  child.child.stdin?.end(`alter role roost password '${password}'\n`)
  await child
  await writeFile(join(data, 'pg_hba.conf'), HBA)
  return password
}
