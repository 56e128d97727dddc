import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { iconsModule } from '../../scripts/icons.mjs'

it('the icons are those that the script takes from their package', () => {
  expect(readFileSync('src/web/components/icons.ts', 'utf8')).toBe(iconsModule())
})
