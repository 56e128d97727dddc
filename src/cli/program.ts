import { Command, CommanderError } from 'commander'
import { heldTextsCommand, limitsCommand, providersCommand } from './commands/administration.js'
import { auditCommand } from './commands/audit.js'
import { backupCommand, restoreCommand } from './commands/backup.js'
import { completionCommand } from './commands/completion.js'
import { doctorCommand } from './commands/doctor.js'
import { importCommand } from './commands/import.js'
import { jobsCommand } from './commands/jobs.js'
import { mailCommand } from './commands/mail.js'
import { maintenanceCommand } from './commands/maintenance.js'
import { moveCommand } from './commands/move-repository.js'
import { groupCommands, projectCommands } from './commands/restore-deleted.js'
import { secretCommands } from './commands/secret.js'
import { serveCommand } from './commands/serve.js'
import { sshCommands } from './commands/ssh.js'
import { testCommand } from './commands/test.js'
import { tokenCommands } from './commands/token.js'
import { userCommands } from './commands/user.js'
import { versionCommand } from './commands/version.js'

/** The exit code for an invalid command line. */
const USAGE = 2

const ABOUT = 'A self-hosted Git repository hosting service, configured by its environment. Without a command it serves.'

function createProgram(version: string): Command {
  const program = new Command('roost')
  program
    .description(ABOUT)
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .helpOption('-h, --help', 'print this')
    .helpCommand('help [command...]', 'print how a command is used')
  for (const add of [
    serveCommand,
    testCommand,
    userCommands,
    tokenCommands,
    projectCommands,
    groupCommands,
    doctorCommand,
    secretCommands,
    jobsCommand,
    auditCommand,
    heldTextsCommand,
    limitsCommand,
    providersCommand,
    mailCommand,
    backupCommand,
    restoreCommand,
    importCommand,
    moveCommand,
    maintenanceCommand,
    sshCommands,
    completionCommand,
    versionCommand,
  ])
    add(program, version)
  return program
}

/**
 * Runs a command line; the default command is `serve`. An invalid command line is reported with a hint to the help,
 * with exit code 2; other errors are thrown.
 */
export async function runProgram(words: readonly string[], version: string): Promise<void> {
  const program = createProgram(version)
  try {
    await program.parseAsync(lineOf(words), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return
    process.exitCode = USAGE
    // a command group without a subcommand; its help has been printed
    if (error.code === 'commander.help') return
    process.stderr.write(
      `roost: ${error.message.replace(/^error: /, '')}\nroost: see 'roost ${[...commandOf(program, words), '--help'].join(' ')}'\n`,
    )
  }
}

/** Adds the default command, and turns `help <command>` into `<command> --help`. */
function lineOf(words: readonly string[]): readonly string[] {
  const [first, ...rest] = words
  if (first === 'help') return [...rest, '--help']
  return first === undefined || (first.startsWith('-') && first !== '--help' && first !== '-h') ? ['serve', ...words] : words
}

/** The longest prefix of the words that names a command. */
function commandOf(program: Command, words: readonly string[]): string[] {
  const [word, ...rest] = words
  const command = program.commands.find((command) => command.name() === word)
  return command ? [command.name(), ...commandOf(command, rest)] : []
}
