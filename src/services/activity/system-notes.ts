import type { Transaction } from '../../db/client.js'
import { notes } from '../../db/schema/index.js'
import type { Target } from './subscriptions.js'

/**
 * Writes system notes on a target (NT-6). Every reader of the target sees them, so they must not name anything with
 * narrower visibility.
 */
export async function writeSystemNotes(tx: Pick<Transaction, 'insert'>, target: Target, authorId: number, texts: string[], now: Date): Promise<void> {
  if (texts.length === 0) return
  await tx.insert(notes).values(
    texts.map((note) => ({
      project_id: target.project_id,
      noteable_type: target.type,
      noteable_id: target.id,
      author_id: authorId,
      note,
      system: true,
      created_at: now,
      updated_at: now,
    })),
  )
}
