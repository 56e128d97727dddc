import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type AccountSubject, onSelf, onUser } from '../../access/rules.js'
import { Email, presentEmail } from '../../entities/identity/email.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, rowId } from '../../http/params.js'
import { addEmail, findEmail, listEmails, removeEmail } from '../../services/identity/emails.js'

const emailsOf = (prefix: '/user' | '/users/:id(^\\d+$)', whose: string, access: Access<AccountSubject, true>) => [
  endpoint({
    method: 'GET',
    path: `${prefix}/emails`,
    summary: `List ${whose} e-mail addresses`,
    access,
    input: z.object(idPaging),
    output: z.array(Email),
    handler: async ({ ctx, subject, input }) => pageOf(await listEmails(ctx, subject.account, input), input, presentEmail).inOrderOfIds(input),
  }),
  endpoint({
    method: 'POST',
    path: `${prefix}/emails`,
    summary: `Add one of ${whose} e-mail addresses`,
    access,
    input: z.object({ email: documented.email() }),
    output: Email,
    handler: async ({ ctx, subject, input }) => presentEmail(await addEmail(ctx, subject.account, input.email)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${prefix}/emails/:email_id`,
    summary: `Remove one of ${whose} e-mail addresses`,
    answers: [412],
    access,
    input: z.object({ email_id: rowId() }),
    async handler({ ctx, subject, input, unchangedSince }) {
      const email = await findEmail(ctx, subject.account, input.email_id)
      unchangedSince(email.updated_at)
      await removeEmail(ctx, subject.account, email)
    },
  }),
]

/** E-mail addresses (K-1 to K-4, K-17 to K-19). */
export const emails = [
  ...emailsOf('/user', "the caller's", onSelf),
  ...emailsOf('/users/:id(^\\d+$)', "a user's", onUser),
  endpoint({
    method: 'GET',
    path: '/user/emails/:email_id',
    summary: "Get one of the caller's e-mail addresses",
    access: onSelf,
    input: z.object({ email_id: rowId() }),
    output: Email,
    handler: async ({ ctx, subject, input }) => presentEmail(await findEmail(ctx, subject.account, input.email_id)),
  }),
]
