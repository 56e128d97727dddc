import { createHash } from 'node:crypto'
import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import type { Context } from '../../../../context.js'
import { seenVersions, viewedFiles } from '../../../../db/schema/index.js'
import { statement } from '../../../../db/statement.js'
import { refused } from '../../../../failures.js'
import type { FileDiff } from '../../../../git/types.js'

/** The most files of a merge request that a user has marked. */
const MAX_FILES = 5_000

const selectSeen = statement('what a user has seen of a merge request', (db) =>
  db
    .select({
      version: sql<number | null>`(select ${seenVersions.version_id} from ${seenVersions} where ${seenVersions.merge_request_id} = own.request
        and ${seenVersions.user_id} = own.reader)::float8`,
      files: sql<Record<string, string> | null>`(select json_object_agg(${viewedFiles.file}, ${viewedFiles.change}) from ${viewedFiles}
        where ${viewedFiles.merge_request_id} = own.request and ${viewedFiles.user_id} = own.reader)`,
    })
    .from(sql`(select ${sql.placeholder('request')}::bigint as request, ${sql.placeholder('user')}::bigint as reader) own`),
)

export interface Seen {
  /** The newest version whose changes the user has seen. */
  version: number | null
  /** Digests of files → digests of their changes. */
  files: ReadonlyMap<string, string>
}

/** What a user has seen of the changes of a merge request (WB-94, WB-95). */
export async function seenBy(ctx: Context, { user }: SignedIn, request: number): Promise<Seen> {
  const [row] = await selectSeen(ctx.db, null).execute({ request, user: user.id })
  return { version: row?.version ?? null, files: new Map(Object.entries(row?.files ?? {})) }
}

/** Stands for the change of a file: what was viewed is to be viewed again when this differs. */
export const changeDigest = ({ diff, a_mode, b_mode, old_path }: FileDiff): string =>
  createHash('sha256')
    .update(JSON.stringify([old_path, a_mode, b_mode, diff]))
    .digest('base64url')
    .slice(0, 22)

/** Records that a user has seen a version, unless they have seen a later one. */
export async function recordSeenVersion(ctx: Context, { user }: SignedIn, request: number, version: number): Promise<void> {
  await ctx.db.write
    .insert(seenVersions)
    .values({ merge_request_id: request, user_id: user.id, version_id: version })
    .onConflictDoUpdate({
      target: [seenVersions.merge_request_id, seenVersions.user_id],
      set: { version_id: version },
      setWhere: sql`${seenVersions.version_id} < ${version}`,
    })
}

/** Marks a file as viewed with its present change, or takes the mark away. */
export async function markViewed(
  ctx: Context,
  { user }: SignedIn,
  request: number,
  { file, change, viewed }: { file: string; change: string; viewed: boolean },
): Promise<void> {
  const own = and(eq(viewedFiles.merge_request_id, request), eq(viewedFiles.user_id, user.id))
  if (!viewed) {
    await ctx.db.write.delete(viewedFiles).where(and(own, eq(viewedFiles.file, file)))
    return
  }
  const [counted] = await ctx.db.write.select({ files: sql<number>`count(*)::int` }).from(viewedFiles).where(own)
  if ((counted?.files ?? 0) >= MAX_FILES) throw refused(`At most ${MAX_FILES} files can be marked`)
  await ctx.db.write
    .insert(viewedFiles)
    .values({ merge_request_id: request, user_id: user.id, file, change })
    .onConflictDoUpdate({ target: [viewedFiles.merge_request_id, viewedFiles.user_id, viewedFiles.file], set: { change } })
}
