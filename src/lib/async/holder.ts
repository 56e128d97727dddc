import { AsyncLocalStorage } from 'node:async_hooks'

const holders = new AsyncLocalStorage<string>()

/** Runs work on behalf of a holder; queues share their slots fairly among holders. */
export const runAsHolder = <T>(holder: string, work: () => T): T => holders.run(holder, work)

/** The holder of the current work, also in background work that it started; undefined for the service itself. */
export const currentHolder = (): string | undefined => holders.getStore()

/** The user, or the IP address for anonymous calls. */
export const holderOfCall = (userId: number | undefined, address: string): string => (userId === undefined ? address : `user ${userId}`)
