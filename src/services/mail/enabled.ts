import type { Context } from '../../context.js'
import { mailService } from '../../db/schema/index.js'

/** Says in the database whether mail is sent, so that triggers write down what is to be mailed (ML-10). */
export async function recordMailEnabled({ db, mailer }: Context): Promise<void> {
  if (mailer) await db.write.insert(mailService).values({ id: 1 }).onConflictDoNothing()
  else await db.write.delete(mailService)
}
