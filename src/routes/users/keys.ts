import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type AccountSubject, onSelf, onUser } from '../../access/rules.js'
import { presentSshKey, SshKey } from '../../entities/identity/key.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { datetime, idPaging, opt, rowId } from '../../http/params.js'
import { addKey, findKey, listKeys, removeKey } from '../../services/identity/keys.js'

const keysOf = (prefix: '/user' | '/users/:id(^\\d+$)', whose: string, access: Access<AccountSubject, true>) => [
  endpoint({
    method: 'GET',
    path: `${prefix}/keys`,
    summary: `List ${whose} SSH keys`,
    access,
    input: z.object(idPaging),
    output: z.array(SshKey),
    handler: async ({ ctx, subject, input }) => pageOf(await listKeys(ctx, subject.account, input), input, presentSshKey).inOrderOfIds(input),
  }),
  endpoint({
    method: 'POST',
    path: `${prefix}/keys`,
    summary: `Add one of ${whose} SSH keys`,
    access,
    input: z.object({ key: documented.sshKey(), title: documented.title(), expires_at: opt(datetime()) }),
    output: SshKey,
    handler: async ({ ctx, subject, input }) => presentSshKey(await addKey(ctx, subject.account, input)),
  }),
  endpoint({
    method: 'GET',
    path: `${prefix}/keys/:key_id`,
    summary: `Get one of ${whose} SSH keys`,
    access,
    input: z.object({ key_id: rowId() }),
    output: SshKey,
    handler: async ({ ctx, subject, input }) => presentSshKey(await findKey(ctx, subject.account, input.key_id)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${prefix}/keys/:key_id`,
    summary: `Remove one of ${whose} SSH keys`,
    answers: [412],
    access,
    input: z.object({ key_id: rowId() }),
    async handler({ ctx, subject, input, unchangedSince }) {
      const key = await findKey(ctx, subject.account, input.key_id)
      unchangedSince(key.updated_at)
      await removeKey(ctx, subject.account, key)
    },
  }),
]

/** SSH keys (K-1 to K-11). */
export const keys = [...keysOf('/user', "the caller's", onSelf), ...keysOf('/users/:id(^\\d+$)', "a user's", onUser)]
