import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import type { Context } from '../../context.js'
import { StartFault } from '../../lib/start-fault.js'
import { withContext } from '../context.js'
import { id, numberOr } from '../numbers.js'
import { print, printJson, table } from '../output.js'

/** The most texts that are printed. */
const MAX_TEXTS = 100

/** Runs work whether or not the service is running. */
const run = (work: (ctx: Context) => Promise<void>): Promise<void> => withContext(readConfig(), work)

export function heldTextsCommand(program: Command): void {
  program
    .command('held-texts')
    .summary('show what the spam filter holds, publish or remove it')
    .description('Print the texts that the spam filter holds, the newest first.')
    .option('--release <id>', 'publish a text as its author wrote it, and tell the filter that it was wrong', id)
    .option('--remove <id>', 'remove a text, and tell the filter that it was right', id)
    .option('--json', 'one JSON object a line')
    .action(({ release, remove, json }: { release?: number; remove?: number; json?: boolean }) =>
      run(async (ctx) => {
        const { listHeldTexts, releaseText, removeText } = await import('../../services/operations/held-texts.js')
        if (release !== undefined) {
          await releaseText(ctx, release)
          return print(`text ${release} is published\n`)
        }
        if (remove !== undefined) {
          await removeText(ctx, remove)
          return print(`text ${remove} is removed\n`)
        }
        const { items } = await listHeldTexts(ctx, { page: 1, per_page: MAX_TEXTS })
        for (const { author, ...held } of items)
          await (json
            ? printJson({ ...held, author: author.username })
            : print(`${held.id}: ${held.kind} of ${author.username}${held.project === null ? '' : ` in ${held.project}`}\n${indented(held.text)}\n`))
      }),
    )
}

/** Without characters that steer a terminal. */
const indented = (text: string) => text.replace(/[^\P{C}\n]/gu, ' ').replace(/^/gm, '  ')

export function limitsCommand(program: Command): void {
  program
    .command('limits')
    .summary('show and set the limits of requests of single callers')
    .description('Print the users and addresses with a limit of requests in place of the general one.')
    .argument('[caller]', 'a username, or an IP address for requests without a credential')
    .argument('[requests]', 'how many requests in a period; 0: no limit', numberOr('It is not a number.'))
    .option('--remove <id>', 'remove a limit', id)
    .option('--json', 'as JSON')
    .action((caller: string | undefined, requests: number | undefined, { remove, json }: { remove?: number; json?: boolean }) =>
      run(async (ctx) => {
        const { listOwnLimits, removeOwnLimit, setOwnLimit } = await import('../../services/operations/request-limits.js')
        if (remove !== undefined) {
          await removeOwnLimit(ctx, remove)
          return print(`limit ${remove} is removed\n`)
        }
        if (caller !== undefined) {
          if (requests === undefined) throw new StartFault('how many requests? 0: no limit')
          const set = await setOwnLimit(ctx, caller, requests)
          return json ? printJson(set) : print(`the limit of ${caller} is set\n`)
        }
        const limits = await listOwnLimits(ctx)
        if (json) return printJson(limits)
        const rows = limits.map(({ id, username, address, requests }) => [id, username ?? address ?? '', requests === 0 ? 'no limit' : requests])
        return print(table(['id', 'caller', 'requests'], rows))
      }),
    )
}

export function providersCommand(program: Command): void {
  program
    .command('providers')
    .summary('show and test the providers that people sign in with')
    .description('Print the providers of ROOST_SIGN_ON, and what their last tests have found.')
    .option('--test <name>', 'ask a provider; the exit code is 1 if it cannot be reached')
    .option('--json', 'as JSON')
    .action(({ test, json }: { test?: string; json?: boolean }) =>
      run(async (ctx) => {
        const { checkProvider, listProviders } = await import('../../services/identity/sign-in/provider-check.js')
        if (test !== undefined) {
          const found = await checkProvider(ctx, test)
          if (!found.good) process.exitCode = 1
          return json ? printJson(found) : print(`${test}: ${found.message}\n`)
        }
        const found = (await listProviders(ctx)).map(({ provider: { name }, kind, address, on, check }) => ({ name, kind, address, on, check }))
        if (json) return printJson(found)
        const rows = found.map(({ name, kind, address, on, check }) => [name, kind, address ?? '', on ? 'on' : 'off', check?.message ?? ''])
        return print(table(['name', 'kind', 'address', 'state', 'last test'], rows))
      }),
    )
}
