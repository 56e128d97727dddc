const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/**
 * Counts the values and the depth of a JSON text as its bytes arrive, before anything is built from them: `[[],[],…]`
 * takes fifty times its size in memory.
 */
export class JsonCounter {
  /** At least as many as there are values. */
  values = 1
  /** The greatest depth so far. */
  depth = 0
  #open = 0
  #inString = false
  #escaped = false

  push(bytes: Buffer): void {
    for (const byte of bytes) {
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inString = false
      } else if (byte === QUOTE) this.#inString = true
      else if (byte === COMMA || byte === COLON) this.values++
      else if (OPENING.has(byte)) {
        this.values++
        this.depth = Math.max(this.depth, ++this.#open)
      } else if (CLOSING.has(byte)) this.#open--
    }
  }
}
