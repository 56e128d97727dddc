import { and, gt, isNotNull, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { namespaces, projects, projectUploads, topics, users } from '../../../db/schema/index.js'
import { mapConcurrently } from '../../../lib/async/concurrency.js'
import { type AvatarKind, imageFaults, readAvatar, removeAvatar } from '../../identity/avatars.js'
import { storedSize } from '../../projects/uploads.js'
import type { Check, Fault } from './fault.js'

/** The number of rows read in one query. */
const BATCH_SIZE = 1_000
/** The number of files looked up concurrently. */
const CONCURRENCY = 16

/** Uploads whose files are missing or have another size (SEC-420). */
export async function* uploads(ctx: Context): Check {
  const rowsAfter = (last: number) =>
    ctx.db.write
      .select({
        id: projectUploads.id,
        project_id: projectUploads.project_id,
        secret: projectUploads.secret,
        filename: projectUploads.filename,
        size: projectUploads.size,
      })
      .from(projectUploads)
      .where(gt(projectUploads.id, last))
      .orderBy(projectUploads.id)
      .limit(BATCH_SIZE)
  yield* faultsOfFiles(rowsAfter, async ({ project_id, secret, filename, size }) => {
    const found = await storedSize(ctx, project_id, secret)
    if (found === size) return null
    const fault = found === null ? 'is not there' : `has ${found} bytes instead of ${size}`
    return { kind: 'damaged upload', of: `project ${project_id}`, text: `${filename} (${secret}) ${fault}; it must come from a backup`, repair: null }
  })
}

/** Avatars whose files are missing or are not images. */
export async function* avatars(ctx: Context): Check {
  const kinds = [
    { kind: 'user', table: users, column: users.avatar_file },
    { kind: 'project', table: projects, column: projects.avatar },
    { kind: 'group', table: namespaces, column: namespaces.avatar },
    { kind: 'topic', table: topics, column: topics.avatar },
  ] as const
  for (const { kind, table, column } of kinds) {
    const rowsAfter = (last: number) =>
      ctx.db.write
        .select({ id: table.id, name: sql<string>`${column}` })
        .from(table)
        .where(and(isNotNull(column), gt(table.id, last)))
        .orderBy(table.id)
        .limit(BATCH_SIZE)
    yield* faultsOfFiles(rowsAfter, async ({ id, name }) => {
      if (await isReadable(ctx, kind, id, name)) return null
      const repair = async () => {
        await ctx.db.write.execute(sql`update ${table} set ${sql.identifier(column.name)} = null where id = ${id}`)
        await removeAvatar(ctx, kind, id)
        return 'taken away'
      }
      return { kind: 'unreadable avatar', of: `${kind} ${id}`, text: `${name} is missing or no image`, repair }
    })
  }
}

/** Looks up the files of all rows, which are read in batches by their ids. */
async function* faultsOfFiles<T extends { id: number }>(
  rowsAfter: (last: number) => PromiseLike<T[]>,
  faultOf: (row: T) => Promise<Fault | null>,
): Check {
  for (let last = 0; ; ) {
    const rows = await rowsAfter(last)
    for (const fault of await mapConcurrently(CONCURRENCY, rows, faultOf)) if (fault) yield fault
    if (rows.length < BATCH_SIZE) return
    last = rows.at(-1)?.id as number
  }
}

async function isReadable(ctx: Context, kind: AvatarKind, id: number, name: string): Promise<boolean> {
  const image = await readAvatar(ctx, kind, id, name).catch(() => null)
  return image !== null && imageFaults(image.data).length === 0
}
