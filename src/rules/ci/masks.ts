/** Characters of a value that logs are not to show. */
export const MAX_MASKED = 10_000
/** Bytes of all such values of a job together: the cost of a log depends on them (CI-241). */
export const MAX_MASKS = 65_536

/** What stands in a log in place of a value: it has the same length, so that offsets stay true (CI-240). */
const MASK = Buffer.from('[MASKED]')
const FILL = 0x2a
/** Bytes at the beginning of a value, of 8 at least, that say nothing about it. */
const HARMLESS = 3

/** A piece of a log that may be stored, and its end, which may not yet: it may be the beginning of a value. */
export interface MaskedPiece {
  bytes: Buffer
  held: HeldEnd | null
}

/**
 * The end of a log that is the beginning of a value: the first `length` bytes of the value number `mask`, of which the
 * first `covered` are part of another one that has ended there.
 */
export interface HeldEnd {
  mask: number
  length: number
  covered: number
}

interface Part {
  start: number
  end: number
}

/** Finds values in a log that comes in pieces, by the automaton of Aho and Corasick: the time is linear in the bytes. */
export class LogMasker {
  /** The next state, by state and byte. */
  readonly #next = new Map<number, number>()
  readonly #begins = new Uint8Array(256)
  /** By state: its depth, the state of its longest proper suffix, a value that it begins, whether a value goes on. */
  readonly #depth = [0]
  readonly #suffix = [0]
  readonly #of = [0]
  readonly #goesOn = [true]
  /** By state: the length of the longest value that ends there. */
  readonly #ends = [0]

  constructor(private readonly values: readonly Buffer[]) {
    for (const [mask, value] of values.entries()) this.#add(mask, value)
    this.#link()
  }

  #add(mask: number, value: Buffer): void {
    let state = 0
    this.#begins[value[0] as number] = 1
    for (const byte of value) {
      const key = state * 256 + byte
      let next = this.#next.get(key)
      if (next === undefined) {
        next = this.#depth.length
        this.#next.set(key, next)
        this.#depth.push((this.#depth[state] as number) + 1)
        this.#suffix.push(0)
        this.#of.push(mask)
        this.#goesOn.push(false)
        this.#ends.push(0)
      }
      this.#goesOn[state] = true
      state = next
    }
    this.#ends[state] = value.length
  }

  #link(): void {
    const byDepth = [...this.#next].sort(([, a], [, b]) => (this.#depth[a] as number) - (this.#depth[b] as number))
    for (const [key, state] of byDepth) {
      const above = Math.floor(key / 256)
      if (above !== 0) this.#suffix[state] = this.#step(this.#suffix[above] as number, key % 256)
      this.#ends[state] = Math.max(this.#ends[state] as number, this.#ends[this.#suffix[state] as number] as number)
    }
  }

  #step(from: number, byte: number): number {
    let state = from
    for (;;) {
      if (state === 0 && this.#begins[byte] === 0) return 0
      const next = this.#next.get(state * 256 + byte)
      if (next !== undefined) return next
      if (state === 0) return 0
      state = this.#suffix[state] as number
    }
  }

  /** Masks what comes after `before`, the end of the log that was held back. */
  mask(piece: Buffer, before: HeldEnd | null = null): MaskedPiece {
    const begun = before ? (this.values[before.mask] as Buffer).subarray(0, before.length) : Buffer.alloc(0)
    const text = Buffer.concat([begun, piece])
    const found: Part[] = before && before.covered > 0 ? [{ start: 0, end: before.covered }] : []
    let state = 0
    for (let at = 0; at < text.length; at++) {
      state = this.#step(state, text[at] as number)
      const length = this.#ends[state] as number
      if (length > 0) addPart(found, at + 1 - length, at + 1)
    }
    // a value that has ended is held only as the beginning of another one
    while (!this.#goesOn[state]) state = this.#suffix[state] as number
    const length = this.#depth[state] as number
    const rest = text.length - length
    for (const { start, end } of found) fill(text, start, end)
    const covered = Math.max(0, (found.at(-1)?.end ?? 0) - rest)
    return { bytes: text.subarray(0, rest), held: length === 0 ? null : { mask: this.#of[state] as number, length, covered } }
  }

  /** What is stored of the end that was held back when nothing follows it. */
  last({ mask, length, covered }: HeldEnd): Buffer {
    const text = Buffer.from((this.values[mask] as Buffer).subarray(0, length))
    fill(text, 0, length > HARMLESS ? length : covered)
    return text
  }
}

/** Adds a part that ends last; those that it overlaps become one with it. */
function addPart(parts: Part[], start: number, end: number): void {
  let from = start
  for (let last = parts.at(-1); last && last.end > from; last = parts.at(-1)) {
    from = Math.min(from, last.start)
    parts.pop()
  }
  parts.push({ start: from, end: Math.max(end, from) })
}

function fill(text: Buffer, start: number, end: number): void {
  text.fill(FILL, start, end)
  MASK.copy(text, start, 0, Math.min(MASK.length, end - start))
}
