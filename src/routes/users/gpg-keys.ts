import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type AccountSubject, onSelf, onUser } from '../../access/rules.js'
import { GpgKey, presentGpgKey } from '../../entities/identity/gpg-key.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { documentedWith, idPaging, rowId, str } from '../../http/params.js'
import { addGpgKey, findGpgKey, listGpgKeys, removeGpgKey } from '../../services/identity/gpg-keys.js'

const byId = z.object({ key_id: rowId() })

const gpgKeysOf = (prefix: '/user' | '/users/:id(^\\d+$)', whose: string, access: Access<AccountSubject, true>) => [
  endpoint({
    method: 'GET',
    path: `${prefix}/gpg_keys`,
    summary: `List ${whose} GPG keys`,
    access,
    input: z.object(idPaging),
    output: z.array(GpgKey),
    handler: async ({ ctx, subject, input }) => pageOf(await listGpgKeys(ctx, subject.account, input), input, presentGpgKey).inOrderOfIds(input),
  }),
  endpoint({
    method: 'GET',
    path: `${prefix}/gpg_keys/:key_id`,
    summary: `Get one of ${whose} GPG keys`,
    access,
    input: byId,
    output: GpgKey,
    handler: async ({ ctx, subject, input }) => presentGpgKey(await findGpgKey(ctx, subject.account, input.key_id)),
  }),
  endpoint({
    method: 'POST',
    path: `${prefix}/gpg_keys`,
    summary: `Add one of ${whose} GPG keys`,
    access,
    input: z.object({
      key: documentedWith(str(), { pattern: '^-----BEGIN PGP PUBLIC KEY BLOCK-----[\\s\\S]+-----END PGP PUBLIC KEY BLOCK-----\\s*$' }),
    }),
    // an array of one, as in the contract (K-15)
    output: z.array(GpgKey).length(1),
    handler: async ({ ctx, subject, input }) => [presentGpgKey(await addGpgKey(ctx, subject.account, input.key))],
  }),
  endpoint({
    method: 'DELETE',
    path: `${prefix}/gpg_keys/:key_id`,
    summary: `Remove one of ${whose} GPG keys`,
    access,
    input: byId,
    async handler({ ctx, subject, input }) {
      await removeGpgKey(ctx, subject.account, await findGpgKey(ctx, subject.account, input.key_id))
    },
  }),
]

/** GPG keys (K-1 to K-3, K-12 to K-16). */
export const gpgKeys = [...gpgKeysOf('/user', "the caller's", onSelf), ...gpgKeysOf('/users/:id(^\\d+$)', "a user's", onUser)]
