import { parseArgs } from 'node:util'
import type { Config } from '../config.js'
import type { Context } from '../context.js'
import { withContext } from './context.js'

export const DOCTOR_USAGE = 'roost doctor [--full] [--repair]'

/** Compares rows with repositories; while the service runs or without it. */
export async function doctor(given: Config, args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { repair: { type: 'boolean', default: false }, full: { type: 'boolean', default: false } } })
  await withContext(given, (ctx) => tellFaults(ctx, values))
}

/**
 * Prints a line for each fault, and with `repair` what was done about it; then their number, with exit code 1 while any
 * is left.
 */
export async function tellFaults(ctx: Context, { repair, full }: { repair: boolean; full: boolean }): Promise<void> {
  const { faults } = await import('../services/operations/doctor/index.js')
  let found = 0
  let left = 0
  for await (const fault of faults(ctx, { full })) {
    found++
    process.stdout.write(`${fault.kind}: ${fault.of}: ${fault.text}\n`)
    if (!repair || !fault.repair) {
      left++
      continue
    }
    try {
      process.stdout.write(`  ${await fault.repair()}\n`)
    } catch (error) {
      left++
      process.stdout.write(`  could not be repaired: ${(error as Error).message}\n`)
    }
  }
  process.stdout.write(repair ? `${found} faults, ${found - left} of them repaired\n` : `${found} faults\n`)
  if (left > 0) process.exitCode = 1
}
