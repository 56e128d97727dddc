import names from 'color-name'

/** Parses `#rgb`, `#rrggbb` or a CSS colour name to hex; null for anything else (LB-3). */
export function parseColor(text: string): string | null {
  if (/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)) return text
  const name = text.toLowerCase()
  const parts = Object.hasOwn(names, name) ? names[name] : undefined
  return parts ? `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`.toUpperCase() : null
}

/** A text colour that is readable on this background. */
export function readableTextColor(color: string): string {
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit) : [1, 3, 5].map((at) => color.slice(at, at + 2))
  const sum = digits.reduce((total, part) => total + Number.parseInt(part, 16), 0)
  return sum > 500 ? '#333333' : '#FFFFFF'
}
