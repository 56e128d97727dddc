import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../../config.js'
import { withContext } from '../context.js'
import { print, printJson } from '../output.js'

interface Options {
  name: string
  scopes: string[]
  expiresAt?: string
  json?: boolean
}

export function tokenCommands(program: Command): void {
  program
    .command('token')
    .summary('create tokens')
    .description('Personal access tokens.')
    .helpCommand(false)
    .command('create')
    .description('Create a personal access token and print it, beside a running service or without one.')
    .argument('<username>', 'whose token it is')
    .option('--name <name>', 'what it is called', 'command line')
    .option('--scopes <scopes>', 'what it may do: api, read_user and so on, separated by commas', listOf, ['api'])
    .option('--expires-at <date>', 'the day (YYYY-MM-DD) from which it is refused', date)
    .option('--json', 'as JSON')
    .action(createToken)
}

/** Creates a personal access token and prints nothing else (CR-3). */
async function createToken(username: string, { name, scopes, expiresAt: expires_at, json }: Options): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const [{ bootstrapAdministrator }, { createTokenFor }] = await Promise.all([
      import('../../services/operations/bootstrap.js'),
      import('../../services/identity/tokens.js'),
    ])
    await bootstrapAdministrator(ctx)
    const token = await createTokenFor(ctx, { username, name, scopes, expires_at })
    await (json ? printJson({ username, name, scopes, expires_at: expires_at ?? null, token }) : print(`${token}\n`))
  })
}

const listOf = (text: string) => text.split(',').map((scope) => scope.trim())

function date(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)) return text
  throw new InvalidArgumentError('It is not a date (YYYY-MM-DD).')
}
