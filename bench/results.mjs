import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('RESULTS.md', import.meta.url))

/** The parts of the file in their order, each made by a command of its own. */
const TITLES = ['Results of `npm run bench`', 'Every call', 'Beside Gogs']

/** Replaces one part of bench/RESULTS.md, and keeps the others. */
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
