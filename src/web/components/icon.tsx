import { ICONS } from './icons.js'

export type IconName = keyof typeof ICONS

/** A picture beside a text, which says the same. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`#i-${name}`} />
  </svg>
)

/** The definitions of the icons that a text uses, each once. */
export function symbolsIn(html: string): string {
  const names = new Set<string>()
  for (const [, name] of html.matchAll(/<use href="#i-([a-z-]+)"/g)) if (name !== undefined && Object.hasOwn(ICONS, name)) names.add(name)
  if (names.size === 0) return ''
  const symbols = [...names].map((name) => `<symbol id="i-${name}" viewBox="0 0 24 24">${ICONS[name as IconName]}</symbol>`)
  return `<svg hidden>${symbols.join('')}</svg>`
}
