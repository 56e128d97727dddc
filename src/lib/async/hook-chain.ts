import { AsyncLocalStorage } from 'node:async_hooks'

const chains = new AsyncLocalStorage<readonly number[] | null>()

/**
 * Runs work on behalf of a chain of webhooks: the ids of the hooks whose deliveries led to it, the oldest first. Null:
 * no delivery did. Database transactions of the work pass the chain on to the jobs that they enqueue (HK-30).
 */
export const runInHookChain = <T>(chain: readonly number[] | null, work: () => T): T => chains.run(chain, work)

/** The chain of the current work, also in background work that it started; empty if no delivery led to it. */
export const currentHookChain = (): readonly number[] => chains.getStore() ?? []
