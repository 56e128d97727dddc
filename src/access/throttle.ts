import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import type { Count, Counters } from './counters.js'

/** Maximum number of delayed refusals at a time; further ones are sent immediately. */
const MAX_DELAYED = 1_000
/**
 * The limit of an address for all accounts, and of an account from all addresses, as a multiple of the limit of an
 * address for one account.
 */
const ADDRESS_LIMIT_FACTOR = 3

/**
 * Counts invalid credentials per fixed window, across all processes; a client with too many is refused until the window
 * ends (SEC-26, CR-15).
 */
export class Throttle {
  private readonly attempts: number
  private readonly window: number
  private readonly delay: number
  #delayed = 0

  /**
   * `attempts`: how many wrong passwords an address may send for one account; 0: no limit. `window` is in seconds,
   * `delay` in milliseconds. `what` names what is counted: one kind does not keep out another.
   */
  constructor(
    { attempts, window, delay = 0 }: { attempts: number; window: number; delay?: number },
    private readonly counters: Counters,
    private readonly now: () => Date,
    private readonly what = 'bad',
  ) {
    this.attempts = attempts
    this.window = window
    this.delay = delay
  }

  /**
   * Throws a refusal after the delay, which slows down clients that guess credentials.
   */
  async refuse(refusal: unknown): Promise<never> {
    if (this.delay > 0 && this.#delayed < MAX_DELAYED) {
      this.#delayed++
      await sleep(this.delay, undefined, { ref: false }).finally(() => this.#delayed--)
    }
    throw refusal
  }

  /**
   * How many seconds this address must wait before another credential, or a password for this account, is checked; 0 if
   * none. An account's failures from other addresses count only against addresses that have failed with it themselves,
   * so that attackers cannot lock a user out.
   */
  async wait(address: string, account?: string): Promise<number> {
    if (this.attempts === 0) return 0
    const names = this.#namesOf(address, account)
    const [all, own, everywhere] = await this.counters.read(names)
    const waits = [this.#secondsLeft(all, ADDRESS_LIMIT_FACTOR * this.attempts), this.#secondsLeft(own, this.attempts)]
    if (own && own.count > 0) waits.push(this.#secondsLeft(everywhere, ADDRESS_LIMIT_FACTOR * this.attempts))
    return Math.max(...waits)
  }

  /** Records an invalid credential from this address; `account` is given for a password. */
  async failed(address: string, account?: string): Promise<void> {
    if (this.attempts === 0) return
    const names = this.#namesOf(address, account)
    await Promise.all(names.map((name) => this.counters.add(name, this.window)))
  }

  /** Records a correct password: resets the failures of this address with this account. */
  async succeeded(address: string, account: string): Promise<void> {
    const [, pair] = this.#namesOf(address, account)
    if (this.attempts > 0 && pair !== undefined) await this.counters.reset(pair)
  }

  /** Names of the counters: of an address, and where one is given of the address with an account, and of the account. */
  #namesOf(address: string, account?: string): string[] {
    const from = `${this.what} from ${networkOf(address)}`
    return account === undefined ? [from] : [from, `${from} ${account}`, `${this.what} ${account}`]
  }

  #secondsLeft(known: Count | undefined, most: number): number {
    if (!known || known.count < most) return 0
    return Math.ceil((known.until.getTime() - this.now().getTime()) / 1000)
  }
}

/** The address for IPv4, the /64 network for IPv6: one client can use any address of its /64. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.')
}
