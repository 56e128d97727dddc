import { describe, expect, it } from 'vitest'
import { SETTING_NAMES, SETTINGS, WITHOUT_EFFECT } from '../src/services/core/settings-table.js'

const shown = (value: unknown) => (value === null ? 'none' : `\`${JSON.stringify(value)}\``)
const effectOf = (name: (typeof SETTING_NAMES)[number]) => {
  const reason = WITHOUT_EFFECT[name]
  return SETTINGS[name].effect ?? (reason === undefined ? 'stored only' : `stored only: ${reason}`)
}
const row = (name: (typeof SETTING_NAMES)[number]) => `| \`${name}\` | ${shown(SETTINGS[name].default)} | ${effectOf(name)} |`

describe('a setting', () => {
  it('has an effect or a reason for having none, and not both', () => {
    for (const name of SETTING_NAMES) expect(SETTINGS[name].effect !== null && WITHOUT_EFFECT[name] !== undefined, name).toBe(false)
  })
})

describe('docs/settings.md', () => {
  it('describes every setting as the table in the code does', async () => {
    const text = `# Settings

Administrators change these with \`PUT /api/v4/application/settings\`. A change takes effect with the next request, in other processes on the same database within a second. Settings that are *stored only* are kept and shown, and have no effect.

| setting | default | what it does |
|---|---|---|
${SETTING_NAMES.map(row).join('\n')}
`
    await expect(text).toMatchFileSnapshot('../docs/settings.md')
  })
})
