import { AsyncLocalStorage } from 'node:async_hooks'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** The languages of pages, each by its own name. English is that of the sources. */
export const LANGUAGES = { en: 'English', de: 'Deutsch', fr: 'Français' } as const
export type Language = keyof typeof LANGUAGES
export const LANGUAGE_NAMES = ['en', 'de', 'fr'] as const satisfies readonly Language[]

/** English → its translation, or one for each plural form of the language. */
type Catalogue = Readonly<Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>>

interface Spoken {
  language: Language
  catalogue: Catalogue
}

const ENGLISH: Spoken = { language: 'en', catalogue: {} }
const spoken = new AsyncLocalStorage<Spoken>()
const current = () => spoken.getStore() ?? ENGLISH

const isLanguage = (name: string | null | undefined): name is Language => typeof name === 'string' && Object.hasOwn(LANGUAGES, name)

/** The most of `Accept-Language` that is read; browsers send far less. */
const MAX_HEADER = 1_000

/** The language of a reader: their choice, or the first that their browser asks for and there is, or English (WB-800). */
export function languageOf(chosen: string | null | undefined, accepted: string | undefined): Language {
  if (isLanguage(chosen)) return chosen
  const wishes = (accepted ?? '')
    .slice(0, MAX_HEADER)
    .split(',')
    .map((wish) => {
      const [tag = '', ...parameters] = wish.trim().toLowerCase().split(';')
      const weight = parameters.find((each) => each.trim().startsWith('q='))
      return { name: tag.split('-', 1)[0], weight: weight === undefined ? 1 : Number(weight.trim().slice('q='.length)) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
  return wishes.map(({ name }) => name).find(isLanguage) ?? 'en'
}

/** In the source folder, or compressed where the build has put them. */
const PLACES_OF_CATALOGUES = ['./LANGUAGE.json', './assets/language/LANGUAGE.json.gz']
const unzip = promisify(gunzip)
const catalogues = new Map<Language, Promise<Catalogue>>()

async function readCatalogue(language: Language): Promise<Catalogue> {
  for (const place of PLACES_OF_CATALOGUES) {
    const file = await readFile(new URL(place.replace('LANGUAGE', language), import.meta.url)).catch(() => null)
    if (file) return JSON.parse(String(place.endsWith('.gz') ? await unzip(file) : file))
  }
  throw new Error(`the catalogue of ${language} is missing`)
}

function catalogueOf(language: Language): Promise<Catalogue> {
  const known = catalogues.get(language)
  if (known) return known
  const read = readCatalogue(language)
  catalogues.set(language, read)
  // what could not be read may be there the next time
  read.catch(() => catalogues.delete(language))
  return read
}

/** Runs work whose texts are in a language; its catalogue is read when it is first spoken (WB-801). */
export async function inLanguage<T>(language: Language, work: () => T): Promise<Awaited<T>> {
  const catalogue = language === 'en' ? ENGLISH.catalogue : await catalogueOf(language)
  return await spoken.run({ language, catalogue }, work)
}

/** The language of the page that is being made; English outside of one. */
export const currentLanguage = (): Language => current().language

/** The names of the places in a text: `'{a} of {b}'` → `'a' | 'b'`. */
export type PlacesOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | PlacesOf<Rest> : never

/** Nothing is shown for what is not there. */
type Value = string | number | null | undefined
/** A text that is known when the service is built: a computed one has no translation. */
type Known<Text extends string> = string extends Text ? never : Text
type Values<Text extends string> = [PlacesOf<Text>] extends [never] ? [] : [values: Readonly<Record<PlacesOf<Text>, Value>>]

const PLACES = /\{(\w+)\}/g
const filled = (text: string, values: Readonly<Record<string, Value>> | undefined) =>
  values ? text.replace(PLACES, (place, name: string) => (Object.hasOwn(values, name) ? String(values[name] ?? '') : place)) : text

/** The text with places of the same name, in the language of the page; for `Phrase`, which fills them. */
export function unfilled(text: string): string {
  const found = current().catalogue[text]
  return typeof found === 'string' ? found : text
}

/** A text of a page in the language of its reader; what stands in braces is filled by the values (WB-802). */
export const t = <const Text extends string>(text: Known<Text>, ...[values]: Values<Text>): string => filled(unfilled(text), values)

/** One of two texts by a number, which may stand in them as `{count}`; a language may have other forms than two (WB-803). */
export function plural<const One extends string, const Other extends string>(
  count: number,
  one: Known<One>,
  other: Known<Other>,
  ...[values]: [Exclude<PlacesOf<One | Other>, 'count'>] extends [never]
    ? [values?: { count: Value }]
    : [values: Readonly<Record<Exclude<PlacesOf<One | Other>, 'count'>, Value>> & { count?: Value }]
): string {
  const { language, catalogue } = current()
  const found = catalogue[other]
  const form = rulesOf(language).select(count)
  const text = typeof found === 'object' ? (found[form] ?? found.other ?? other) : form === 'one' ? one : other
  return filled(text, { count, ...values })
}

/** Marks a text that is translated where it is shown, such as one of a table: `t(LABELS[state])`. */
export const text = <const Text extends string>(text: Text): Text => text

const NUMBERS = /\d+/g
/** No text of `services-say.ts` is as long; what callers wrote can be. */
const MAX_SAID = 1_000

/**
 * What a service says of a value, such as `is too long (maximum is 255 characters)`, in the language of the page: a text of
 * `services-say.ts`, in which numbers are `{0}`, `{1}` and so on. Others stay as they are (WB-804).
 */
export function said(text: string): string {
  const { catalogue } = current()
  const exact = catalogue[text]
  if (typeof exact === 'string') return exact
  if (text.length > MAX_SAID) return text
  const numbers: string[] = []
  const pattern = text.replace(NUMBERS, (number) => `{${numbers.push(number) - 1}}`)
  const found = catalogue[pattern]
  return typeof found === 'string' ? filled(found, Object.fromEntries(numbers.entries())) : text
}

const rules = new Map<Language, Intl.PluralRules>()
function rulesOf(language: Language): Intl.PluralRules {
  const known = rules.get(language) ?? new Intl.PluralRules(language)
  rules.set(language, known)
  return known
}

const days = new Map<Language, Intl.DateTimeFormat>()
/** Writes days in a language as `time.tsx` writes them in English. */
export function dayFormat(language: Language): Intl.DateTimeFormat {
  const known = days.get(language) ?? new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
  days.set(language, known)
  return known
}
