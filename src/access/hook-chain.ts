import type { Context } from '../context.js'
import { forbidden } from '../failures.js'

/** The header with the chain of hooks that led to a delivery, in deliveries and in calls. */
export const CHAIN_HEADER = 'X-Gitlab-Webhook-Chain'

/** The most hooks in a chain (HK-31). */
const MAX_CHAIN = 5
/** Milliseconds for which a call may present the chain of a delivery. */
const VALID_MS = 3_600_000
const PURPOSE = 'webhook chain'
const FORMAT = /^((\d{1,15}(?:-\d{1,15})*)\.\d{1,15})\.([\w-]{43})$/

type Signer = Pick<Context, 'encryption' | 'now'>

/** A chain as a header. It is signed, so that only a receiver of a delivery can present its hooks (SEC-272). */
export function sealChain({ encryption, now }: Signer, chain: readonly number[]): string {
  const text = `${chain.join('-')}.${now().getTime() + VALID_MS}`
  return `${text}.${encryption.sign(text, PURPOSE)}`
}

/** The chain in the header of a call; null if there is none, or none that was signed here within the last hour. */
export function openChain({ encryption, now }: Signer, header: string | string[] | undefined): number[] | null {
  if (typeof header !== 'string' || header.length > 256) return null
  const [, text, ids, signature] = FORMAT.exec(header) ?? []
  if (!text || !ids || !signature || !encryption.verify(text, signature, PURPOSE)) return null
  return Number(text.slice(ids.length + 1)) > now().getTime() ? ids.split('-').map(Number) : null
}

/**
 * Refuses a call that would lengthen a full chain. The call is refused rather than its deliveries dropped, so that a
 * long chain silences no hook (HK-31).
 */
export function checkChain(method: string, chain: readonly number[] | null): void {
  if (chain && chain.length >= MAX_CHAIN && method !== 'GET' && method !== 'HEAD')
    throw forbidden(`too many webhooks have led to this request: ${MAX_CHAIN} are allowed`)
}
