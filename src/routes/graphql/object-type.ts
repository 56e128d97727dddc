import { z } from 'zod'
import { checkText } from '../../http/form.js'
import { parseDatetime } from '../../http/params.js'
import type { Call } from './call.js'

type Args = Record<string, unknown>

/** Resolves a field from what its object is here, the arguments and the call. */
export type Resolve<Source> = { resolve(source: Source, args: Args, call: Call): unknown }['resolve']

export type Fields<Source> = Record<string, Resolve<Source>>

/** How the fields of a type of the schema get their values. */
export interface ObjectType<Source> {
  /** Fields with code of their own. */
  fields?: Fields<Source>
  /** The entity of the REST API, which has all other fields, with names in snake case (GQL-3). */
  shown?(source: Source, call: Call): object | null | Promise<object | null>
  /** The names that it has: the shape of its schema. */
  entity?: readonly string[]
  /** The type of an object of an interface. */
  isTypeOf?(source: Source): boolean
}

/** A field with arguments, which are parsed with this schema. */
export const field =
  <Source, Schema extends z.ZodObject>(schema: Schema, resolve: (source: Source, args: z.infer<Schema>, call: Call) => unknown): Resolve<Source> =>
  (source, args, call) => {
    // which a literal of the query can have
    for (const value of Object.values(args).flat()) if (typeof value === 'string') checkText(value)
    return resolve(source, schema.parse(args), call)
  }

export const objectType = <Source>(type: ObjectType<Source>): ObjectType<Source> => type

const names = new Map<string, string>()

/** `webUrl` as `web_url`. */
export function inSnakeCase(name: string): string {
  let found = names.get(name)
  if (found === undefined) {
    found = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    names.set(name, found)
  }
  return found
}

export const namesOf = (...schemas: z.ZodObject[]): string[] => schemas.flatMap((schema) => Object.keys(schema.shape))

/** A time in the forms that the REST API takes; anything else is refused. */
export const time = z
  .string()
  .transform((text, issue) => {
    const at = parseDatetime(text)
    if (at) return at
    issue.addIssue({ code: 'custom', message: 'is not a valid time' })
    return z.NEVER
  })
  .nullish()
