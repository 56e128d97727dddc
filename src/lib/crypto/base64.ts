import { setImmediate } from 'node:timers/promises'

/** Characters decoded before yielding to the event loop (SEC-145). */
const SLICE = 1024 * 1024

/**
 * The bytes of a base64 text that contains only white space beside its alphabet; null for anything else, wrong padding
 * included.
 */
export async function decodeBase64(text: string): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let left = ''
  for (let at = 0; at < text.length; at += SLICE) {
    if (at > 0) await setImmediate()
    if (left.includes('=')) return null
    const letters = left + text.slice(at, at + SLICE).replace(/\s+/g, '')
    // the last four stay, because only they may be padded
    const whole = Math.max(0, Math.ceil(letters.length / 4) - 1) * 4
    const piece = decoded(letters.slice(0, whole))
    if (!piece || letters.slice(0, whole).endsWith('=')) return null
    pieces.push(piece)
    left = letters.slice(whole)
  }
  const last = decoded(left)
  return last && Buffer.concat([...pieces, last])
}

/** Encoding the result again shows what the decoder has skipped or made up. */
function decoded(letters: string): Buffer | null {
  const bytes = Buffer.from(letters, 'base64')
  return bytes.toString('base64') === letters ? bytes : null
}
