import { type Command, Option } from 'commander'
import { readConfig } from '../../config.js'
import { serve } from '../serve.js'

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .summary('run the service; what `roost` alone does')
    .description('Run the service until SIGTERM, SIGINT or SIGHUP.')
    // the parent process starts its workers with this option
    .addOption(new Option('--worker').hideHelp())
    .action(async ({ worker }: { worker?: boolean }) => {
      const run = worker ? (await import('../workers/worker.js')).serveAsWorker : serve
      await run(readConfig())
    })
}
