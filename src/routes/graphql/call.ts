import type { Caller } from '../../access/actor.js'
import type { Context } from '../../context.js'
import { refused } from '../../failures.js'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import { type Loaders, loadersOf } from './loaders.js'

/** The most values in an answer, lists that no other read shares, and bytes of text (GQL-23). */
export const MAX_VALUES = 40_000
export const MAX_LISTS = 20
export const MAX_TEXT_BYTES = 16 * 1024 * 1024
/** Values after which the rest of an answer waits for a later turn of the event loop. */
export const VALUES_A_TURN = 4_000
/** The most diffs whose lines one query counts. */
const MAX_DIFFS = 20
/** How long a query may take, in milliseconds (GQL-23). */
const MAX_MS = 30_000

/** Why a whole query ends, whatever it has found so far. */
export class Refusal extends Error {}

/** What resolvers share while one query runs. */
export class Call {
  readonly loaders: Loaders
  /** The day with which due dates are compared. */
  readonly today: string
  /** Set once the query is over because of a limit. */
  refusal: Refusal | undefined
  #values = 0
  #lists = 0
  #characters = 0
  #diffs = 0
  /** Values of this turn of the event loop, and what waits for its own. */
  #inTurn = 0
  readonly #waiting: (() => void)[] = []
  readonly #shown = new WeakMap<object, unknown>()
  #last: Promise<unknown> = Promise.resolve()
  readonly #deadline = performance.now() + MAX_MS

  constructor(
    readonly ctx: Context,
    readonly caller: Caller,
    readonly view: View,
    private readonly gone: AbortSignal,
  ) {
    this.loaders = loadersOf(ctx, caller)
    this.today = dayOf(ctx.now())
  }

  /** Counts a value before it is resolved; throws when the query is over. */
  countValue(): void {
    if (this.refusal) throw this.refusal
    this.#values++
    this.#inTurn++
    if (this.#values > MAX_VALUES) this.#refuse(`The query asks for more than ${MAX_VALUES} values: ask for fewer fields, or for smaller pages.`)
    if (this.#values % 256 === 0) this.checkTime()
  }

  /** Throws when the query has run for too long, or nobody waits for the answer. */
  checkTime(): void {
    if (this.gone.aborted) this.#refuse('The client has gone.')
    if (performance.now() > this.#deadline) this.#refuse(`The query takes more than ${MAX_MS / 1000} seconds: ask for less.`)
  }

  countText(text: string): void {
    this.#characters += text.length
    if (this.#characters > MAX_TEXT_BYTES) this.#refuse(`The texts of the answer have more than ${MAX_TEXT_BYTES} bytes: ask for smaller pages.`)
  }

  /** Counts a list that is read by itself, or one that is as much work as several; 400 after too many. */
  countList(as = 1): void {
    this.checkTime()
    this.#lists += as
    if (this.#lists > MAX_LISTS)
      throw refused(`The query asks for more than ${MAX_LISTS} lists that are each read by themselves: ask for those of fewer things at a time.`)
  }

  /** The value, in a later turn of the event loop if this one has had many already (GQL-24). */
  inTurn<T>(value: T): T | Promise<T> {
    return this.#inTurn < VALUES_A_TURN && this.#waiting.length === 0 ? value : this.later(value)
  }

  /** The value in a turn of its own. */
  later<T>(value: T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#waiting.push(() => resolve(value)) === 1) setImmediate(() => this.#next())
    })
  }

  #next(): void {
    this.#inTurn = 0
    this.#waiting[0]?.()
    // what follows from it runs first
    setImmediate(() => {
      this.#waiting.shift()
      this.#inTurn = 0
      if (this.#waiting.length > 0) this.#next()
    })
  }

  /** Runs work that holds much memory, after the work that was given before. */
  oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(() => {
      this.checkTime()
      return work()
    })
    this.#last = next.catch(() => null)
    return next
  }

  /** Counts the lines of a diff, one after the other; null after `MAX_DIFFS`. */
  async countLines<T>(count: () => Promise<T>): Promise<T | null> {
    return ++this.#diffs > MAX_DIFFS ? null : this.oneByOne(count)
  }

  /** What is shown of something, made once for all of its fields. */
  shownOnce(source: object, show: () => unknown): unknown {
    if (!this.#shown.has(source)) this.#shown.set(source, show())
    return this.#shown.get(source)
  }

  /** The path of an address of this service. */
  pathOf(url: string): string {
    const { base, prefix } = this.view.links
    return url.startsWith(base) ? prefix + url.slice(base.length) : url
  }

  #refuse(text: string): never {
    this.refusal = new Refusal(text)
    throw this.refusal
  }
}
