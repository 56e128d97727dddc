import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { decodeBase64 } from '../../src/lib/crypto/base64.js'

describe('base64 (C-39)', () => {
  it('reads what encoders write, in lines or in one, of any length', async () => {
    for (const size of [0, 1, 2, 3, 4, 786_431, 786_432, 786_433, 1_600_001]) {
      const bytes = randomBytes(size)
      const text = bytes.toString('base64')
      expect((await decodeBase64(text))?.equals(bytes)).toBe(true)
      expect((await decodeBase64(text.replace(/.{1,76}/g, ' $&\r\n\t')))?.equals(bytes)).toBe(true)
    }
  })

  it.each(['!', 'YQ', 'YQ=', 'YWJj=', 'YW=J', 'YR==', 'a_-b', 'YQ==YQ==', '====', `YQ==${' '.repeat(2 ** 20)}YWJj`, `${'A'.repeat(2 ** 20)}A`])(
    'refuses invalid values: %.20s',
    async (text) => {
      expect(await decodeBase64(text)).toBeNull()
    },
  )
})
