import { z } from 'zod'
import { invalidInput } from '../failures.js'
import { type Bag, isBag } from './form.js'
import type { Upload } from './uploads.js'

/**
 * The scalars of the API as zod schemas. A null or, for all but text, an empty value counts as absent (G-47).
 * Required is the default; `.optional()` and `orDefault` make them optional.
 */

/** What a scalar says when the value is not of its type; `parseInput` makes the sentence. */
const INVALID = 'is invalid'

const blankToUndefined = (value: unknown) => (value === '' || value === null ? undefined : value)
const nullToUndefined = (value: unknown) => (value === null ? undefined : value)

const MAX_INTEGER = 2_147_483_647

/** Text; JSON numbers and booleans become text (G-51). Empty text is a value (G-46). */
export const str = () => z.preprocess(nullToUndefined, z.union([z.string(), z.number().transform(String), z.boolean().transform(String)], INVALID))

/** Text that is refused where it is given without a word in it, be it null (MR-46, MR-47). */
export const filledIn = () =>
  z.preprocess(
    (value) => (value === null ? '' : value),
    z.union([z.string(), z.number().transform(String), z.boolean().transform(String)], INVALID).refine((text) => text.trim() !== '', 'is empty'),
  )

/** Text of which a JSON null is a value: it clears the field. */
export const clearable = () =>
  z.preprocess((value) => value, z.union([z.null(), z.string(), z.number().transform(String), z.boolean().transform(String)], INVALID))

const integerText = z
  .string()
  .regex(/^[+-]?\d{1,15}$/)
  .transform(Number)

/** A whole number of any size a column can hold (G-49); -0 is 0. */
export const int = ({ min = -MAX_INTEGER - 1, max = MAX_INTEGER } = {}) =>
  z.preprocess(
    blankToUndefined,
    z
      .union([z.int(), integerText], INVALID)
      .refine((n) => n >= min && n <= max, INVALID)
      .transform((n) => n + 0),
  )

/** A finite number, decimal or with an exponent (G-49, SEC-60); -0 is 0. */
export const float = () =>
  z.preprocess(
    blankToUndefined,
    z
      .union(
        [
          z.number(),
          z
            .string()
            .regex(/^[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,4})?$/i)
            .transform(Number),
        ],
        INVALID,
      )
      .refine(Number.isFinite, INVALID)
      .transform((n) => n + 0),
  )

/** An id of a row: larger values are as good as missing (G-49), so they become 0, which no row has. */
export const rowId = () =>
  z.preprocess(
    blankToUndefined,
    z
      .union(
        [
          z.int(),
          z
            .string()
            .regex(/^[+-]?\d{1,80}$/)
            .transform(Number),
        ],
        INVALID,
      )
      .transform((n) => (n > 0 && n <= MAX_INTEGER ? n : 0)),
  )

/** The id of what is to be set: 0 and an empty value clear (SEC-58), and what no row can have is -1. */
export const clearableId = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? 0 : value),
    z
      .union(
        [
          z.int(),
          z
            .string()
            .regex(/^[+-]?\d{1,80}$/)
            .transform(Number),
        ],
        INVALID,
      )
      .transform((n) => (n >= 0 && n <= MAX_INTEGER ? n + 0 : -1)),
  )

const TRUE = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const FALSE = new Set(['false', 'f', 'no', 'n', 'off', '0'])

/** G-48. */
export const bool = () =>
  z.preprocess((value) => {
    const given = blankToUndefined(value)
    const word = typeof given === 'string' ? given.toLowerCase() : typeof given === 'number' ? String(given) : ''
    return TRUE.has(word) ? true : FALSE.has(word) ? false : given
  }, z.boolean(INVALID))

/** One of fixed words, matched exactly (SEC-55). */
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.preprocess(nullToUndefined, z.enum(words, 'does not have a valid value'))

const MAX_LIST = 100
const MAX_WORDS = 1_000

/** What is wrong with a list that is too long is seen without a look at all of it (SEC-77). */
const cut = (list: unknown[], max: number) => (list.length > max ? list.slice(0, max + 1) : list)

/** Words separated by commas, or a list of them; trimmed, empty ones dropped (G-54, W-3). */
export const commaList = () =>
  z.preprocess(
    (value) => (typeof value === 'number' ? String(value) : Array.isArray(value) ? cut(value, MAX_WORDS) : nullToUndefined(value)),
    z
      .union([z.string().transform((text) => text.split(',', MAX_WORDS + 1)), z.array(z.string())], INVALID)
      .refine((items) => items.length <= MAX_WORDS, INVALID)
      .transform((items) => items.map((item) => item.trim()).filter((item) => item !== '')),
  )

/** A list; a single scalar is a list of one (G-52), a map whose keys are numbers is a list too (W-3), any other map is none. */
export const list = <T extends z.ZodType>(item: T, max = MAX_LIST) =>
  z.preprocess(
    (value) => {
      if (value === null || value === undefined) return undefined
      if (Array.isArray(value)) return cut(value, max)
      if (!isBag(value)) return [value]
      const keys = Object.keys(value)
      return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? cut(Object.values(value), max) : value
    },
    z.array(item, INVALID).max(max, INVALID),
  )

const MOST_PAIRS = 20

/** A map of texts, as its pairs: whatever a key is called, it is one (G-53, SEC-73). */
export const textMap = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? undefined : isBag(value) ? cut(Object.entries(value), MOST_PAIRS) : value),
    z
      .array(z.tuple([z.string(), z.union([z.string(), z.number().transform(String), z.boolean().transform(String)])]), INVALID)
      .max(MOST_PAIRS, INVALID),
  )

const upload = (): z.ZodType<Upload> =>
  z.object({ filename: z.string(), data: z.custom<Buffer>((value) => Buffer.isBuffer(value), INVALID) }, INVALID)

/** A file of a multipart body; its bytes are the record's to judge. */
export const file = () => z.preprocess(blankToUndefined, upload())

/** The same, or an empty text or null to take away the one there is (UP-4). */
export const clearableFile = () => z.preprocess((value) => (value === '' ? null : value), z.union([z.null(), upload()], INVALID))

/** A list of ids, also as `1,2` (G-52). */
export const idList = () =>
  z.preprocess(
    (value) =>
      typeof value === 'string' && value.includes(',')
        ? value.split(',', MAX_LIST + 1).map((part) => part.trim())
        : value === '' || value === null
          ? undefined
          : value,
    list(rowId()),
  )

const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})$/
const DATETIME = /^(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$/

function realDay(year: number, month: number, day: number) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  return day <= new Date(Date.UTC(year % 400 === 0 ? 2000 : 2000 + (year % 400), month, 0)).getUTCDate()
}

/** ISO 8601 → a moment; a bare date is midnight, no offset is UTC (G-50, SEC-59). Undefined when it is none. */
export function parseDatetime(text: string): Date | undefined {
  const loose = DATE.exec(text)
  if (loose) {
    const [year, month, day] = [Number(loose[1]), Number(loose[2]), Number(loose[3])] as const
    return realDay(year, month, day) ? utc(year, month, day) : undefined
  }
  const parts = DATETIME.exec(text)
  if (!parts) return undefined
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((i) => Number(parts[i] ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (!realDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined
  const millis = Math.trunc(Number(`0.${parts[7] ?? '0'}`) * 1000)
  const zone = parts[8]
  let offset = 0
  if (zone && zone.toUpperCase() !== 'Z') {
    const digits = zone.slice(1).replace(':', '')
    const [h, m] = [Number(digits.slice(0, 2)), Number(digits.slice(2) || 0)]
    if (h > 23 || m > 59) return undefined
    offset = (h * 60 + m) * (zone[0] === '-' ? -60_000 : 60_000)
  }
  const moment = new Date(utc(year, month, day).getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + millis - offset)
  return moment.getUTCFullYear() >= 1 && moment.getUTCFullYear() <= 9999 ? moment : undefined
}

/** Date.UTC takes years below 100 for 19xx; this does not. */
function utc(year: number, month: number, day: number) {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date
}

export const datetime = () =>
  z.preprocess(
    blankToUndefined,
    z
      .string(INVALID)
      .transform(parseDatetime)
      .refine((moment): moment is Date => moment !== undefined, INVALID),
  )

/** A day as `YYYY-MM-DD`, one-digit months and days filled up. */
export function parseDate(text: string): string | undefined {
  const parts = DATE.exec(text)
  if (!parts || !realDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return undefined
  return `${parts[1]}-${parts[2]?.padStart(2, '0')}-${parts[3]?.padStart(2, '0')}`
}

export const date = () =>
  z.preprocess(
    blankToUndefined,
    z
      .string(INVALID)
      .transform(parseDate)
      .refine((day): day is string => day !== undefined, INVALID),
  )

/** A date that also comes as a datetime, whose day is taken (W-5); empty or null clears. */
export const clearableDate = () =>
  z.preprocess(
    (value) => (value === '' ? null : value),
    z.union(
      [
        z.null(),
        z
          .string()
          .transform((text) => parseDate(text) ?? parseDatetime(text)?.toISOString().slice(0, 10))
          .refine((day): day is string => day !== undefined),
      ],
      INVALID,
    ),
  )

/** One of these scalars: a first step that turns what counts as absent into nothing, then the type itself. */
type Scalar<T extends z.ZodType> = z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, T>

/** Makes one of these scalars optional: what its first step turned into nothing is then accepted. */
export const opt = <T extends z.ZodType>(scalar: Scalar<T>) => z.pipe(scalar.def.in as z.ZodTransform, scalar.def.out.optional())

/** Puts a further demand on one of these scalars. */
export const where = <T extends z.ZodType>(scalar: Scalar<T>, holds: (value: z.output<T>) => boolean, text: string) =>
  z.pipe(scalar.def.in as z.ZodTransform, scalar.def.out.refine(holds, text))

const MAX_SEARCH = 255

/** What a list is searched for (SEC-57). */
export const searchText = () => where(str(), (text) => text.length <= MAX_SEARCH, `is too long (maximum is ${MAX_SEARCH} characters)`)

/** A demand on several parameters at once, told at the place of the first of them; it is checked even where other parameters fail (G-44). */
const demand = <T extends z.ZodObject>(schema: T, names: string[], holds: (given: number) => boolean, text: string, told = names): T =>
  schema.refine((bag) => holds(names.filter((name) => bag[name] !== undefined).length), {
    path: [told[0] as string],
    when: () => true,
    params: { sentence: `${told.join(', ')} ${text}` },
  })

/** At least one of these must be given. */
export const needsOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  demand(schema, names, (given) => given > 0, 'are missing, at least one parameter must be provided')

/** Exactly one of these must be given. */
export const needsOnlyOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  demand(needsOneOf(schema, ...names), names, (given) => given < 2, 'are mutually exclusive')

/** At least one of these or of `more` must be given; the answer names only these. */
export const needsOneOfThese = <T extends z.ZodObject>(schema: T, names: (keyof T['shape'] & string)[], more: (keyof T['shape'] & string)[]): T =>
  demand(schema, [...names, ...more], (given) => given > 0, 'are missing, at least one parameter must be provided', names)

/** These are given together or not at all. */
export const allOrNone = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  demand(schema, names, (given) => given === 0 || given === names.length, 'provide all or none of parameters')

/** Optional with a default, which null and blank take too (G-47). */
export const orDefault = <T extends z.ZodType>(scalar: Scalar<T>, value: z.output<T>) =>
  z.pipe(scalar.def.in as z.ZodTransform, scalar.def.out.optional()).transform((given) => (given === undefined ? value : given) as z.output<T>)

/** A whole number of any size, or nothing. */
const count = () => z.preprocess(blankToUndefined, z.union([z.int(), z.string().regex(/^[+-]?\d{1,40}$/).transform(Number)], INVALID).optional()) // biome-ignore format: one scalar

/** `page` and `per_page` of every list (G-55, G-56). Pages past all rows are allowed up to any size. */
export const paging = {
  page: count().transform((n) => (n === undefined || n < 1 ? 1 : n)),
  per_page: count()
    .refine((n) => n !== 0, 'has a value not allowed')
    .transform((n) => (n === undefined || n < 0 ? 20 : Math.min(n, 100))),
}

/** Reads the declared parameters out of a bag; all violations of all parameters make one answer, in the order of the declaration (G-44, G-45). */
export function parseInput<T extends z.ZodObject>(schema: T, bag: Bag): z.infer<T> {
  const result = schema.safeParse(bag)
  if (result.success) return result.data
  const texts: string[] = []
  const order = Object.keys(schema.shape)
  const at = (issue: z.core.$ZodIssue) => order.indexOf(String(issue.path[0] ?? ''))
  for (const issue of [...result.error.issues].sort((a, b) => at(a) - at(b))) {
    const name = String(issue.path[0] ?? '')
    const add = (text: string) => texts.includes(text) || texts.push(text)
    const wordOf = schema.shape[name] ? fixedWords(schema.shape[name] as z.ZodType) : false
    const sentence = issue.code === 'custom' ? issue.params?.['sentence'] : undefined
    if (sentence) add(sentence as string)
    else if (issue.path.length === 1 && (bag[name] === undefined || bag[name] === null) && issue.code !== 'custom') {
      add(`${name} is missing`)
      if (wordOf) add(`${name} does not have a valid value`)
    } else if (issue.message === 'has a value not allowed' || issue.message === 'does not have a valid value') add(`${name} ${issue.message}`)
    else if (issue.code === 'custom' && issue.message !== INVALID && issue.message.startsWith('is ')) add(`${name} ${issue.message}`)
    else if (bag[name] === '' && !wordOf && issue.path.length === 1 && issue.code !== 'custom') add(`${name} is missing`)
    else add(`${name} ${INVALID}`)
  }
  throw invalidInput(texts.join(', '))
}

/** Whether a parameter takes fixed words only. */
function fixedWords(schema: z.ZodType): boolean {
  const def = (schema as unknown as { def: { type: string; out?: z.ZodType; innerType?: z.ZodType } }).def
  if (def.type === 'enum') return true
  const inner = def.out ?? def.innerType
  return inner ? fixedWords(inner) : false
}
