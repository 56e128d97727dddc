import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { projectUploads } from '../../db/schema/index.js'
import { Failure, refused } from '../../failures.js'
import type { GitRepository } from '../../git/types.js'
import { readSettings } from '../core/settings.js'

const MEBIBYTE = 1024 * 1024

/** Bytes that a repository may take on the disk; null: no limit. */
export async function repositoryLimit(ctx: Context): Promise<number | null> {
  const { repository_size_limit } = await readSettings(ctx)
  return repository_size_limit > 0 ? repository_size_limit * MEBIBYTE : null
}

/**
 * Why a repository accepts nothing more, by the current size of its files on the disk (SEC-177); null while it does.
 * `adding` are bytes about to be written. This is checked before a write, so concurrent writers may exceed the limit
 * together, by what each of them adds; a push is checked when its objects have arrived, and these count.
 */
export async function quotaRefusal(ctx: Context, repository: Pick<GitRepository, 'size'>, adding = 0): Promise<string | null> {
  const limit = await repositoryLimit(ctx)
  if (limit === null || (await repository.size()) + adding <= limit) return null
  return `The repository would be larger than the ${limit / MEBIBYTE} MiB that the administrator allows.`
}

/** Throws 400 with that reason. */
export async function checkQuota(ctx: Context, repository: Pick<GitRepository, 'size'>, adding = 0): Promise<void> {
  const refusal = await quotaRefusal(ctx, repository, adding)
  if (refusal) throw refused(refusal)
}

/**
 * Throws 413 where an upload would take its uploader or its project beyond the limit; uploads of one user or to one
 * project are counted one after the other until the transaction ends, so that two at once cannot pass together.
 */
export async function checkUploadQuota(
  ctx: Context,
  tx: Transaction,
  upload: { uploaderId: number; projectId: number; bytes: number },
): Promise<void> {
  const settings = await readSettings(ctx)
  const quotas = [
    { whose: 'You', column: projectUploads.uploader_id, id: upload.uploaderId, limit: settings.user_uploads_size_limit },
    { whose: 'This project', column: projectUploads.project_id, id: upload.projectId, limit: settings.project_uploads_size_limit },
  ]
  for (const { whose, column, id, limit } of quotas) {
    if (limit === 0) continue
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`uploads ${column.name} ${id}`}, 0))`)
    const { rows } = await tx.execute<{ bytes: string }>(sql`select coalesce(sum(size), 0) as bytes from ${projectUploads} where ${column} = ${id}`)
    if (Number(rows[0]?.bytes) + upload.bytes > limit * MEBIBYTE)
      throw new Failure('too_large', { message: `413 Request Entity Too Large - ${whose} may have no more than ${limit} MiB of uploaded files` })
  }
}
