import { ICONS } from './icons.js'

export type IconName = keyof typeof ICONS

/** A picture beside a text, which says the same. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`#i-${name}`} />
  </svg>
)

const USE = '<use href="#i-'

/** The names of the icons that a text uses. */
export function iconsIn(html: string): Set<string> {
  const names = new Set<string>()
  for (let at = html.indexOf(USE); at >= 0; at = html.indexOf(USE, at + 1)) {
    const name = html.slice(at + USE.length, html.indexOf('"', at + USE.length))
    if (Object.hasOwn(ICONS, name)) names.add(name)
  }
  return names
}

/** The definitions of icons. */
export function symbolsOf(names: ReadonlySet<string>): string {
  if (names.size === 0) return ''
  const symbols = [...names].map((name) => `<symbol id="i-${name}" viewBox="0 0 24 24">${ICONS[name as IconName]}</symbol>`)
  return `<svg hidden>${symbols.join('')}</svg>`
}
