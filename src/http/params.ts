import { z } from 'zod'
import { Failure, type FailureKind, invalidInput } from '../failures.js'
import { readDate } from '../lib/text/dates.js'
import { emptyParameterBag, isBag, type ParameterBag, repeatedValuesOf } from './form.js'
import type { Upload } from './uploads.js'
import { type JsonSchema, shownAs, shownOf, shownWith, wire } from './wire.js'

/**
 * The scalar types of the API as zod schemas. Null, and for all types but text an empty value, count as absent (G-47).
 * They are required by default; `opt` and `orDefault` make them optional.
 */

/** The message for a value of the wrong type; `parseInput` adds the name of the parameter. */
const INVALID = 'is invalid'

const blankToUndefined = (value: unknown) => (value === '' || value === null ? undefined : value)
const nullToUndefined = (value: unknown) => (value === null ? undefined : value)

const MAX_INTEGER = 2_147_483_647

// Equal types are shared: each takes a kilobyte, and thousands are created at the start.
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

/** A path of a repository: in a URL its bytes need not be UTF-8, and are taken as they are (RF-109). */
export const gitPath = () => z.preprocess(nullToUndefined, shownAs(z.union(TEXTS, INVALID), { type: 'string' }, { path: true }))

/** The names of parameters that are paths. */
export const pathNames = (schema: z.ZodObject): ReadonlySet<string> =>
  new Set(Object.keys(schema.shape).filter((name) => shownOf(schema.shape[name] as z.ZodType).path))

/** Text that must not be blank or null if it is given (MR-46, MR-47). */
export const filledIn = () =>
  z.preprocess(
    (value) => (value === null ? '' : value),
    shownAs(z.union(TEXTS, INVALID), {
      type: 'string',
      minLength: 1,
      pattern: '\\S',
    }).refine((text) => text.trim() !== '', 'is empty'),
  )

/** Text that JSON null clears. */
export const clearable = () => z.preprocess((value) => value, shownAs(z.union([NULL, ...TEXTS], INVALID), { type: ['string', 'null'] }))

const INTEGERS = [
  ANY_INTEGERS[0],
  z
    .string()
    .regex(/^[+-]?\d{1,15}$/)
    .transform(Number),
] as const

/** An integer that fits into a column (G-49); -0 becomes 0. */
export const int = ({ min = -MAX_INTEGER - 1, max = MAX_INTEGER } = {}) =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.union(INTEGERS, INVALID), { type: 'integer', minimum: min, maximum: max })
      .refine((n) => n >= min && n <= max, INVALID)
      .transform((n) => n + 0),
  )

/** An integer; null for anything else, which the validation of the record reports. */
export const intOrNull = () => z.preprocess(blankToUndefined, shownAs(z.union([int(), z.unknown().transform(() => null)]), { type: 'integer' }))

/** A finite number, decimal or with an exponent (G-49, SEC-60); -0 becomes 0. */
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

/**
 * The id of a row. A value that is too large means that there is no such row (G-49), so it becomes 0, which no row has.
 */
export const rowId = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(integerOfAnySize(), { type: 'integer', minimum: 1, maximum: MAX_INTEGER }).transform((n) => (n > 0 && n <= MAX_INTEGER ? n : 0)),
  )

/** An id to set: 0 and an empty value clear it (SEC-58), and a value that no row can have becomes -1. */
export const clearableId = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? 0 : value),
    shownAs(integerOfAnySize(), { type: 'integer', minimum: 0, maximum: MAX_INTEGER }).transform((n) => (n >= 0 && n <= MAX_INTEGER ? n + 0 : -1)),
  )

/** An integer that an empty value, or JSON null, clears. */
export const clearableInt = () =>
  z.preprocess((value) => (value === '' ? null : value), shownAs(z.union([NULL, ...INTEGERS], INVALID), { type: ['integer', 'null'] }))

const TRUE = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const FALSE = new Set(['false', 'f', 'no', 'n', 'off', '0'])
const MAX_WORD = 'false'.length

/** Accepts all notations of true and false of the API (G-48). */
export const bool = () =>
  z.preprocess((value) => {
    const given = blankToUndefined(value)
    const word = typeof given === 'string' && given.length <= MAX_WORD ? given.toLowerCase() : typeof given === 'number' ? String(given) : ''
    return TRUE.has(word) ? true : FALSE.has(word) ? false : given
  }, z.boolean(INVALID))

const choice = <const T extends readonly [string, ...string[]]>(words: T, shown: readonly T[number][]) =>
  shownAs(z.enum(words, 'does not have a valid value'), { type: 'string', enum: [...shown] })

/** One of a fixed set of words, matched exactly (SEC-55). */
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T, shown: readonly T[number][] = words) =>
  z.preprocess(nullToUndefined, choice(words, shown))

/** Like `oneOf`, but the empty string counts as absent. */
export const oneOfOrBlank = <const T extends readonly [string, ...string[]]>(words: T) => z.preprocess(blankToUndefined, choice(words, words))

const MAX_LIST = 100
const MAX_WORDS = 1_000

/** Truncates a list; one item beyond the limit is enough to reject it (SEC-77). */
const truncate = (list: unknown[], max: number) => (list.length > max ? list.slice(0, max + 1) : list)

const COMMA_LIST = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, maxItems: MAX_WORDS }] }

/** Words separated by commas, or a list of words; trimmed, without empty ones (G-54, W-3). */
export const commaList = () =>
  z.preprocess(
    (value) => (typeof value === 'number' ? String(value) : Array.isArray(value) ? truncate(value, MAX_WORDS) : nullToUndefined(value)),
    shownAs(z.union([z.string().transform((text) => text.split(',', MAX_WORDS + 1)), z.array(z.string())], INVALID), COMMA_LIST, {
      inForm: { type: 'string' },
      several: true,
    })
      .refine((items) => items.length <= MAX_WORDS, INVALID)
      .transform((items) => items.map((item) => item.trim()).filter((item) => item !== '')),
  )

/**
 * A list. A single scalar is a list of one (G-52), and a map with numeric keys is a list (W-3); any other map is
 * invalid.
 */
export const list = <T extends z.ZodType>(item: T, max = MAX_LIST) =>
  z.preprocess(
    (value) => {
      if (value === null || value === undefined) return undefined
      if (Array.isArray(value)) return truncate(value, max)
      if (!isBag(value)) return [value]
      const keys = Object.keys(value)
      return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? truncate(Object.values(value), max) : value
    },
    severalUnderOneName(z.array(item, INVALID).max(max, INVALID)),
  )

/** Marks a parameter that takes all values of a plain name that occurs several times in a form (W-3). */
export function severalUnderOneName<T extends z.ZodType>(type: T, single = false): T {
  wire.add(type, { several: true, single })
  return type
}

const MAX_PAIRS = 20

/** A map of strings, returned as pairs, so that any key is safe (G-53, SEC-73). */
export const textMap = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? undefined : isBag(value) ? truncate(Object.entries(value), MAX_PAIRS) : value),
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

/** A file of a multipart body; the validation of the record checks its content. */
export const file = () => z.preprocess(blankToUndefined, shownAs(upload(), FILE, { file: true }))

/** A file, or an empty text or null to remove the current one (UP-4). */
export const clearableFile = () =>
  z.preprocess((value) => (value === '' ? null : value), shownAs(z.union([z.null(), upload()], INVALID), FILE, { file: true }))

/** A list of ids, also written as `1,2` (G-52). */
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

/** One or several ids to set; an empty value clears them. */
export const clearableIds = () =>
  z.preprocess(
    (value) => (value === '' || value === null ? [] : typeof value === 'string' ? value.split(',', MAX_WORDS + 1) : value),
    list(clearableId(), MAX_WORDS),
  )

/**
 * One or several values, as a list or separated by commas, for values without commas. Blank ones are dropped; if none
 * is left the parameter counts as absent.
 */
export const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) => {
      const given = typeof value === 'string' ? value.split(',', MAX_WORDS + 1) : isBag(value) ? Object.values(value) : value
      if (Array.isArray(given) && given.length > MAX_WORDS) return truncate(given, MAX_LIST)
      const items = (Array.isArray(given) ? given : [given])
        .map((each) => (typeof each === 'string' ? each.trim() : each))
        .filter((each) => each !== '' && each !== null && each !== undefined)
      return items.length > 0 ? items : undefined
    },
    severalUnderOneName(z.array(item, INVALID).max(MAX_LIST, INVALID), true),
  )

/** Parses a timestamp in any of the forms of G-50; undefined if it is invalid. */
export const parseDatetime = (text: string): Date | undefined => readDate(text)?.moment

export const datetime = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.string(INVALID), { type: 'string', format: 'date-time' })
      .transform(parseDatetime)
      .refine((moment): moment is Date => moment !== undefined, INVALID),
  )

/** Parses a date in the same forms to its day as written, `YYYY-MM-DD`. */
export const parseDate = (text: string): string | undefined => readDate(text)?.day

export const date = () =>
  z.preprocess(
    blankToUndefined,
    shownAs(z.string(INVALID), { type: 'string', format: 'date' })
      .transform(parseDate)
      .refine((day): day is string => day !== undefined, INVALID),
  )

/** A date that an empty text or null clears. */
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

/** A scalar type: a transform that turns absent values into undefined, then the type itself. */
type Scalar<T extends z.ZodType> = z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, T>

/** The scalar with another type after its transform. */
const withType = <T extends z.ZodType>({ def }: Scalar<z.ZodType>, type: T): Scalar<T> =>
  z.pipe<z.core.$ZodTransform<unknown, unknown>, T>(def.in, type)

/** Makes a scalar optional. */
export const opt = <T extends z.ZodType>(scalar: Scalar<T>) => withType(scalar, scalar.def.out.optional())

/** Adds a condition to a scalar; `shown` expresses it as a JSON schema for the reference. */
export const where = <T extends z.ZodType>(scalar: Scalar<T>, holds: (value: z.output<T>) => boolean, text: string, shown: JsonSchema = {}) =>
  withType(scalar, shownWith(scalar.def.out.refine(holds, text), shown))

/** One of a fixed set of numbers, such as the levels of roles. */
export const oneOfNumbers = (numbers: number[]) => where(int(), (given) => numbers.includes(given), 'does not have a valid value', { enum: numbers })

/** A group to share something with, up to a level and a day. */
export const newShare = (levels: number[]) => ({ group_id: rowId(), group_access: oneOfNumbers(levels), expires_at: opt(date()) })

const MAX_SEARCH = 255

/** Adds keywords to the schema of a scalar in the reference; they check nothing, so what is accepted does not change. */
export function documentedWith<T extends z.ZodType>(scalar: Scalar<T>, more: JsonSchema): Scalar<T> {
  shownWith(scalar.def.out, more)
  return scalar
}

/** A search text (SEC-57). */
export const searchText = () =>
  where(str(), (text) => text.length <= MAX_SEARCH, `is too long (maximum is ${MAX_SEARCH} characters)`, {
    maxLength: MAX_SEARCH,
  })

const missing = (names: string[]) => `${names.join(', ')} are missing, at least one parameter must be provided`

/** The text of a violated condition. */
interface Params {
  sentence: string
  /** Whether it follows the names of unknown parameters, if there are any (NP-4). */
  afterUnknown?: boolean
  [other: string]: unknown
}

/**
 * Adds a condition on several parameters, reported at the position of the first one; it is checked even if other
 * parameters are invalid (G-44).
 */
const withCondition = <T extends z.ZodObject>(schema: T, names: string[], holds: (given: number) => boolean, params: Params, first = names[0]): T =>
  schema.refine((bag) => holds(names.filter((name) => bag[name] !== undefined).length), {
    path: [first as string],
    when: () => true,
    params,
  })

/** Adds a condition on several parameters to the documented schema of their object. */
export const shownCondition = <T extends z.ZodObject>(schema: T, condition: JsonSchema): T =>
  shownWith(schema, { allOf: [...((wire.get(schema)?.more?.['allOf'] as JsonSchema[] | undefined) ?? []), condition] })

const required = (names: string[]) => names.map((name) => ({ required: [name] }))

/** Requires at least one of these parameters. */
export const needsOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    withCondition(schema, names, (given) => given > 0, { sentence: missing(names), afterUnknown: true }),
    { anyOf: required(names) },
  )

/** Requires exactly one of these parameters. */
export const needsOnlyOneOf = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    withCondition(needsOneOf(schema, ...names), names, (given) => given < 2, { sentence: `${names.join(', ')} are mutually exclusive` }),
    { oneOf: required(names) },
  )

/** Requires at least one of `names` or `more`; the message lists only `names`. */
export const needsOneOfThese = <T extends z.ZodObject>(schema: T, names: (keyof T['shape'] & string)[], more: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    withCondition(schema, [...names, ...more], (given) => given > 0, { sentence: missing(names), afterUnknown: true }, names[0]),
    { anyOf: required([...names, ...more]) },
  )

/** Requires all of these parameters or none. */
export const allOrNone = <T extends z.ZodObject>(schema: T, ...names: (keyof T['shape'] & string)[]): T =>
  shownCondition(
    withCondition(schema, names, (given) => given === 0 || given === names.length, {
      sentence: `${names.join(', ')} provide all or none of parameters`,
    }),
    { dependentRequired: Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)])) },
  )

/** Makes a scalar optional with a default, which null and blank values get too (G-47). */
export const orDefault = <T extends z.ZodType>(scalar: Scalar<T>, value: z.output<T>) =>
  withType(scalar, shownWith(scalar.def.out.optional(), { default: value })).transform(
    (given) => (given === undefined ? value : given) as z.output<T>,
  )

/** An optional integer of any size. */
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

/** `page` and `per_page` of every list (G-55, G-56). Pages beyond the last row are allowed. */
export const paging = {
  page: count({ default: 1 }).transform((n) => (n === undefined || n < 1 ? 1 : n)),
  per_page: count({ maximum: 100, default: 20 })
    .refine((n) => n !== 0, 'has a value not allowed')
    .transform((n) => (n === undefined || n < 0 ? 20 : Math.min(n, 100))),
}

/** Parameters of a list in the order of ids (G-91). */
export const keyset = { pagination: opt(oneOf(['keyset', 'legacy'])), id_after: opt(rowId()), id_before: opt(rowId()) }
export const idPaging = { ...keyset, ...paging }

const updates = z.registry<{ names: string[] }>()

/** An update in which nothing need be given, and that fails if only attributes are given that it does not have (NP-4). */
export function updateOf<T extends z.ZodObject>(schema: T): T {
  updates.add(schema, { names: Object.keys(schema.shape) })
  return schema
}

const CREDENTIALS = new Set(['private_token', 'access_token', 'sudo'])
const MAX_NAMED = 20

/** The names that are neither declared nor credentials, as many as fit into an error. */
export const unknownNames = (bag: ParameterBag, isDeclared: (name: string) => boolean): string[] =>
  Object.keys(bag)
    .filter((name) => !isDeclared(name) && !CREDENTIALS.has(name))
    .slice(0, MAX_NAMED)
    .map((name) => name.slice(0, 100))

const failureKinds = z.registry<{ kind: FailureKind }>()

/** Makes invalid parameters of this input fail with `kind` instead of `invalid` (400). */
export function refusedAs<T extends z.ZodObject>(kind: FailureKind, schema: T): T {
  failureKinds.add(schema, { kind })
  return schema
}

/**
 * Parses the declared parameters of a bag. All violations are reported in one response, in the order of the declaration
 * (G-44, G-45). `elsewhere` are names that the path has.
 */
export function parseInput<T extends z.ZodObject>(schema: T, bag: ParameterBag, elsewhere: ParameterBag = {}): z.infer<T> {
  const result = schema.safeParse(withRepeatedValues(schema, bag))
  const refuse = (texts: string[]) => new Failure(failureKinds.get(schema)?.kind ?? 'invalid', { error: texts.join(', ') })
  // if only unknown attributes are given, they are named (NP-4)
  const unknown = () => {
    const names = unknownNames(bag, (name) => Object.hasOwn(schema.shape, name) || Object.hasOwn(elsewhere, name))
    return names.length > 0 ? `no such attribute: ${names.join(', ')}; ` : ''
  }
  if (result.success) {
    const names = updates.get(schema)?.names.filter((name) => !Object.hasOwn(elsewhere, name))
    if (names?.every((name) => bag[name] === undefined) && unknown() !== '') throw refuse([`${unknown()}${missing(names)}`])
    return result.data
  }
  const texts: string[] = []
  const order = Object.keys(schema.shape)
  const at = (issue: z.core.$ZodIssue) => order.indexOf(String(issue.path[0] ?? ''))
  for (const issue of [...result.error.issues].sort((a, b) => at(a) - at(b))) {
    const name = String(issue.path[0] ?? '')
    const add = (text: string) => texts.includes(text) || texts.push(text)
    const isEnumParameter = schema.shape[name] ? isEnum(schema.shape[name] as z.ZodType) : false
    const sentence = issue.code === 'custom' ? issue.params?.['sentence'] : undefined
    if (sentence) add(`${issue.code === 'custom' && issue.params?.['afterUnknown'] ? unknown() : ''}${sentence}`)
    else if (issue.code === 'unrecognized_keys') for (const key of issue.keys) add(`${name}[${key}] is not supported`)
    else if (issue.path.length === 1 && (bag[name] === undefined || bag[name] === null) && issue.code !== 'custom') {
      add(`${name} is missing`)
      if (isEnumParameter) add(`${name} does not have a valid value`)
    } else if (issue.message === 'has a value not allowed' || issue.message === 'does not have a valid value') add(`${name} ${issue.message}`)
    else if (issue.code === 'custom' && issue.message !== INVALID && issue.message.startsWith('is ')) add(`${name} ${issue.message}`)
    else if (bag[name] === '' && !isEnumParameter && issue.path.length === 1 && issue.code !== 'custom') add(`${name} is missing`)
    else add(`${name} ${INVALID}`)
  }
  throw refuse(texts)
}

/** Fails if the bag has one of these parameters with a value that is not harmless; `a[b]` is a member of a map. */
export function refuseUnsupported(refused: Record<string, readonly string[]> = {}, bag: ParameterBag): void {
  const given = (name: string) => {
    const [, outer, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [undefined, name]
    const value = bag[outer as string]
    return inner === undefined ? value : isBag(value) ? value[inner] : undefined
  }
  const isHarmless = (value: unknown, accepted: readonly string[]) => {
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) return true
    if (typeof value === 'object') return false
    const text = String(value).toLowerCase()
    return accepted.some((each) => (each === 'false' ? FALSE.has(text) : each === 'true' ? TRUE.has(text) : each === text))
  }
  const texts = Object.entries(refused).flatMap(([name, accepted]) => (isHarmless(given(name), accepted) ? [] : [`${name} is not supported`]))
  if (texts.length > 0) throw invalidInput(texts.join(', '))
}

/** The bag, with all values of a repeated name if its parameter accepts several, not only the last one (W-3). */
function withRepeatedValues(schema: z.ZodObject, bag: ParameterBag): ParameterBag {
  let changed: ParameterBag | undefined
  for (const name of Object.keys(bag)) {
    const type = schema.shape[name] as z.ZodType | undefined
    if (!type) continue
    const value = bag[name]
    const nested = isBag(value) ? objectSchemaOf(type) : undefined
    const repeated = nested ? undefined : repeatedValuesOf(bag, name)
    const given = nested ? withRepeatedValues(nested, value as ParameterBag) : repeated && shownOf(type).several ? repeated : value
    if (given === value) continue
    changed ??= Object.assign(emptyParameterBag(), bag)
    changed[name] = given
  }
  return changed ?? bag
}

/** The object schema inside an optional parameter; undefined if it is not an object. */
function objectSchemaOf(type: z.ZodType): z.ZodObject | undefined {
  if (type instanceof z.ZodObject) return type
  const { innerType } = (type as unknown as { def: { innerType?: z.ZodType } }).def
  return innerType && objectSchemaOf(innerType)
}

/** Whether a parameter accepts only fixed words. */
function isEnum(schema: z.ZodType): boolean {
  const def = (schema as unknown as { def: { type: string; out?: z.ZodType; innerType?: z.ZodType } }).def
  if (def.type === 'enum') return true
  const inner = def.out ?? def.innerType
  return inner ? isEnum(inner) : false
}
