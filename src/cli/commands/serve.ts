import { type Command, Option } from 'commander'
import { readConfig } from '../../config.js'
import { serve } from '../serve.js'
import { serveAsWorker } from '../workers/worker.js'

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .summary('run the service; what `roost` alone does')
    .description('Run the service until SIGTERM, SIGINT or SIGHUP.')
    // the parent of several processes starts each of them like this
    .addOption(new Option('--worker').hideHelp())
    .action(({ worker }: { worker?: boolean }) => (worker ? serveAsWorker : serve)(readConfig()))
}
