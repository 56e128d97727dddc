import { describe, expect, it } from 'vitest'
import { SETTING_NAMES, SETTINGS } from '../src/services/core/settings-table.js'

const shown = (value: unknown) => (value === null ? 'none' : `\`${JSON.stringify(value)}\``)
const row = (name: (typeof SETTING_NAMES)[number]) => `| \`${name}\` | ${shown(SETTINGS[name].default)} | ${SETTINGS[name].effect ?? 'stored only'} |`

describe('docs/settings.md', () => {
  it('says of every setting what it does, or that it is stored only, as the table of the code has it', async () => {
    const text = `# Settings

What administrators set with \`PUT /api/v4/application/settings\`. A change holds from the next request on, in other processes on the same database within a second. What is stored only is kept and shown, and governs nothing here.

| setting | default | what it does |
|---|---|---|
${SETTING_NAMES.map(row).join('\n')}
`
    await expect(text).toMatchFileSnapshot('../docs/settings.md')
  })
})
