import { ICONS } from './icons.js'

export type IconName = keyof typeof ICONS

/** A picture beside a text, which says the same. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`#i-${name}`} />
  </svg>
)

/** The names of the icons that a text uses. */
export function iconsIn(html: string): string[] {
  return Array.from(html.matchAll(/<use href="#i-([a-z-]+)"/g), ([, name = '']) => name).filter((name) => Object.hasOwn(ICONS, name))
}

/** The definitions of icons. */
export function symbolsOf(names: ReadonlySet<string>): string {
  if (names.size === 0) return ''
  const symbols = [...names].map((name) => `<symbol id="i-${name}" viewBox="0 0 24 24">${ICONS[name as IconName]}</symbol>`)
  return `<svg hidden>${symbols.join('')}</svg>`
}
