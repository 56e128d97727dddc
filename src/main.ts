import { parseArgs } from 'node:util'
import { AUDIT_USAGE, printAudit } from './cli/audit.js'
import { BACKUP_USAGE, backup, RESTORE_USAGE, restore } from './cli/backup.js'
import { DOCTOR_USAGE, doctor } from './cli/doctor.js'
import { JOBS_USAGE, tellJobs } from './cli/jobs.js'
import { MOVE_USAGE, moveRepositories } from './cli/move-repository.js'
import { serve } from './cli/serve.js'
import { SSH_KEYS_USAGE, SSH_SERVE_USAGE, sshKeys, sshServe } from './cli/ssh.js'
import { createToken, TOKEN_USAGE } from './cli/token.js'
import { serveAsWorker } from './cli/workers/worker.js'
import { type Config, readConfig } from './config.js'
import { type Failure, wordsOf } from './failures.js'
import { StartFault } from './lib/start-fault.js'

interface Command {
  usage: string
  /** What the command does, in a sentence or two. */
  about: string
  run(config: Config, args: string[]): Promise<void>
}

const COMMANDS: Record<string, Command> = {
  serve: {
    usage: 'roost [serve]',
    about: 'Runs the service until SIGTERM, SIGINT or SIGHUP. It is configured by the environment, see README.md.',
    run: async (config, args) => {
      // the parent of several processes starts each of them like this
      const { values } = parseArgs({ args, options: { worker: { type: 'boolean', default: false } } })
      await (values.worker ? serveAsWorker(config) : serve(config))
    },
  },
  'token create': {
    usage: TOKEN_USAGE,
    about: 'Creates a personal access token and prints it, beside a running service or without one.',
    run: createToken,
  },
  audit: { usage: AUDIT_USAGE, about: 'Prints what was done to people, tokens, members and settings, one JSON object a line.', run: printAudit },
  doctor: {
    usage: DOCTOR_USAGE,
    about: 'Checks rows against repositories and objects for being there, with --full for being whole; exit code 1 while a fault is left.',
    run: doctor,
  },
  jobs: {
    usage: JOBS_USAGE,
    about:
      'Prints the jobs by kind (waiting, due later, running, failed, delay of the oldest) and those that failed with their errors. With --retry they are tried again.',
    run: tellJobs,
  },
  'move-repository': {
    usage: MOVE_USAGE,
    about:
      "Moves a project's repository and wiki, or those of all projects in a storage, to another storage of STORAGES, while they are in use; beside a running service or without it.",
    run: moveRepositories,
  },
  backup: {
    usage: BACKUP_USAGE,
    about:
      'Copies everything, as of one moment, into a new folder, while the service runs. With --verify, says whether a backup is whole; exit code 1 while it is not.',
    run: backup,
  },
  'ssh keys': {
    usage: SSH_KEYS_USAGE,
    about: "Answers an OpenSSH server's AuthorizedKeysCommand, see docs/ssh.md.",
    run: sshKeys,
  },
  'ssh serve': {
    usage: SSH_SERVE_USAGE,
    about: 'Runs what a client of an OpenSSH server asks for, as the forced command of a key, see docs/ssh.md.',
    run: sshServe,
  },
  restore: {
    usage: RESTORE_USAGE,
    about: 'Verifies a backup and restores it into an empty DATA_DIR, STORAGES and database, with no service running.',
    run: restore,
  },
}
const USAGE = Object.values(COMMANDS)
  .map(({ usage }, i) => `${i === 0 ? 'usage: ' : '       '}${usage}`)
  .join('\n')
const HELP = new Set(['help', '--help', '-h'])

async function main(words: string[]): Promise<void> {
  const [first = 'serve', second = ''] = words
  if (HELP.has(first)) return void process.stdout.write(`${USAGE}\n`)
  const named = COMMANDS[`${first} ${second}`] ? `${first} ${second}` : first
  const command = Object.hasOwn(COMMANDS, named) ? COMMANDS[named] : undefined
  const args = words.slice(named.split(' ').length)
  if (!command) {
    const words = Object.keys(COMMANDS).filter((name) => name.startsWith(`${first} `))
    if (words.length > 0 && HELP.has(second))
      return void process.stdout.write(`usage: ${words.map((name) => COMMANDS[name]?.usage).join('\n       ')}\n`)
    throw new StartFault(`unknown command '${words.length > 0 ? `${first} ${second}`.trim() : first}'\n${USAGE}`)
  }
  if (args.some((word) => word === '--help' || word === '-h')) return void process.stdout.write(`usage: ${command.usage}\n\n${command.about}\n`)
  await command.run(readConfig(), args)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  // A fault of the set-up is one line; anything else is ours and is printed with its stack.
  const plain = error instanceof StartFault || (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  const failure = error instanceof Error && 'kind' in error // a Failure of a service, such as an unknown user
  const line = plain ? (error as Error).message : failure ? wordsOf((error as Failure).body) : undefined
  process.stderr.write(line !== undefined ? `roost: ${line}\n` : `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
  // Handles that a failed start left open must not keep the process running.
  setTimeout(() => process.exit(1), 500).unref()
}
