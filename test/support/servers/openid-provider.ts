import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Claims = Record<string, unknown>

interface Granted {
  query: URLSearchParams
  claims: Claims
}

/**
 * An OpenID provider that says what a test wants it to, true or not. It holds its client to the code, to PKCE and to the
 * secret, as a real one does.
 */
export async function openidProvider({ clientId, secret }: { clientId: string; secret: string }) {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const others = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<string, Granted>()
  const people = new Map<string, Claims>()
  const provider = {
    issuer: '',
    /** Whether it answers 503. */
    down: false,
    /** Added to each ID token, or in place of what is right. */
    wrong: {} as Claims,
    /** Whether it signs with another key than it publishes. */
    forges: false,
    /** Added to the metadata. */
    metadata: {} as Claims,
    /** What the userinfo endpoint says beside the ID token. */
    userinfo: {} as Claims,
    requests: [] as string[],
    /** Signs a person in at the address that the browser was sent to: the path and query that it comes back to. */
    authorize(address: string, claims: Claims): string {
      const { searchParams: query } = new URL(address)
      const code = randomUUID()
      codes.set(code, { query, claims })
      const back = new URL(query.get('redirect_uri') ?? '')
      back.search = String(new URLSearchParams({ code, state: query.get('state') ?? '', iss: provider.issuer }))
      return back.pathname + back.search
    },
    close: () => server.close(),
  }

  const idToken = (claims: Claims) => {
    const now = Math.floor(Date.now() / 1000)
    const body = { iss: provider.issuer, aud: clientId, iat: now, exp: now + 300, ...claims, ...provider.wrong }
    const text = [{ alg: 'RS256', kid: 'one', typ: 'JWT' }, body].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${text}.${sign('sha256', Buffer.from(text), (provider.forges ? others : keys).privateKey).toString('base64url')}`
  }

  const grant = (body: URLSearchParams, authorization: string) => {
    const code = body.get('code') ?? ''
    const granted = codes.get(code)
    codes.delete(code)
    const given = new URLSearchParams(`id=${Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().replace(':', '&secret=')}`)
    const known = given.get('id') === clientId && given.get('secret') === secret
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url')
    if (!known) return { status: 401, json: { error: 'invalid_client' } }
    if (!granted || granted.query.get('code_challenge') !== challenge || granted.query.get('redirect_uri') !== body.get('redirect_uri'))
      return { status: 400, json: { error: 'invalid_grant' } }
    const token = randomUUID()
    people.set(token, granted.claims)
    const id_token = idToken({ nonce: granted.query.get('nonce'), ...granted.claims })
    return { status: 200, json: { access_token: token, token_type: 'Bearer', expires_in: 300, id_token } }
  }

  const answer = async (request: IncomingMessage) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    provider.requests.push(pathname)
    if (provider.down) return { status: 503, json: {} }
    if (pathname === '/.well-known/openid-configuration') return { status: 200, json: metadata() }
    if (pathname === '/keys')
      return { status: 200, json: { keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] } }
    if (pathname === '/token') return grant(new URLSearchParams(await textOf(request)), request.headers.authorization ?? '')
    const person = people.get((request.headers.authorization ?? '').replace('Bearer ', ''))
    return pathname === '/userinfo' && person ? { status: 200, json: { sub: person['sub'], ...provider.userinfo } } : { status: 404, json: {} }
  }
  const metadata = () => ({
    issuer: provider.issuer,
    authorization_endpoint: `${provider.issuer}/authorize`,
    token_endpoint: `${provider.issuer}/token`,
    userinfo_endpoint: `${provider.issuer}/userinfo`,
    jwks_uri: `${provider.issuer}/keys`,
    end_session_endpoint: `${provider.issuer}/end`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...provider.metadata,
  })

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void answer(request).then(({ status, json }) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return provider
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
