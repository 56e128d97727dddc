import { AsyncLocalStorage } from 'node:async_hooks'

const holders = new AsyncLocalStorage<string>()

/** Runs work in the name of a holder; queues share their turns fairly among holders. */
export const inNameOf = <T>(holder: string, work: () => T): T => holders.run(holder, work)

/** The holder of the running work, and of background work it has started; undefined: the service itself. */
export const currentHolder = (): string | undefined => holders.getStore()

/** A user, or an address where nobody is signed in. */
export const holderOfCall = (userId: number | undefined, address: string): string => (userId === undefined ? address : `user ${userId}`)
