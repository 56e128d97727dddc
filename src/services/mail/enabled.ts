import type { Context } from '../../context.js'
import { mailService } from '../../db/schema/index.js'

/** Records in the database whether mail is enabled, so that triggers mark changes to be mailed (ML-10). */
export async function recordMailEnabled({ db, mail }: Pick<Context, 'db' | 'mail'>): Promise<void> {
  if (mail) await db.write.insert(mailService).values({ id: 1 }).onConflictDoNothing()
  else await db.write.delete(mailService)
}
