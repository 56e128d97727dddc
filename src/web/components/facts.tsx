import type { ComponentChildren } from 'preact'
import { t } from '../language/language.js'

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** A number of bytes as people read it: 1.5 GiB. */
export function sizeText(bytes: number): string {
  if (bytes === 1) return t('1 byte')
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}

/** A whole number with spaces between thousands. */
export const numberText = (value: number) => Math.round(value).toLocaleString('en').replaceAll(',', ' ')

/** Names and values, one below the other; what has no value is left out. */
export const Facts = ({ facts }: { facts: (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)
