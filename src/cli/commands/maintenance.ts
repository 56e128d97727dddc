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

/** Works whether or not the service is running; a running one follows within a second (WB-180). */
async function setMaintenance(state: 'on' | 'off' | undefined, { message }: { message?: string }): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const { showSettings, updateSettings } = await import('../../services/core/settings.js')
    if (state !== undefined)
      await updateSettings(
        ctx,
        { user: null },
        { maintenance_mode: state === 'on', ...(message !== undefined && { maintenance_mode_message: message || null }) },
      )
    const { maintenance_mode: on, maintenance_mode_message: text } = (await showSettings(ctx)).values
    await print(on ? `the service is read-only${text ? `: ${text}` : ''}\n` : 'changes are possible\n')
  })
}
