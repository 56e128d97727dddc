import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Context } from '../../context.js'
import { invitations, users } from '../../db/schema/index.js'
import { type Attempt, defineJob } from '../../jobs/kinds.js'
import { digestOf, newSecret } from '../../lib/crypto/secret.js'
import { MAIL_JOB, mailHost, messageId, sendMessage } from '../core/mail.js'
import { isConfirmed, placeOf } from './invited.js'

/**
 * Mails an invitation with the link by which it is accepted (IV-4). The token is made here and stored as a digest; an
 * attempt after one that failed replaces it.
 */
export const invitationMail = defineJob({
  ...MAIL_JOB,
  kind: 'mail: invitation',
  priority: 'high',
  input: z.object({ invitation: z.int() }),
  async run(ctx: Context, { invitation: id }, { id: job, signal }: Attempt) {
    const [found] = await ctx.db.write
      .select({ invitation: invitations, by: users.name, state: users.state })
      .from(invitations)
      .innerJoin(users, eq(users.id, invitations.created_by_id))
      .where(eq(invitations.id, id))
    if (!found || found.invitation.ended_at !== null || found.state !== 'active') return
    const place = await placeOf(ctx, found.invitation)
    if (!place) return
    const token = newSecret(ctx.random, 'mail link')
    await ctx.db.write
      .update(invitations)
      .set({ digest: digestOf(token) })
      .where(eq(invitations.id, id))
    const host = mailHost(ctx.links.base)
    // an address that no account has confirmed gets no text that users choose (ML-28)
    const known = await isConfirmed(ctx, found.invitation.email)
    const [who, where] = known ? [found.by, `the ${place.kind} ${place.fullPath}`] : ['Somebody', `a ${place.kind}`]
    const message = {
      kind: 'invitation',
      to: { name: '', address: found.invitation.email },
      subject: `Invitation to ${where}`,
      messageId: messageId(ctx, `mail-${job}`),
      parts: [
        `${who} invites you to ${where} at ${host}. Sign in there, or make an account, and accept.`,
        { text: 'See the invitation', link: `${ctx.links.base}/-/invites?token=${token}`, button: true },
        'If you do not know what this is about, there is nothing to do.',
      ],
      footer: [{ text: 'Sent by', link: ctx.links.base }],
    }
    await sendMessage(ctx, message, signal)
  },
})
