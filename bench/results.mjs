import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('RESULTS.md', import.meta.url))

/** The sections of the file in order, each written by its own command. */
const TITLES = ['Results of `npm run bench`', 'Every call', 'Beside Gogs']

/** Replaces one section of bench/RESULTS.md. */
export function writeResults(title, text) {
  const sections = existsSync(file) ? readFileSync(file, 'utf8').split(/^(?=# )/m) : []
  const kept = TITLES.map((each) =>
    each === title ? `# ${title}\n\n${text.trim()}\n` : sections.find((section) => section.startsWith(`# ${each}\n`))?.trimEnd(),
  )
  writeFileSync(
    file,
    `${kept
      .filter(Boolean)
      .map((section) => section.trim())
      .join('\n\n')}\n`,
  )
}
