// @module-tag long
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { testApp } from '../support/app.js'
import { launchChromium } from '../support/chromium.js'
import { aProject } from '../support/factories.js'

const t = testApp()
let browser: Browser

beforeAll(async () => {
  // the scripts that draw diagrams
  await build()
  browser = await launchChromium()
})
afterAll(() => browser.close())

const fenced = (source: string) => `\`\`\`mermaid\n${source}\n\`\`\`\n\n`

async function opened(text: string, colorScheme: 'light' | 'dark' = 'light', javaScriptEnabled = true): Promise<Page> {
  const { fullPath } = await aProject(t.ctx, { visibility: 'public', files: { 'README.md': text } })
  const page = await browser.newPage({ colorScheme, javaScriptEnabled })
  await page.goto(`${t.url}/${fullPath}/-/blob/main/README.md`)
  return page
}

describe('diagrams in the browser (MD-23)', () => {
  it('are drawn in frames without an origin, in the colours of the page, with their source below', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const page = await opened(fenced('flowchart LR\n  A[One] --> B[Two]'), scheme)
      await page.locator('.drawn').waitFor()
      const frame = page.frames()[1]
      expect(await frame?.locator('svg').first().textContent()).toContain('One')
      expect(await frame?.evaluate('origin')).toBe('null')
      expect(await frame?.evaluate('fetch(location.href).then(() => 1, () => 0)')).toBe(0)
      expect(await page.locator('iframe.diagram').evaluate((element) => element.getBoundingClientRect().height)).toBeGreaterThan(20)
      expect(await page.locator('.drawn pre').textContent()).toContain('A[One] --> B[Two]')
      await page.close()
    }
  })

  it('run nothing of what is in them, and lead nowhere', async () => {
    const hostile = [
      'flowchart LR\n  A["<img src=x onerror=parent.postMessage({height:3999},\'*\')>"] --> B\n  click A call alert()\n  click B href "javascript:alert(1)"',
      '%%{init: {"securityLevel": "loose", "themeCSS": "* { background: url(//example.org) }"}}%%\nflowchart LR\n  A["<script>alert(1)</script>"] --> B\n  click B href "https://example.org"',
    ]
    const page = await opened(hostile.map(fenced).join(''))
    const asked: string[] = []
    page.on('requestfinished', (request) => void asked.push(new URL(request.url()).host))
    page.on('requestfailed', (request) => void (request.failure()?.errorText === 'csp' || asked.push(request.url())))
    page.on('dialog', () => void asked.push('a dialog'))
    await page.locator('.drawn').nth(1).waitFor()
    for (const frame of page.frames().slice(1)) {
      expect(await frame.locator('script:not([type=module]), [onerror], a[href^="javascript"]').count()).toBe(0)
      for (const node of await frame.locator('.node').all()) await node.click({ force: true })
    }
    expect(new Set([...asked, new URL(t.url).host])).toEqual(new Set([new URL(t.url).host]))
    expect([page.url().startsWith(t.url), await page.locator('iframe.diagram').count()]).toEqual([true, 2])
    await page.close()
  })

  it('that are none, too large or too many stay code, as all are without scripts', async () => {
    const large = `flowchart LR\n${Array.from({ length: 400 }, (_, n) => `A${n} --> B${n}`).join('\n')}`
    const page = await opened(`${fenced('flowchart LR\n  A --> B')}${fenced('no diagram')}${fenced(large)}`)
    await page.locator('.drawn').waitFor()
    await page.mouse.wheel(0, 5_000)
    await expect.poll(() => page.locator('iframe.diagram').count()).toBe(1)
    expect(await page.locator('pre > code.language-mermaid:visible').count()).toBe(2)
    await page.close()
    const plain = await opened(fenced('flowchart LR\n  A --> B'), 'light', false)
    expect([await plain.locator('pre > code.language-mermaid').count(), await plain.locator('iframe').count()]).toEqual([1, 0])
    await plain.close()
  })
})

it('pages without a diagram load nothing that draws them', async () => {
  const { fullPath } = await aProject(t.ctx, { visibility: 'public', files: { 'README.md': '# Hello' } })
  const page = await browser.newPage()
  const asked: string[] = []
  page.on('request', (request) => void asked.push(request.url()))
  await page.goto(`${t.url}/${fullPath}`, { waitUntil: 'networkidle' })
  expect(asked.filter((url) => url.includes('diagram'))).toEqual([])
  await page.close()
})
