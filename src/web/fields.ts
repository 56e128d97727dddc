import { z } from 'zod'
import type { Upload } from '../http/uploads.js'
import { innerOf, type JsonSchema, keywordsOf, shownOf } from '../http/wire.js'
import type { PageView } from './page.js'

declare const given: unique symbol

/** The attributes of a field that follow from its type. */
interface Attributes {
  type?: 'email' | 'date' | 'number' | 'file'
  required?: boolean
  maxlength?: number
}

/** What `Field` and its siblings need of a declared field. Only `fieldsOf` makes one, so that there are no others. */
export interface Control<T = unknown> extends Attributes {
  view: PageView
  /** As it is sent: `user[login]`. */
  name: string
  /** In types alone: what the form gets. */
  readonly [given]: T
}

type FieldOf<T, Given> = [T] extends [string | number | boolean | Date | Upload]
  ? Control<Given>
  : [T] extends [readonly (infer Item)[]]
    ? Item extends string | number | readonly unknown[]
      ? Control<Given>
      : (place: number) => Fields<Item>
    : [T] extends [Record<string, unknown>]
      ? string extends keyof T
        ? (name: string) => Fields<T[string]>
        : Fields<T>
      : Control<Given>

/** The fields of what a form gets, with those of records within it. */
export type Fields<T> = { readonly [Name in keyof T]-?: FieldOf<NonNullable<T[Name]>, T[Name]> }

/** The fields of a form, by its input without the parameters of its path: each is spread into a `Field` or a sibling of it. */
export const fieldsOf = <Input extends z.ZodObject>(view: PageView, input: Input) => fieldsWithin(view, input, '') as Fields<z.output<Input>>

const fieldsWithin = (view: PageView, { shape }: z.ZodObject, record: string): object =>
  Object.fromEntries(
    Object.entries(shape).map(([name, type]) => [name, fieldOf(view, type as z.ZodType, record === '' ? name : `${record}[${name}]`)]),
  )

function fieldOf(view: PageView, type: z.ZodType, name: string): unknown {
  const bare = bareOf(type)
  if (bare instanceof z.ZodObject && !shownOf(type).file) return fieldsWithin(view, bare, name)
  if (bare instanceof z.ZodRecord) return (entry: string) => fieldsWithin(view, bare.valueType as z.ZodObject, `${name}[${entry}]`)
  if (!(bare instanceof z.ZodArray) || shownOf(type).single) return { view, name, ...attributesOf(type) }
  const item = bareOf(bare.element as z.ZodType)
  return item instanceof z.ZodObject ? (place: number) => fieldsWithin(view, item, `${name}[${place}]`) : { view, name: `${name}[]` }
}

/** A type without what stands around it. */
function bareOf(type: z.ZodType): z.ZodType {
  const inner = innerOf(type)
  return inner ? bareOf(inner) : type
}

const TYPES: Record<string, Attributes['type']> = { email: 'email', date: 'date', binary: 'file', integer: 'number' }

const known = new WeakMap<z.ZodType, Attributes>()

function attributesOf(type: z.ZodType): Attributes {
  const found = known.get(type)
  if (found) return found
  const { type: kind, format, pattern, minLength, maxLength }: JsonSchema = keywordsOf(type)
  const input = TYPES[String(format)] ?? TYPES[String(kind)]
  const allowsBlank = typeof pattern !== 'string' || new RegExp(pattern, 'u').test('')
  const isRequired = !allowsBlank || Number(minLength) > 0 || !type.safeParse('').success
  const attributes: Attributes = {
    ...(input && { type: input }),
    ...(isRequired && { required: true }),
    ...(typeof maxLength === 'number' && { maxlength: maxLength }),
  }
  known.set(type, attributes)
  return attributes
}
