import { setImmediate } from 'node:timers/promises'
import { and, eq, inArray, isNotNull } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { builds, traceChunks } from '../../../db/schema/index.js'
import { type HeldEnd, LogMasker, MAX_MASKS, type MaskedPiece } from '../../../rules/ci/masks.js'
import { unsealed } from '../../core/unsealed.js'

type MaskContext = Pick<Context, 'encryption' | 'log'>

/** Binds the encrypted values that a log must not show to their job. */
export const masksPurpose = (job: number) => `job ${job} masks`

/** Whether so many values can be looked for in a log (CI-241). */
export const canMask = (values: readonly string[]): boolean => values.reduce((sum, each) => sum + Buffer.byteLength(each), 0) <= MAX_MASKS

/** Keeps what the log of a job must not show while it runs (CI-240). */
export const keepMasks = async (ctx: Context, job: number, values: readonly string[]): Promise<void> =>
  void (await ctx.db.write
    .update(builds)
    .set({ masks: ctx.encryption.seal(JSON.stringify([...new Set(values)]), masksPurpose(job)) })
    .where(eq(builds.job_id, job)))

/** What masks the log of a job; null if its values cannot be decrypted any more. */
export function maskerOf(ctx: MaskContext, job: number, sealed: string | null): LogMasker | null {
  const json = sealed === null ? '[]' : unsealed(ctx, sealed, masksPurpose(job))
  return json === null ? null : new LogMasker((JSON.parse(json) as string[]).map((value) => Buffer.from(value)))
}

/** The end of a log that is held back, from its row. */
export function heldOf(row: number[] | null): HeldEnd | null {
  const [mask, length, covered] = row ?? []
  return mask === undefined || length === undefined || covered === undefined ? null : { mask, length, covered }
}

/** Bytes of a log that are masked before others have a turn: a piece of 4 MiB may take 150 ms. */
const SLICE = 262_144

/** Masks a piece of a log, after the end that was held back. */
export async function maskPiece(masker: LogMasker, piece: Buffer, before: HeldEnd | null): Promise<MaskedPiece> {
  const done: Buffer[] = []
  let held = before
  for (let at = 0; at < piece.length; at += SLICE) {
    if (at > 0) await setImmediate()
    const masked = masker.mask(piece.subarray(at, at + SLICE), held)
    done.push(masked.bytes)
    held = masked.held
  }
  return { bytes: Buffer.concat(done), held }
}

/** Stores what was held back at the end of the logs of these jobs, which have ended, and forgets their values (CI-240). */
export async function endLogs(ctx: MaskContext, tx: Transaction, jobs: number[]): Promise<void> {
  const cut = await tx
    .select({ job: builds.job_id, size: builds.trace_size, masks: builds.masks, held: builds.trace_held })
    .from(builds)
    .where(and(inArray(builds.job_id, jobs), isNotNull(builds.trace_held)))
    .for('no key update')
  const ends = cut.flatMap(({ job, size, masks, held: row }) => {
    const held = heldOf(row)
    const bytes = held && maskerOf(ctx, job, masks)?.last(held)
    return bytes ? [{ job_id: job, first: size - bytes.length, bytes }] : []
  })
  if (ends.length > 0) await tx.insert(traceChunks).values(ends)
  const stored = ends.map(({ job_id }) => job_id)
  if (stored.length > 0) await tx.update(builds).set({ trace_held: null }).where(inArray(builds.job_id, stored))
  await tx.update(builds).set({ seen_at: null, masks: null }).where(inArray(builds.job_id, jobs))
}
