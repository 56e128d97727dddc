import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import type { Context } from '../../context.js'
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
 * Prints a line for each fault, with `repair` the outcome of its repair, and finally the number of faults. The exit
 * code is 1 if any fault remains.
 */
export async function printFaults(ctx: Context, { repair, full, json }: Options): Promise<void> {
  const { faults } = await import('../../services/operations/doctor/index.js')
  let found = 0
  let left = 0
  await withProgress('projects', async (onProgress) => {
    for await (const fault of faults(ctx, { full, onProgress })) {
      found++
      const { kind, of, text } = fault
      if (!json) await print(`${kind}: ${of}: ${text}\n`)
      const outcome = repair && fault.repair ? await repaired(fault.repair) : null
      if (!outcome?.done) left++
      if (json) await printJson({ kind, of, text, repaired: outcome?.done ?? false, outcome: outcome?.text ?? null })
      else if (outcome) await print(`  ${outcome.done ? '' : 'could not be repaired: '}${outcome.text}\n`)
    }
  })
  if (!json) await print(repair ? `${found} faults, ${found - left} of them repaired\n` : `${found} faults\n`)
  if (left > 0) process.exitCode = 1
}

const repaired = (repair: () => Promise<string>) =>
  repair().then(
    (text) => ({ done: true, text }),
    (error: Error) => ({ done: false, text: error.message }),
  )
