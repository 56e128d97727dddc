import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Addresses and accounts that are remembered; the least recently seen are forgotten first (SEC-26). */
const MAX = 50_000
/** Refusals that are delayed at a time; further ones are answered at once. */
const MAX_DELAYED = 1_000
/**
 * The limit of an address for all accounts, and of an account from all addresses, as a multiple of the limit of one
 * address for one account.
 */
const ALL = 3

interface Failures {
  count: number
  until: number
}

/**
 * Counts bad credentials in windows of fixed length; whoever had too many is refused until the window ends (SEC-26,
 * CR-15). Each process counts for itself.
 */
export class Throttle {
  readonly #failures = new LRUCache<string, Failures>({ maxSize: MAX, sizeCalculation: () => 1 })

  private readonly attempts: number
  private readonly window: number
  private readonly delay: number
  #delayed = 0

  /**
   * `attempts`: bad passwords that an address may present for one account; 0: no limit. `window` in seconds, `delay` in
   * milliseconds.
   */
  constructor(
    { attempts, window, delay = 0 }: { attempts: number; window: number; delay?: number },
    private readonly now: () => Date,
  ) {
    this.attempts = attempts
    this.window = window
    this.delay = delay
  }

  /**
   * Throws a refusal after the delay, so that a client that guesses at full speed costs no more than one that waits.
   */
  async refuse(refusal: unknown): Promise<never> {
    if (this.delay > 0 && this.#delayed < MAX_DELAYED) {
      this.#delayed++
      await sleep(this.delay, undefined, { ref: false }).finally(() => this.#delayed--)
    }
    throw refusal
  }

  /**
   * Seconds this address has to wait before another bad credential, or a password for this account, is looked at; 0:
   * none. An account's failures from elsewhere count only against addresses that have failed with it themselves, so
   * that nobody can be locked out by others.
   */
  wait(address: string, account?: string): number {
    if (this.attempts === 0) return 0
    const [from, pair] = keysOf(address, account)
    const waits = [this.#left(from, ALL * this.attempts)]
    if (account !== undefined) {
      waits.push(this.#left(pair, this.attempts))
      if (this.#count(pair) > 0) waits.push(this.#left(account, ALL * this.attempts))
    }
    return Math.max(...waits)
  }

  /** A credential from this address was bad; `account` is given when it was a password. */
  failed(address: string, account?: string): void {
    if (this.attempts === 0) return
    const [from, pair] = keysOf(address, account)
    this.#add(from)
    if (account === undefined) return
    this.#add(pair)
    this.#add(account)
  }

  /** The password was right: earlier failures of this address with this account are forgotten. */
  succeeded(address: string, account: string): void {
    this.#failures.delete(keysOf(address, account)[1])
  }

  #count(key: string): number {
    const known = this.#failures.get(key)
    return known && known.until > this.now().getTime() ? known.count : 0
  }

  #left(key: string, most: number): number {
    if (this.#count(key) < most) return 0
    return Math.ceil(((this.#failures.get(key) as Failures).until - this.now().getTime()) / 1000)
  }

  #add(key: string): void {
    const now = this.now().getTime()
    const known = this.#failures.get(key)
    if (known && known.until > now) known.count++
    else this.#failures.set(key, { count: 1, until: now + this.window * 1000 })
  }
}

/** Names of the counters of an address, and of the address with an account. */
function keysOf(address: string, account = ''): [string, string] {
  const network = networkOf(address)
  return [`from ${network}`, `from ${network} ${account}`]
}

/** One customer of a provider has as many IPv6 addresses as they like, all in one /64. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.')
}
