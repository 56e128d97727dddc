import { z } from 'zod'
import { Failure, type FailureKind } from '../failures.js'
import { readDate } from '../lib/text/dates.js'
import { emptyParameterBag, isBag, type ParameterBag, repeatedValuesOf } from './form.js'
import type { Upload } from './uploads.js'
import { type JsonSchema, shownAs, shownOf, shownWith, wire } from './wire.js'

/**
 * The scalars of the API as zod schemas. Null, and for all but text an empty value, counts as absent (G-47). They are
 * required by default; `opt` and `orDefault` make them optional.
 */

/** The message when the value is not of the type; `parseInput` makes the sentence. */
const INVALID = 'is invalid'

const blankToUndefined = (value: unknown) => (value === '' || value === null ? undefined : value)
const nullToUndefined = (value: unknown) => (value === null ? undefined : value)

const MAX_INTEGER = 2_147_483_647

// Types that do not differ are shared: one takes a kilobyte, and a start makes thousands.
const NULL = z.null()
const TEXTS = [z.string(), z.number().transform(String), z.boolean().transform(String)] as const
const ANY_INTEGERS = [
  z.int(),
  z
    .string()
    .regex(/^[+-]?\d{1,80}$/)
    .transform(Number),
] as const

/** Text; JSON numbers and booleans become text (G-51). Empty text is a value (G-46). */
export const str = () => z.preprocess(nullToUndefined, shownAs(z.union(TEXTS, INVALID), { type: 'string' }))

/** Text that is refused when it is given but blank or null (MR-46, MR-47). */
export const filledIn = () =>
  z.preprocess(
    (value) => (value === null ? '' : value),
    shownAs(z.union(TEXTS, INVALID), {
      type: 'string',
      minLength: 1,
      pattern: '\\S',
    }).refine((text) => text.trim() !== '', 'is empty'),
  )

/** Text for which JSON null is a value: it clears the field. */
export const clearable = () => z.preprocess((value) => value, shownAs(z.union([NULL, ...TEXTS], INVALID), { type: ['string', 'null'] }))

const INTEGERS = [
  ANY_INTEGERS[0],
  z
    .string()
    .regex(/^[+-]?\d{1,15}$/)
    .transform(Number),
] as const

/** A whole number that fits into a column (G-49); -0 is 0. */
export const int = ({ min = -MAX_INTEGER - 1, max = MAX_INTEGER } = {}) =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.union(INTEGERS, INVALID), { type: 'integer', minimum: min, maximum: max })
      .refine((n) => n >= min && n <= max, INVALID)
      .transform((n) => n + 0),
  )

/** A whole number; null for anything else, which the record's validation judges. */
export const intOrNull = () => z.preprocess(blankToUndefined, shownAs(z.union([int(), z.unknown().transform(() => null)]), { type: 'integer' }))

/** A finite number, decimal or with an exponent (G-49, SEC-60); -0 is 0. */
export const float = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(
      z.union(
        [
          z.number(),
          z
            .string()
            .regex(/^[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,4})?$/i)
            .transform(Number),
        ],
        INVALID,
      ),
      { type: 'number' },
    )
      .refine(Number.isFinite, INVALID)
      .transform((n) => n + 0),
  )

const integerOfAnySize = () => z.union(ANY_INTEGERS, INVALID)

/** The id of a row: values that are too large count as missing (G-49), so they become 0, which no row has. */
export const rowId = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(integerOfAnySize(), { type: 'integer', minimum: 1, maximum: MAX_INTEGER }).transform((n) => (n > 0 && n <= MAX_INTEGER ? n : 0)),
  )

/** An id to be set: 0 and an empty value clear it (SEC-58), and what no row can have becomes -1. */
export const clearableId = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? 0 : value),
    shownAs(integerOfAnySize(), { type: 'integer', minimum: 0, maximum: MAX_INTEGER }).transform((n) => (n >= 0 && n <= MAX_INTEGER ? n + 0 : -1)),
  )

const TRUE = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const FALSE = new Set(['false', 'f', 'no', 'n', 'off', '0'])

/** The spellings of true and false that the API knows (G-48). */
export const bool = () =>
  z.preprocess((value) => {
    const given = blankToUndefined(value)
    const word = typeof given === 'string' ? given.toLowerCase() : typeof given === 'number' ? String(given) : ''
    return TRUE.has(word) ? true : FALSE.has(word) ? false : given
  }, z.boolean(INVALID))

const choice = <const T extends readonly [string, ...string[]]>(words: T, shown: readonly T[number][]) =>
  shownAs(z.enum(words, 'does not have a valid value'), { type: 'string', enum: [...shown] })

/** One of a fixed set of words, matched exactly (SEC-55). */
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T, shown: readonly T[number][] = words) =>
  z.preprocess(nullToUndefined, choice(words, shown))

/** As `oneOf`, but the empty string counts as absent. */
export const oneOfOrBlank = <const T extends readonly [string, ...string[]]>(words: T) => z.preprocess(blankToUndefined, choice(words, words))

const MAX_LIST = 100
const MAX_WORDS = 1_000

/** The beginning of a list that is too long is enough to see what is wrong with it (SEC-77). */
const cut = (list: unknown[], max: number) => (list.length > max ? list.slice(0, max + 1) : list)

const COMMA_LIST = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, maxItems: MAX_WORDS }] }

/** Words separated by commas, or a list of them; trimmed, empty ones dropped (G-54, W-3). */
export const commaList = () =>
  z.preprocess(
    (value) => (typeof value === 'number' ? String(value) : Array.isArray(value) ? cut(value, MAX_WORDS) : nullToUndefined(value)),
    shownAs(z.union([z.string().transform((text) => text.split(',', MAX_WORDS + 1)), z.array(z.string())], INVALID), COMMA_LIST, {
      inForm: { type: 'string' },
      several: true,
    })
      .refine((items) => items.length <= MAX_WORDS, INVALID)
      .transform((items) => items.map((item) => item.trim()).filter((item) => item !== '')),
  )

/**
 * A list; a single scalar is a list of one (G-52), a map whose keys are numbers is a list too (W-3), and any other map
 * is not.
 */
export const list = <T extends z.ZodType>(item: T, max = MAX_LIST) =>
  z.preprocess(
    (value) => {
      if (value === null || value === undefined) return undefined
      if (Array.isArray(value)) return cut(value, max)
      if (!isBag(value)) return [value]
      const keys = Object.keys(value)
      return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? cut(Object.values(value), max) : value
    },
    shownList(z.array(item, INVALID).max(max, INVALID)),
  )

/** A parameter that takes several values under one name. */
function shownList<T extends z.ZodType>(type: T, single = false): T {
  wire.add(type, { several: true, single })
  return type
}

const MAX_PAIRS = 20

/** A map of texts, as pairs, whatever the names of its keys (G-53, SEC-73). */
export const textMap = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? undefined : isBag(value) ? cut(Object.entries(value), MAX_PAIRS) : value),
    shownAs(
      z
        .array(z.tuple([z.string(), z.union([z.string(), z.number().transform(String), z.boolean().transform(String)])]), INVALID)
        .max(MAX_PAIRS, INVALID),
      { type: 'object', additionalProperties: { type: 'string' }, propertyNames: { minLength: 1 }, minProperties: 1, maxProperties: MAX_PAIRS },
    ),
  )

const upload = (): z.ZodType<Upload> =>
  z.object({ filename: z.string(), data: z.custom<Buffer>((value) => Buffer.isBuffer(value), INVALID) }, INVALID)

const FILE = { type: 'string', format: 'binary' }

/** A file of a multipart body; its content is judged by the record's validation. */
export const file = () => z.preprocess(blankToUndefined, shownAs(upload(), FILE, { file: true }))

/** The same, or an empty text or null to remove the present one (UP-4). */
export const clearableFile = () =>
  z.preprocess((value) => (value === '' ? null : value), shownAs(z.union([z.null(), upload()], INVALID), FILE, { file: true }))

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

/** Ids to be set, one or several; an empty value means none. */
export const clearableIds = () =>
  z.preprocess((value) => (value === '' || value === null ? [] : typeof value === 'string' ? value.split(',') : value), list(clearableId()))

/**
 * One or several, as a list or separated by commas; blank ones are dropped, and if none is left it counts as absent.
 * For values that contain no comma.
 */
export const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) => {
      const given = typeof value === 'string' ? value.split(',') : isBag(value) ? Object.values(value) : value
      const items = (Array.isArray(given) ? given : [given])
        .map((each) => (typeof each === 'string' ? each.trim() : each))
        .filter((each) => each !== '' && each !== null && each !== undefined)
      return items.length > 0 ? items : undefined
    },
    shownList(z.array(item, INVALID).max(MAX_LIST, INVALID), true),
  )

/** A moment from any of the forms of G-50; undefined when it is none. */
export const parseDatetime = (text: string): Date | undefined => readDate(text)?.moment

export const datetime = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.string(INVALID), { type: 'string', format: 'date-time' })
      .transform(parseDatetime)
      .refine((moment): moment is Date => moment !== undefined, INVALID),
  )

/** The same as a day, `YYYY-MM-DD`, as written. */
export const parseDate = (text: string): string | undefined => readDate(text)?.day

export const date = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.string(INVALID), { type: 'string', format: 'date' })
      .transform(parseDate)
      .refine((day): day is string => day !== undefined, INVALID),
  )

/** A day; empty or null clears it. */
export const clearableDate = () =>
  z.preprocess(
    (value) => (value === '' ? null : value),
    shownAs(
      z.union(
        [
          z.null(),
          z
            .string()
            .transform(parseDate)
            .refine((day): day is string => day !== undefined),
        ],
        INVALID,
      ),
      { type: ['string', 'null'], format: 'date' },
    ),
  )

/** One of these scalars: a first step that turns absent values into undefined, then the type itself. */
type Scalar<T extends z.ZodType> = z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, T>

/** Makes one of these scalars optional. */
export const opt = <T extends z.ZodType>(scalar: Scalar<T>) => z.pipe(scalar.def.in as z.ZodTransform, scalar.def.out.optional())

/** Adds a condition to one of these scalars; `shown` says the same as a schema. */
export const where = <T extends z.ZodType>(scalar: Scalar<T>, holds: (value: z.output<T>) => boolean, text: string, shown: JsonSchema = {}) =>
  z.pipe(scalar.def.in as z.ZodTransform, shownWith(scalar.def.out.refine(holds, text), shown))

const MAX_SEARCH = 255

/** Says more about one of these scalars in the reference than its type does; what is accepted does not change. */
export function described<T extends z.ZodType>(scalar: Scalar<T>, more: JsonSchema): Scalar<T> {
  shownWith(scalar.def.out, more)
  return scalar
}

/** The text that a list is searched for (SEC-57). */
export const searchText = () =>
  where(str(), (text) => text.length <= MAX_SEARCH, `is too long (maximum is ${MAX_SEARCH} characters)`, {
    maxLength: MAX_SEARCH,
  })

/**
 * A condition on several parameters at once, reported at the place of the first of them; it is checked even where other
 * parameters fail (G-44).
 */
const demand = <T extends z.ZodObject>(schema: T, names: string[], holds: (given: number) => boolean, text: string, shown = names): T =>
  schema.refine((bag) => holds(names.filter((name) => bag[name] !== undefined).length), {
    path: [shown[0] as string],
    when: () => true,
    params: { sentence: `${shown.join(', ')} ${text}` },
  })

/** Adds a condition on several parameters to what is shown of their object. */
export const shownCondition = <T extends z.ZodObject>(schema: T, condition: JsonSchema): T =>
  shownWith(schema, { allOf: [...((wire.get(schema)?.more?.['allOf'] as JsonSchema[] | undefined) ?? []), condition] })

const required = (names: string[]) => names.map((name) => ({ required: [name] }))

/** At least one of these is required. */
export const needsOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    demand(schema, names, (given) => given > 0, 'are missing, at least one parameter must be provided'),
    { anyOf: required(names) },
  )

/** Exactly one of these is required. */
export const needsOnlyOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    demand(needsOneOf(schema, ...names), names, (given) => given < 2, 'are mutually exclusive'),
    { oneOf: required(names) },
  )

/** At least one of these or of `more` is required; the message names only these. */
export const needsOneOfThese = <T extends z.ZodObject>(schema: T, names: (keyof T['shape'] & string)[], more: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    demand(schema, [...names, ...more], (given) => given > 0, 'are missing, at least one parameter must be provided', names),
    { anyOf: required([...names, ...more]) },
  )

/** These are given together or not at all. */
export const allOrNone = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    demand(schema, names, (given) => given === 0 || given === names.length, 'provide all or none of parameters'),
    { dependentRequired: Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)])) },
  )

/** Optional with a default, which null and blank values take too (G-47). */
export const orDefault = <T extends z.ZodType>(scalar: Scalar<T>, value: z.output<T>) =>
  z
    .pipe(scalar.def.in as z.ZodTransform, shownWith(scalar.def.out.optional(), { default: value }))
    .transform((given) => (given === undefined ? value : given) as z.output<T>)

/** A whole number of any size, or nothing. */
const count = (shown: JsonSchema) =>
  z.preprocess(
    blankToUndefined,
    shownAs(
      z.union(
        [
          z.int(),
          z
            .string()
            .regex(/^[+-]?\d{1,40}$/)
            .transform(Number),
        ],
        INVALID,
      ),
      { type: 'integer', minimum: 1, ...shown },
    ).optional(),
  )

/** `page` and `per_page` of every list (G-55, G-56). Pages beyond the last row are allowed up to any number. */
export const paging = {
  page: count({ default: 1 }).transform((n) => (n === undefined || n < 1 ? 1 : n)),
  per_page: count({ maximum: 100, default: 20 })
    .refine((n) => n !== 0, 'has a value not allowed')
    .transform((n) => (n === undefined || n < 0 ? 20 : Math.min(n, 100))),
}

const refusals = z.registry<{ kind: FailureKind }>()

/** Invalid parameters of this input are refused as `kind` instead of 400. */
export function refusedAs<T extends z.ZodObject>(kind: FailureKind, schema: T): T {
  refusals.add(schema, { kind })
  return schema
}

/**
 * Reads the declared parameters from a bag; all violations of all parameters make one answer, in the order of the
 * declaration (G-44, G-45).
 */
export function parseInput<T extends z.ZodObject>(schema: T, bag: ParameterBag): z.infer<T> {
  const result = schema.safeParse(withLists(schema, bag))
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
  throw new Failure(refusals.get(schema)?.kind ?? 'invalid', { error: texts.join(', ') })
}

/** The bag, with all values of a repeated plain name where the parameter takes several, not only the last one (W-3). */
function withLists(schema: z.ZodObject, bag: ParameterBag): ParameterBag {
  let changed: ParameterBag | undefined
  for (const name of Object.keys(bag)) {
    const type = schema.shape[name] as z.ZodType | undefined
    if (!type) continue
    const value = bag[name]
    const nested = isBag(value) ? objectIn(type) : undefined
    const repeated = nested ? undefined : repeatedValuesOf(bag, name)
    const given = nested ? withLists(nested, value as ParameterBag) : repeated && shownOf(type).several ? repeated : value
    if (given === value) continue
    changed ??= Object.assign(emptyParameterBag(), bag)
    changed[name] = given
  }
  return changed ?? bag
}

/** The object that an optional parameter is. */
function objectIn(type: z.ZodType): z.ZodObject | undefined {
  if (type instanceof z.ZodObject) return type
  const { innerType } = (type as unknown as { def: { innerType?: z.ZodType } }).def
  return innerType && objectIn(innerType)
}

/** Whether a parameter accepts fixed words only. */
function fixedWords(schema: z.ZodType): boolean {
  const def = (schema as unknown as { def: { type: string; out?: z.ZodType; innerType?: z.ZodType } }).def
  if (def.type === 'enum') return true
  const inner = def.out ?? def.innerType
  return inner ? fixedWords(inner) : false
}
