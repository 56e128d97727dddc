import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import type { Context } from '../../context.js'
import type { Fault } from '../../services/operations/doctor/fault.js'
import { withContext } from '../context.js'
import { print, printJson, withProgress } from '../output.js'

interface Options {
  repair?: boolean
  full?: boolean
  json?: boolean
}

export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('compare rows with repositories, and repair them')
    .description('Compare rows with repositories, and check that objects are there. The exit code is 1 while a fault is left.')
    .option('--full', 'read all objects, and find damaged ones too')
    .option('--repair', 'repair what can be repaired')
    .option('--json', 'one JSON object a line for each fault')
    .action((options: Options) => withContext(readConfig(), (ctx) => printFaults(ctx, options)))
}

/**
 * Prints a line for each fault, with `repair` the outcome of its repair, and finally the number of faults. What was
 * repaired is looked for once more (SEC-259). The exit code is 1 if any fault remains.
 */
export async function printFaults(ctx: Context, { repair, full, json }: Options): Promise<void> {
  let found = 0
  let left = 0
  const repaired = new Set<string>()
  await examine(ctx, { full }, async (fault) => {
    found++
    if (!json) await print(lineOf(fault))
    const outcome = repair && fault.repair ? await outcomeOf(fault.repair) : null
    if (outcome?.done) repaired.add(lineOf(fault))
    else left++
    if (json) await printJson({ ...shown(fault), repaired: outcome?.done ?? false, outcome: outcome?.text ?? null })
    else if (outcome) await print(`  ${outcome.done ? '' : 'could not be repaired: '}${outcome.text}\n`)
  })
  if (repaired.size > 0)
    await examine(ctx, {}, async (fault) => {
      if (!repaired.has(lineOf(fault))) return
      left++
      if (json) await printJson({ ...shown(fault), repaired: false, outcome: STILL_THERE })
      else await print(`${lineOf(fault)}  could not be repaired: ${STILL_THERE}\n`)
    })
  const { recordCheck } = await import('../../services/core/last-checks.js')
  await recordCheck(
    ctx,
    'doctor',
    left === 0,
    `${found} faults${repair ? `, ${found - left} of them repaired` : ''}${full ? ', all objects read' : ''}`,
  )
  if (!json) await print(repair ? `${found} faults, ${found - left} of them repaired\n` : `${found} faults\n`)
  if (left > 0) process.exitCode = 1
}

const STILL_THERE = 'it is there after the repair'

const shown = ({ kind, of, text }: Fault) => ({ kind, of, text })
const lineOf = ({ kind, of, text }: Fault) => `${kind}: ${of}: ${text}\n`

/** Calls `onFault` for each fault, with a progress bar. */
async function examine(ctx: Context, { full }: Pick<Options, 'full'>, onFault: (fault: Fault) => Promise<void>): Promise<void> {
  const { faults } = await import('../../services/operations/doctor/index.js')
  await withProgress('projects', async (onProgress) => {
    for await (const fault of faults(ctx, { full, onProgress })) await onFault(fault)
  })
}

const outcomeOf = (repair: () => Promise<string>) =>
  repair().then(
    (text) => ({ done: true, text }),
    (error: Error) => ({ done: false, text: error.message }),
  )
