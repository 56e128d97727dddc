import { type Command, InvalidArgumentError } from 'commander'
import { NAME, NAME_RULE } from '../../testing/parameters.js'
import { serveForTests, type TestOptions } from '../../testing/serve.js'

const USAGE = `
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
    .option('--seed <file>', 'what there is at the start, as YAML or JSON')
    .option('--clock <time>', 'a clock that stands still, at a time such as 2030-01-01T00:00:00Z', moment)
    .addHelpText('after', USAGE)
    .action(({ port = 0, ssh = false, ...more }: Partial<TestOptions> & { world: string }) => serveForTests({ port, ssh, ...more }))
}

function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('It is not a port.')
  return Number(text)
}

function moment(text: string): Date {
  const time = new Date(text)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It is not a time such as 2030-01-01T00:00:00Z.')
  return time
}

function worldName(text: string): string {
  if (!NAME.test(text)) throw new InvalidArgumentError(`It ${NAME_RULE}.`)
  return text
}
