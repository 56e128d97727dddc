import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'

/** The first without windows: it takes two thirds of the processor time of the whole browser. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Pictures are kept where this says. */
const PICTURES = process.env['ROOST_TEST_PICTURES']
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export function launchChromium(): Promise<Browser> {
  const executablePath = PROGRAMS.find((path) => existsSync(path))
  if (!executablePath) expect.fail('Chromium is needed for this test (apt-get install chromium-headless-shell)')
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}

interface Axe {
  run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}

/** What axe finds on the page, whose context bypasses the policy against foreign scripts; by the given rules, or by all. */
export async function findings(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(
    (only) => (globalThis as unknown as { axe: Axe }).axe.run(only ? { runOnly: { type: 'rule', values: only } } : {}),
    rules,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}

/** The width of a narrow window. */
const NARROW = 600

/**
 * What is wrong with the look of the page: it is wider than its window, or axe finds something. A wide page is looked at
 * in light and in dark colours; on a narrow one only what depends on the width is looked for. Pictures are kept.
 */
export async function faultsOf(page: Page, name: string): Promise<string[]> {
  const isNarrow = (page.viewportSize()?.width ?? NARROW) < NARROW
  const isWider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  const faults = [
    ...(isWider ? ['wider than the window'] : []),
    ...(await findings(page, isNarrow ? ['color-contrast', 'scrollable-region-focusable'] : undefined)),
  ]
  await keepPicture(page, name)
  if (isNarrow) return faults
  await page.emulateMedia({ colorScheme: 'dark' })
  const inDark = (await findings(page, ['color-contrast', 'link-in-text-block'])).map((fault) => `dark: ${fault}`)
  await keepPicture(page, `${name}-dark`)
  await page.emulateMedia({ colorScheme: 'light' })
  return [...faults, ...inDark]
}

/** Keeps a picture of the page where pictures are kept. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name.replace(/[^\w-]+/g, '_')}.png`), fullPage: true })
}
