import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'

const FOLDER = join(import.meta.dirname, '../../src/web/assets/styles')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const order = [...read('index.css').matchAll(/^@import "\.\/(.+)";$/gm)].map(([, name = '']) => name)

const t = testApp()

describe('the stylesheet', () => {
  it('is all files of styles/ in the order of index.css, as one file (WB-7)', async () => {
    expect([...order].sort()).toEqual(
      readdirSync(FOLDER)
        .filter((name) => name !== 'index.css')
        .sort(),
    )
    const page = await (await fetch(`${t.url}/users/sign_in`, { headers: { accept: 'text/html' } })).text()
    const [, address = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(page) ?? []
    expect(address).toMatch(/^\/assets\/style-[0-9a-f]{12}\.css$/)
    const answer = await fetch(t.url + address)
    expect(answer.headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(page.match(/rel="stylesheet"/g)).toHaveLength(1)
    expect(await answer.text()).toBe(order.map(read).join(''))
  })

  it('has its colours, fonts, shadows and roundings in values.css alone', () => {
    const raw = order
      .filter((name) => name !== 'values.css')
      .flatMap((name) =>
        [...read(name).matchAll(/#[0-9a-f]{3,8}\b(?=.*;)|(?:rgb|hsl)a?\(|sans-serif|monospace|border-radius: [\d.]+px/gi)].map(
          ([value]) => `${name}: ${value}`,
        ),
      )
    expect(raw, 'Give the value a name in values.css.').toEqual([])
    const used = new Set(
      [
        ...order
          .map(read)
          .join('')
          .matchAll(/var\((--[\w-]+)/g),
      ].map(([, name]) => name),
    )
    const declared = [...read('values.css').matchAll(/^ {2}(--[\w-]+):/gm)].map(([, name]) => name)
    expect(
      declared.filter((name) => !used.has(name)),
      'Nothing uses these values.',
    ).toEqual([])
  })

  it('has syntax that can be read on what a diff is drawn on, light and dark (WB-540)', () => {
    const values = read('values.css')
    /** The value for light or for dark pages. */
    const of = (name: string, mode: 0 | 1): string => {
      const found = [...values.matchAll(new RegExp(`^ +--${name}: (?:light-dark\\((#\\w+), (#\\w+)\\)|(#\\w+));`, 'gm'))]
      return found[0]?.[1 + mode] ?? (found[mode]?.[3] as string)
    }
    const luminance = (color: string) =>
      [1, 3, 5]
        .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, i) => sum + part * ([0.2126, 0.7152, 0.0722][i] as number), 0)
    const low: string[] = []
    for (const mode of [0, 1] as const)
      for (const ground of ['ground', 'added', 'added-words', 'removed', 'removed-words'])
        for (const letters of ['text', 'keyword', 'string', 'number', 'name', 'comment']) {
          const [a = 0, b = 0] = [luminance(of(letters, mode)), luminance(of(ground, mode))].sort((one, other) => other - one)
          const contrast = (a + 0.05) / (b + 0.05)
          if (!(contrast >= 4.5)) low.push(`${letters} on ${ground}: ${contrast.toFixed(2)}`)
        }
    expect(low).toEqual([])
  })
})
