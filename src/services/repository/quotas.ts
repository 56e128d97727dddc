import { sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { projectUploads } from '../../db/schema/index.js'
import { Failure, refused } from '../../failures.js'
import type { GitRepository } from '../../git/types.js'
import { lockName } from '../core/lock-name.js'
import { readSettings } from '../core/settings.js'

const MEBIBYTE = 1024 * 1024

/** Maximum size of a repository on disk in bytes; null when unlimited. */
export async function repositoryLimit(ctx: Context): Promise<number | null> {
  const { repository_size_limit } = await readSettings(ctx)
  return repository_size_limit > 0 ? repository_size_limit * MEBIBYTE : null
}

/**
 * The message when a write would exceed the size limit of a repository on disk (SEC-177); null otherwise. `adding` is
 * the number of bytes about to be written. It is checked before a write, so concurrent writers together may exceed the
 * limit by what each adds. A push is checked after its objects have arrived, and they count.
 */
export async function quotaRefusal(ctx: Context, repository: Pick<GitRepository, 'size'>, adding = 0): Promise<string | null> {
  const limit = await repositoryLimit(ctx)
  if (limit === null || (await repository.size()) + adding <= limit) return null
  return `The repository would be larger than the ${limit / MEBIBYTE} MiB that the administrator allows.`
}

/** Throws 400 when `quotaRefusal` has a message. */
export async function checkQuota(ctx: Context, repository: Pick<GitRepository, 'size'>, adding = 0): Promise<void> {
  const refusal = await quotaRefusal(ctx, repository, adding)
  if (refusal) throw refused(refusal)
}

/**
 * Throws 413 when an upload would exceed the limit of its uploader or project. Advisory locks serialise uploads of one
 * user or to one project until the transaction ends, so that concurrent ones cannot exceed it together.
 */
export async function checkUploadQuota(
  ctx: Context,
  tx: Transaction,
  upload: { uploaderId: number; projectId: number; bytes: number },
): Promise<void> {
  const settings = await readSettings(ctx)
  const quotas = [
    { owner: 'You', column: projectUploads.uploader_id, id: upload.uploaderId, limit: settings.user_uploads_size_limit },
    { owner: 'This project', column: projectUploads.project_id, id: upload.projectId, limit: settings.project_uploads_size_limit },
  ]
  for (const { owner, column, id, limit } of quotas) {
    if (limit === 0) continue
    await lockName(tx, `uploads ${column.name} ${id}`)
    const { rows } = await tx.execute<{ bytes: string }>(sql`select coalesce(sum(size), 0) as bytes from ${projectUploads} where ${column} = ${id}`)
    if (Number(rows[0]?.bytes) + upload.bytes > limit * MEBIBYTE)
      throw new Failure('too_large', { message: `413 Request Entity Too Large - ${owner} may have no more than ${limit} MiB of uploaded files` })
  }
}
