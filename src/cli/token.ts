import { parseArgs } from 'node:util'
import { type Config, ConfigFault } from '../config.js'
import { withContext } from './context.js'

export const TOKEN_USAGE = 'roost token create <username> [--name NAME] [--scopes api,read_user] [--expires-at YYYY-MM-DD]'

/** Creates a personal access token and prints only that; while the service runs or without it (CR-3). */
export async function createToken(given: Config, args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { name: { type: 'string' }, scopes: { type: 'string' }, 'expires-at': { type: 'string' } },
  })
  const [username, ...rest] = positionals
  const expiresAt = values['expires-at']
  if (username === undefined || rest.length > 0)
    throw new ConfigFault(`${username === undefined ? 'no username is given' : `unexpected argument '${rest[0]}'`}; usage: ${TOKEN_USAGE}`)
  if (expiresAt !== undefined && !isDate(expiresAt)) throw new ConfigFault(`--expires-at ${expiresAt} is not a date (YYYY-MM-DD)`)
  const scopes = (values.scopes ?? 'api').split(',').map((scope) => scope.trim())

  await withContext(given, async (ctx) => {
    const [{ bootstrapAdministrator }, { createTokenFor }] = await Promise.all([
      import('../services/operations/bootstrap.js'),
      import('../services/identity/tokens.js'),
    ])
    await bootstrapAdministrator(ctx)
    const token = await createTokenFor(ctx, { username, name: values.name ?? 'command line', scopes, expires_at: expiresAt })
    process.stdout.write(`${token}\n`)
  })
}

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
}
