import type { Command } from 'commander'
import { type Config, readConfig } from '../../config.js'
import type { Rotation } from '../../services/operations/secret-key.js'
import { withContext, withDatabase } from '../context.js'
import { print } from '../output.js'

export function secretCommands(program: Command): void {
  const secret = program
    .command('secret')
    .summary('change the key of encrypted values')
    .description('The key that variables, tokens of webhooks and the like are encrypted with: ROOST_SECRET_KEY, or DATA_DIR/secret.key.')
    .helpCommand(false)
  secret
    .command('rotate')
    .description(
      'Encrypt all values with a new key, while the service is stopped: that of ROOST_NEW_SECRET_KEY, or a new one in DATA_DIR/secret.key.',
    )
    .action(rotate)
  secret
    .command('reset')
    .description('Take the configured key, or a new one, although the values are encrypted with another, which is lost.')
    .action(reset)
}

async function rotate(): Promise<void> {
  const config = readConfig()
  await withContext(config, async (ctx) => {
    const { rotateKey } = await import('../../services/operations/secret-key.js')
    const rotation = await rotateKey(ctx)
    const next = config.secretKey === undefined ? '' : ': set ROOST_SECRET_KEY to it now'
    await print(`${rotation.values} values are encrypted with key ${rotation.key}${next}\n${unopenedText(rotation)}`)
  })
}

async function reset(): Promise<void> {
  const config: Config = readConfig()
  await withDatabase(config, async ({ database }) => {
    const { resetKey } = await import('../../services/operations/secret-key.js')
    const result = await resetKey(config, database)
    await print(`the key of the database is ${result.key}, which opens ${result.values} values\n${unopenedText(result)}`)
  })
}

const unopenedText = ({ unopened }: Rotation) =>
  unopened.length === 0 ? '' : `${unopened.length} values cannot be decrypted: roost doctor names them, and removes them with --repair\n`
