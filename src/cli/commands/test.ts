import { type Command, InvalidArgumentError } from 'commander'
import { NAME, NAME_RULE } from '../../testing/parameters.js'
import { serveForTests } from '../../testing/serve.js'

const USE = `
Prints one line of JSON when it is ready: url, username, token and password of an administrator, and the address of the
channel that controls it. What it stores is in memory or in the temporary folder, and is gone when it ends; it ends with
the process that started it.`

export function testCommand(program: Command): void {
  program
    .command('test')
    .summary('run an empty service for the tests of other programs')
    .description('Run an empty service for the tests of other programs, see docs/testing.md.')
    .option('--port <port>', 'the port of 127.0.0.1; a free one otherwise', port)
    .option('--world <name>', 'the name of the first world', worldName, 'default')
    .option('--ssh', 'serve SSH as well, on a free port')
    .addHelpText('after', USE)
    .action(({ port = 0, ssh = false, world }: { port?: number; ssh?: boolean; world: string }) => serveForTests({ port, ssh, world }))
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('It is not a port.')
  return Number(text)
}

function worldName(text: string): string {
  if (!NAME.test(text)) throw new InvalidArgumentError(`It ${NAME_RULE}.`)
  return text
}
