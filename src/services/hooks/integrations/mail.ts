import { z } from 'zod'
import type { Context } from '../../../context.js'
import { defineJob } from '../../../jobs/kinds.js'
import { MAIL_JOB, type MailPart, messageId, sendMessage } from '../../core/mail.js'
import type { IntegrationMail } from '../../integrations/service.js'
import { repositoryById } from '../../repository/repositories.js'

/** Differences that a mail has; larger ones are cut (SV-11). */
const DIFF_LIMITS = { files: 100, lines: 5_000, bytes: 100_000, fileBytes: 20_000 }

const link = z.object({ text: z.string(), link: z.string() })
const part = z.union([z.string(), z.object({ diff: z.string() }), link.extend({ button: z.boolean().optional() })])
const Message = z.object({
  subject: z.string(),
  heading: z.object({ place: link, title: link, lead: z.null() }),
  parts: z.array(part),
  footer: z.array(z.string()),
})
type Message = z.infer<typeof Message>

/** A mail of an integration to one address. */
export interface DueMail {
  integration: string
  address: string
  message: Message
}

/** The mail with the differences between its commits. */
export async function messageFor(ctx: Context, project: number, { diff, parts, ...mail }: IntegrationMail): Promise<Message> {
  return { ...mail, parts: [...parts, ...(diff ? await partsOf(ctx, project, diff) : [])] } as Message
}

async function partsOf(ctx: Context, project: number, { from, to }: { from: string; to: string }): Promise<MailPart[]> {
  const found = await repositoryById(ctx, project)
  // a commit that was replaced may be gone
  const known = found && (await found.git.commit(from)) && (await found.git.commit(to))
  if (!found || !known) return []
  const { files, truncated } = await found.git.diff(from, to, DIFF_LIMITS)
  return [
    ...files.map((file): MailPart => (file.diff === '' ? file.new_path : { diff: file.diff })),
    ...(truncated ? ['More differences are not in this mail.'] : []),
  ]
}

/** Sends a mail of an integration to one address (SV-11). */
export const sendIntegrationMail = defineJob({
  ...MAIL_JOB,
  kind: 'integrations: mail',
  input: z.object({ integration: z.string(), address: z.string(), message: Message }),
  run: (ctx: Context, { integration, address, message: { heading, ...message } }, { id, signal }) =>
    sendMessage(
      ctx,
      {
        kind: integration,
        to: { name: '', address },
        messageId: messageId(ctx, `integration-mail-${id}`),
        heading,
        ...message,
        headers: { 'X-Roost-Event': integration },
      } as Parameters<typeof sendMessage>[1],
      signal,
    ),
})
