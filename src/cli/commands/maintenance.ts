import { setTimeout as sleep } from 'node:timers/promises'
import { Argument, type Command } from 'commander'
import { readConfig } from '../../config.js'
import { withContext } from '../context.js'
import { print } from '../output.js'

export function maintenanceCommand(program: Command): void {
  program
    .command('maintenance')
    .summary('make the service read-only, or allow changes again')
    .description(
      'While it is on, what changes something is refused with 503 and the message; reads, clones and fetches go on. Without an argument it says what is.',
    )
    .addArgument(new Argument('[state]').choices(['on', 'off']))
    .option('--message <text>', 'why, and until when; shown to everybody')
    .action(setMaintenance)
}

/** Works whether or not the service is running; ends when all processes of a running one follow (WB-180). */
async function setMaintenance(state: 'on' | 'off' | undefined, { message }: { message?: string }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const { showSettings, updateSettings } = await import('../../services/core/settings.js')
    if (state !== undefined) {
      const { SETTINGS_TTL_MS } = await import('../../services/core/settings-cache.js')
      await updateSettings(
        ctx,
        { user: null },
        { maintenance_mode: state === 'on', ...(message !== undefined && { maintenance_mode_message: message || null }) },
      )
      await sleep(SETTINGS_TTL_MS)
    }
    const { maintenance_mode: on, maintenance_mode_message: text } = (await showSettings(ctx)).values
    await print(on ? `the service is read-only${text ? `: ${text}` : ''}\n` : 'changes are possible\n')
  })
}
