import type { z } from 'zod'
import { bool, float, int } from '../../http/params.js'
import type { SETTINGS, SettingName } from '../../services/core/settings-table.js'

export type Attribute = (typeof SETTINGS)[SettingName]

/** The result of reading a value: what to store, or why it is invalid (AS-5, AS-7 to AS-9, AS-71). */
type Read = { value: unknown } | { texts: string[] }

const INVALID = 'is invalid'
const NO_SUCH_WORD = 'does not have a valid value'

/** Parses a scalar as other endpoints do; null and '' mean `empty`. */
function scalar(value: unknown, type: z.ZodType, empty: null | undefined): Read {
  if (value === null || value === '') return { value: empty }
  const { success, data } = type.safeParse(value)
  return success ? { value: data } : { texts: [INVALID] }
}

/** Reads the value of a setting, as the API takes it (AS-5, AS-7 to AS-9, AS-71). */
export function readValue(attribute: Attribute, value: unknown): Read {
  switch (attribute.kind) {
    case 'bool':
      return scalar(value, bool(), undefined)
    case 'text':
    case 'secret':
    case 'duration':
    case 'group':
      if (value === null || value === '') return { value: null }
      return typeof value === 'object' ? { texts: [INVALID] } : { value: String(value) }
    case 'int':
      return scalar(value, int(), null)
    case 'decimal':
      return scalar(value, float(), null)
    case 'word':
      if (value === null) return { value: undefined }
      return (attribute.words as readonly unknown[]).includes(value) ? { value } : { texts: [NO_SUCH_WORD] }
    case 'protocol':
      if (value === null || value === '' || value === 'nil') return { value: null }
      return value === 'ssh' || value === 'http' ? { value } : { texts: [NO_SUCH_WORD] }
    case 'level': {
      const read = scalar(value, int(), null)
      if ('texts' in read) return { texts: [INVALID, NO_SUCH_WORD] }
      if (read.value === null) return { value: undefined }
      return (attribute.levels as readonly unknown[]).includes(read.value) ? read : { texts: [NO_SUCH_WORD] }
    }
    case 'bits': {
      const read = scalar(value, int(), null)
      if ('texts' in read) return { texts: [INVALID, NO_SUCH_WORD] }
      return typeof read.value === 'number' && read.value < -1 ? { texts: [NO_SUCH_WORD] } : read
    }
    case 'list':
      return readList(attribute, value)
  }
}

const MAX = 10_000

function readList({ default: unset, split, words }: Attribute & { kind: 'list' }, value: unknown): Read {
  if (value === null || value === '') return { value: unset === null ? null : [] }
  const pieces = typeof value === 'string' && split ? value.split(/[,;\s]+/) : Array.isArray(value) ? value : [value]
  if (pieces.length > MAX || pieces.some((piece) => typeof piece === 'object' && piece !== null)) return { texts: [INVALID] }
  const items = pieces.map((piece) => String(piece ?? '').trim()).filter((piece) => piece !== '')
  return words && items.some((item) => !words.includes(item)) ? { texts: [NO_SUCH_WORD] } : { value: items }
}
