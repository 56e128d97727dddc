import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** An OpenID provider that others wrote (oidc-provider): it signs in any name, with any password. */
export async function realOpenidProvider(client: { id: string; secret: string; base: string; name: string }) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [`${client.base}/users/auth/${client.name}/callback`],
        post_logout_redirect_uris: [`${client.base}/users/sign_in`],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'email', 'groups'],
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        ...{ sub: id, name: `Name of ${id}`, preferred_username: id, email: `${id}@example.org`, email_verified: true },
        groups: ['staff'],
      }),
    }),
  })
  server.on('request', provider.callback())
  return {
    issuer,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
