import { desc, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { onlyRow } from '../../db/only-row.js'
import { broadcastMessages } from '../../db/schema/index.js'
import { invalidRecord, notFound, refused } from '../../failures.js'
import type { Keyset } from '../../lib/keyset.js'
import { lengthOf, tooLong } from '../../rules/path.js'
import { audit } from './audit.js'
import { createdNow } from './created-now.js'
import { lockName } from './lock-name.js'
import { afterRow, limits, type Page, type Paging } from './page.js'
import type { BroadcastMessage } from './settings-cache.js'

export type { BroadcastMessage } from './settings-cache.js'

export interface BroadcastChange {
  message?: string | undefined
  starts_at?: Date | undefined
  ends_at?: Date | undefined
  color?: string | undefined
  font?: string | undefined
  target_path?: string | undefined
  broadcast_type?: 'banner' | 'notification' | undefined
  dismissable?: boolean | undefined
}

const HOUR_MS = 3_600_000
const MAX_MESSAGES = 1_000
const MAX_MESSAGE = 2_000

export const isActive = ({ starts_at, ends_at }: BroadcastMessage, now: Date): boolean => starts_at <= now && now < ends_at

/** Whether a message is for the page at an address; `*` in its path stands for any text. */
function isFor({ target_path: target }: BroadcastMessage, path: string): boolean {
  if (!target) return true
  const pieces = target.split('*')
  const [first, last] = [pieces[0] as string, pieces.at(-1) as string]
  if (pieces.length === 1) return path === target
  if (!path.startsWith(first) || !path.endsWith(last) || path.length < first.length + last.length) return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = path.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= path.length - last.length
}

/** Those of the messages that are for the page at a path (WB-182). */
export const messagesFor = (messages: BroadcastMessage[], path: string, now: Date): BroadcastMessage[] =>
  messages.filter((message) => isActive(message, now) && isFor(message, path))

/** All messages, the newest first. */
export async function listMessages({ db }: Context, paging: Paging & Keyset): Promise<Page<BroadcastMessage>> {
  const { limit, offset, ...bounds } = limits(paging)
  const left = afterRow(broadcastMessages.id, bounds)
  const [items, total] = await Promise.all([
    db.read.select().from(broadcastMessages).where(left).orderBy(desc(broadcastMessages.id)).limit(limit).offset(offset),
    db.read.$count(broadcastMessages, left),
  ])
  return { items, total }
}

export async function getMessage({ db }: Context, id: number): Promise<BroadcastMessage> {
  const [message] = await db.read.select().from(broadcastMessages).where(eq(broadcastMessages.id, id))
  if (!message) throw notFound()
  return message
}

function check({
  message,
  starts_at,
  ends_at,
  color,
  font,
  target_path,
}: Pick<BroadcastMessage, 'message' | 'starts_at' | 'ends_at'> & BroadcastChange) {
  const faults: Record<string, string[]> = {}
  if (message.trim() === '') faults['message'] = ["can't be blank"]
  else if (lengthOf(message) > MAX_MESSAGE) faults['message'] = [tooLong(MAX_MESSAGE)]
  if (ends_at <= starts_at) faults['ends_at'] = ['must be after the start']
  for (const [name, value] of Object.entries({ color, font }))
    if (value && !/^#[0-9a-f]{3}(?:[0-9a-f]{3})?$/i.test(value)) faults[name] = ['must be a valid color code']
  if (target_path && lengthOf(target_path) > 255) faults['target_path'] = [tooLong(255)]
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
}

const auditMessage = (ctx: Context, db: Parameters<typeof audit>[1], what: 'added' | 'updated' | 'removed', { id, message }: BroadcastMessage) =>
  audit(ctx, db, { action: `broadcast_message_${what}`, target: { type: 'settings', id, name: 'broadcast messages' }, changes: { message } })

/** Makes a message, by default from now on for an hour. */
export async function createMessage(ctx: Context, given: BroadcastChange & { message: string }): Promise<BroadcastMessage> {
  const starts_at = given.starts_at ?? ctx.now()
  const values = { ...given, starts_at, ends_at: given.ends_at ?? new Date(starts_at.getTime() + HOUR_MS) }
  check(values)
  const created = await ctx.db.transaction(async (tx) => {
    await lockName(tx, 'broadcast messages')
    if ((await tx.$count(broadcastMessages)) >= MAX_MESSAGES) throw refused(`There are ${MAX_MESSAGES} messages already: remove old ones`)
    const row = { broadcast_type: 'banner' as const, dismissable: false, ...definedOnly(values), ...createdNow(ctx) }
    const message = onlyRow(
      await tx
        .insert(broadcastMessages)
        .values(row as typeof broadcastMessages.$inferInsert)
        .returning(),
    )
    await auditMessage(ctx, tx, 'added', message)
    return message
  })
  ctx.caches.settings.invalidate()
  return created
}

export async function updateMessage(ctx: Context, id: number, given: BroadcastChange): Promise<BroadcastMessage> {
  const updated = await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select().from(broadcastMessages).where(eq(broadcastMessages.id, id)).for('update')
    if (!before) throw notFound()
    const values = definedOnly(given)
    check({
      ...values,
      message: given.message ?? before.message,
      starts_at: given.starts_at ?? before.starts_at,
      ends_at: given.ends_at ?? before.ends_at,
    })
    const message = onlyRow(
      await tx
        .update(broadcastMessages)
        .set({ ...values, updated_at: ctx.now() })
        .where(eq(broadcastMessages.id, id))
        .returning(),
    )
    await auditMessage(ctx, tx, 'updated', message)
    return message
  })
  ctx.caches.settings.invalidate()
  return updated
}

export async function removeMessage(ctx: Context, id: number): Promise<BroadcastMessage> {
  const removed = await ctx.db.transaction(async (tx) => {
    const [message] = await tx.delete(broadcastMessages).where(eq(broadcastMessages.id, id)).returning()
    if (!message) throw notFound()
    await auditMessage(ctx, tx, 'removed', message)
    return message
  })
  ctx.caches.settings.invalidate()
  return removed
}

const definedOnly = (given: BroadcastChange): BroadcastChange => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
