import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Context } from '../../context.js'
import { originOf } from '../../lib/origin.js'
import { parseUrl } from '../../lib/url.js'

const PURPOSE = 'form token'
const BYTES = 32

/** XORs two byte strings of the same length. */
const xor = (a: Buffer, b: Buffer) => Buffer.from(a.map((byte, i) => byte ^ (b[i] as number)))

/**
 * The token of the forms of a browser, which its cookie `seed` determines. It is masked with new random bytes each time:
 * a compressed page gives nothing away about it by its length (WB-5).
 */
export function formTokenFor({ encryption }: Pick<Context, 'encryption'>, seed: string): string {
  const mask = randomBytes(BYTES)
  return Buffer.concat([mask, xor(mask, Buffer.from(encryption.sign(seed, PURPOSE), 'base64url'))]).toString('base64url')
}

/** Whether a token was made for this cookie. */
export function isFormToken({ encryption }: Pick<Context, 'encryption'>, seed: string | undefined, token: unknown): boolean {
  if (seed === undefined || typeof token !== 'string') return false
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * BYTES) return false
  const signature = xor(bytes.subarray(0, BYTES), bytes.subarray(BYTES)).toString('base64url')
  return encryption.verify(seed, signature, PURPOSE)
}

/** Whether a browser says that it comes from a page of this service. */
export function isFromHere({ links }: Pick<Context, 'links'>, { headers: { referer = '', 'sec-fetch-site': site } }: FastifyRequest): boolean {
  return site !== undefined ? site === 'same-origin' : parseUrl(referer)?.origin === new URL(links.base).origin
}

/** Whether a browser says that another site sent the form (WB-5); one that says nothing has the token. */
export function isFromElsewhere({ links }: Pick<Context, 'links'>, request: FastifyRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  if (origin === undefined || (origin === 'null' && site !== undefined)) return false
  const own = new URL(originOf(request, links)).origin
  return origin !== own && origin !== new URL(links.base).origin
}
