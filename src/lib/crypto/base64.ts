import { setImmediate } from 'node:timers/promises'

/** Characters that are decoded before yielding to the event loop (SEC-145). */
const SLICE_CHARACTERS = 1024 * 1024

/** Decodes a base64 text, in which white space is allowed; null for any other character or wrong padding. */
export async function decodeBase64(text: string): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let rest = ''
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
    if (at > 0) await setImmediate()
    if (rest.includes('=')) return null
    const letters = rest + text.slice(at, at + SLICE_CHARACTERS).replace(/\s+/g, '')
    // the last four are left for later, because only they may be padded
    const whole = Math.max(0, Math.ceil(letters.length / 4) - 1) * 4
    const piece = decoded(letters.slice(0, whole))
    if (!piece || letters.slice(0, whole).endsWith('=')) return null
    pieces.push(piece)
    rest = letters.slice(whole)
  }
  const last = decoded(rest)
  return last && Buffer.concat([...pieces, last])
}

/** Encodes the result again to detect characters that the decoder skipped or made up. */
function decoded(letters: string): Buffer | null {
  const bytes = Buffer.from(letters, 'base64')
  return bytes.toString('base64') === letters ? bytes : null
}
