import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'ldapts'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import { unavailableIn } from '../../../lib/unavailable.js'
import { type LastCheck, readChecks, recordCheck } from '../../core/last-checks.js'
import { bindService, withDirectory } from './ldap-directory.js'
import { discover } from './openid.js'
import { configuredProviders, signOnProviders } from './sign-on.js'

/** How long a provider may take. */
const TIMEOUT_MS = 5_000

type Provider = ReturnType<typeof configuredProviders>[number]

/** A provider of the configuration. */
export interface ListedProvider {
  provider: Provider
  kind: 'openid' | 'ldap' | 'header'
  /** Where it is; null for a header. */
  address: string | null
  /** Whether people can sign in with it. */
  on: boolean
  /** What the last test has found. */
  check: LastCheck | null
}

/** All providers of the configuration, also those that are switched off (WB-205). */
export async function listProviders(ctx: Context): Promise<ListedProvider[]> {
  const { openid, ldap, header } = await signOnProviders(ctx)
  const on = new Set([...openid, ...ldap, ...(header ? [header] : [])].map(({ name }) => name))
  const checks = await readChecks(ctx)
  return configuredProviders(ctx).map((provider) => ({
    provider,
    ...('issuer' in provider
      ? { kind: 'openid', address: provider.issuer }
      : 'url' in provider
        ? { kind: 'ldap', address: provider.url }
        : { kind: 'header', address: null }),
    on: on.has(provider.name),
    check: checks.get(`provider ${provider.name}`) ?? null,
  }))
}

/** Whether a provider can be asked at all: a header comes with each request. */
export const canBeChecked = (provider: Provider): boolean => 'issuer' in provider || 'url' in provider

/** Asks a provider: discovery, or a bind with the account of the service; says what came of it (WB-205). */
export async function checkProvider(ctx: Context, name: string): Promise<{ good: boolean; message: string }> {
  const provider = configuredProviders(ctx).find((each) => each.name === name)
  if (!provider || !canBeChecked(provider)) throw notFound('Sign-in Provider')
  const began = performance.now()
  const late = new AbortController()
  const result = await Promise.race([
    ask(ctx, provider),
    sleep(TIMEOUT_MS, { good: false, message: `no answer in ${TIMEOUT_MS / 1_000} seconds` }, { signal: late.signal, ref: false }).catch(() => null),
  ])
  late.abort()
  const took = Math.round(performance.now() - began)
  const found = result?.good ? { good: true, message: `${result.message} in ${took} ms` } : { good: false, message: result?.message ?? '' }
  await recordCheck(ctx, `provider ${name}`, found.good, found.message)
  return found
}

async function ask(ctx: Context, provider: Provider): Promise<{ good: boolean; message: string }> {
  try {
    if ('issuer' in provider) {
      await discover(ctx, provider)
      return { good: true, message: 'its metadata were read' }
    }
    if ('url' in provider) await withDirectory(ctx, provider, (client) => (provider.bind ? bindService(client, provider) : reach(client)))
    const bound = 'bind' in provider && provider.bind !== undefined
    return { good: true, message: bound ? 'the account of this service was taken' : 'it has answered' }
  } catch (error) {
    const cause = unavailableIn(error)?.cause ?? error
    return { good: false, message: cause instanceof Error ? cause.message || cause.name : String(cause) }
  }
}

/** A directory that refuses a bind without an account has answered, too. */
async function reach(client: Client): Promise<void> {
  const { ResultCodeError } = await import('ldapts')
  await client.bind('', '').catch((error: unknown) => {
    if (!(error instanceof ResultCodeError)) throw error
  })
}
