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
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  const { violations } = await page.evaluate(
    // what passes is not described, nor are selectors made
    (only) =>
      (globalThis as unknown as { axe: Axe }).axe.run({
        resultTypes: ['violations'],
        selectors: false,
        ...(only && { runOnly: { type: 'rule', values: only } }),
      }),
    rules,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}

const NARROW = { width: 390, height: 844 }

/**
 * What is wrong with the look of the page: it is wider than its window, or axe finds something. It is looked at in light
 * and in dark colours, and as wide as a phone; there and in the dark only what depends on it is looked for. Pictures are
 * kept.
 */
export async function faultsOf(page: Page, name: string): Promise<string[]> {
  const usual = page.viewportSize()
  const look = async (at: string, colorScheme: 'light' | 'dark', rules?: string[]) => {
    await page.emulateMedia({ colorScheme })
    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    const faults = [...(isWider ? ['wider than the window'] : []), ...(await findings(page, rules))]
    await keepPicture(page, `${name}-${at}`)
    return faults.map((fault) => `${at}: ${fault}`)
  }
  const faults = [...(await look('light', 'light')), ...(await look('dark', 'dark', ['color-contrast', 'link-in-text-block']))]
  await page.setViewportSize(NARROW)
  faults.push(...(await look('narrow', 'light', ['color-contrast', 'scrollable-region-focusable'])))
  if (usual) await page.setViewportSize(usual)
  return faults
}

/** Keeps a picture of the page where pictures are kept. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name.replace(/[^\w-]+/g, '_')}.png`), fullPage: true })
}
