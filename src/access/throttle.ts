import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import type { Count, Counters } from './counters.js'

/** Refusals that are delayed at a time; further ones are answered at once. */
const MAX_DELAYED = 1_000
/**
 * The limit of an address for all accounts, and of an account from all addresses, as a multiple of the limit of one
 * address for one account.
 */
const ADDRESS_LIMIT_FACTOR = 3

/**
 * Counts bad credentials in windows of fixed length, in all processes together; whoever had too many is refused until
 * the window ends (SEC-26, CR-15).
 */
export class Throttle {
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
    private readonly counters: Counters,
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
  async wait(address: string, account?: string): Promise<number> {
    if (this.attempts === 0) return 0
    const [from, pair] = namesOf(address, account)
    const names = account === undefined ? [from] : [from, pair, `bad ${account}`]
    const [all, own, everywhere] = await this.counters.read(names)
    const waits = [this.#secondsLeft(all, ADDRESS_LIMIT_FACTOR * this.attempts), this.#secondsLeft(own, this.attempts)]
    if (own && own.count > 0) waits.push(this.#secondsLeft(everywhere, ADDRESS_LIMIT_FACTOR * this.attempts))
    return Math.max(...waits)
  }

  /** A credential from this address was bad; `account` is given when it was a password. */
  async failed(address: string, account?: string): Promise<void> {
    if (this.attempts === 0) return
    const [from, pair] = namesOf(address, account)
    const names = account === undefined ? [from] : [from, pair, `bad ${account}`]
    await Promise.all(names.map((name) => this.counters.add(name, this.window)))
  }

  /** The password was right: earlier failures of this address with this account are forgotten. */
  async succeeded(address: string, account: string): Promise<void> {
    if (this.attempts > 0) await this.counters.reset(namesOf(address, account)[1])
  }

  #secondsLeft(known: Count | undefined, most: number): number {
    if (!known || known.count < most) return 0
    return Math.ceil((known.until.getTime() - this.now().getTime()) / 1000)
  }
}

/** Names of the counters of an address, and of the address with an account. */
function namesOf(address: string, account = ''): [string, string] {
  const network = networkOf(address)
  return [`bad from ${network}`, `bad from ${network} ${account}`]
}

/** One customer of a provider has as many IPv6 addresses as they like, all in one /64. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.')
}
