import { chown, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartFault } from '../../lib/start-fault.js'
import { type Account, chownTree, findAccount, spawnAs } from './account.js'
import { HBA } from './password.js'
import { run } from './processes.js'
import { type Server, serverEnvironment } from './server.js'

/**
 * Creates the database in a temporary folder and renames it when complete, so that a start that is killed leaves no
 * partial database.
 */
export async function initialise(server: Server, home: string, owner: Account | undefined, durable: boolean, password: string): Promise<void> {
  const account = owner && !owner.named ? await findAccount('nobody') : owner
  if (owner && !account) throw new StartFault('as root an account named postgres or nobody is needed to prepare the database; or set DATABASE_URL')
  const temporary = join(home, 'data.new')
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { mode: 0o700 })
  if (account) await chown(temporary, account.uid, account.gid)
  const passwordFile = join(home, 'password.new')
  const locale = server.major >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C']
  const args = [
    '-D',
    temporary,
    '-U',
    'roost',
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    ...locale,
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
  try {
    const options = { ...spawnAs(account), cwd: '/', env: serverEnvironment(server), timeout: 600_000 }
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (account) await chown(passwordFile, account.uid, account.gid)
    await run(join(server.bin, 'initdb'), [...args, `--pwfile=${passwordFile}`], options)
    await writeFile(join(temporary, 'pg_hba.conf'), HBA)
    if (owner && !owner.named) chownTree(temporary, owner)
  } catch (error) {
    const output = String((error as { stderr?: string }).stderr ?? error)
    if (/could not look up effective user ID|user does not exist/.test(output)) {
      throw new StartFault(`user id ${process.getuid?.()} has no entry in /etc/passwd, which Postgres needs: run as a named user or set DATABASE_URL`)
    }
    throw new StartFault(`the database could not be prepared: ${output.trim().split('\n').at(-1)}`)
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(temporary, join(home, 'data'))
  const folder = await open(home)
  await folder.sync().finally(() => folder.close())
}
