import { AUDIT_USAGE, printAudit } from './cli/audit.js'
import { BACKUP_USAGE, backup, RESTORE_USAGE, restore } from './cli/backup.js'
import { DOCTOR_USAGE, doctor } from './cli/doctor.js'
import { serve } from './cli/serve.js'
import { createToken, TOKEN_USAGE } from './cli/token.js'
import { readConfig } from './config.js'
import { StartFault } from './lib/start-fault.js'

const USAGE = `usage: roost [serve]\n       ${TOKEN_USAGE}\n       ${AUDIT_USAGE}\n       ${DOCTOR_USAGE}\n       ${BACKUP_USAGE}\n       ${RESTORE_USAGE}`

async function main([command = 'serve', ...args]: string[]): Promise<void> {
  if (command === 'serve' && args.length === 0) await serve(readConfig())
  else if (command === 'token' && args[0] === 'create') await createToken(readConfig(), args.slice(1))
  else if (command === 'audit') await printAudit(readConfig(), args)
  else if (command === 'doctor') await doctor(readConfig(), args)
  else if (command === 'backup') await backup(readConfig(), args)
  else if (command === 'restore') await restore(readConfig(), args)
  else if (['help', '--help', '-h'].includes(command)) process.stdout.write(`${USAGE}\n`)
  else throw new StartFault(USAGE)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  // A fault of the set-up is one line; anything else is ours and comes with its stack.
  const plain = error instanceof StartFault || (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  const failure = error instanceof Error && 'kind' in error // a Failure of a service, such as an unknown user
  process.stderr.write(plain || failure ? `roost: ${(error as Error).message}\n` : `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
  // Handles that a failed start left open must not keep the process.
  setTimeout(() => process.exit(1), 500).unref()
}
