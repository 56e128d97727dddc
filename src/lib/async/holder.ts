import { AsyncLocalStorage } from 'node:async_hooks'

const holders = new AsyncLocalStorage<string>()

/** Does work in somebody's name: what has turns shares them fairly among these. */
export const inNameOf = <T>(holder: string, work: () => T): T => holders.run(holder, work)

/** In whose name the running work is done, background work that it left included; undefined: the service's own. */
export const currentHolder = (): string | undefined => holders.getStore()

/** A user, or an address where nobody is signed in. */
export const holderOfCall = (userId: number | undefined, address: string): string => (userId === undefined ? address : `user ${userId}`)
