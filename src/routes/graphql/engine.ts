import {
  buildSchema,
  type DocumentNode,
  execute,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type GraphQLTypeResolver,
  parse,
  type SelectionSetNode,
  validate,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { Failure, failureText } from '../../failures.js'
import { type Call, VALUES_A_TURN } from './call.js'
import { CONNECTION_FIELDS, Connection } from './connection.js'
import { MAX_QUERY, MAX_TOKENS, tooMuch } from './limits.js'
import { inSnakeCase } from './object-type.js'
import { SCHEMA } from './schema/index.js'
import { TYPES } from './types/index.js'

/** A query as a client sends it. */
export interface Query {
  query: string
  variables: Record<string, unknown> | null
  operationName: string | null
}

/** The answer; `isRefused`: the query was not run. */
export interface Answered {
  result: FormattedExecutionResult
  isRefused: boolean
}

const READ_ONLY =
  'GraphQL is read-only here: there are no mutations and no subscriptions. The REST API under /api/v4 has the operations that change something.'
/** Faults of a query that are shown. */
const MAX_ERRORS = 20

let built: GraphQLSchema | undefined
/** The schema, made when it is first needed. */
export function schema(): GraphQLSchema {
  built ??= buildSchema(SCHEMA)
  return built
}

const refuse = (...errors: GraphQLError[]): Answered => ({ result: { errors: errors.map((error) => error.toJSON()) }, isRefused: true })
const refuseFor = (text: string) => refuse(new GraphQLError(text))

/** Valid documents by their texts, of so many characters together: clients send the same ones again and again. */
const documents = new LRUCache<string, DocumentNode>({ maxSize: 256 * 1024, sizeCalculation: (_, text) => text.length })

/** A document that may be run, or why it may not be. */
function prepare(query: string, operationName: string | null): DocumentNode | Answered {
  const known = documents.get(query)
  if (known) return isWrite(known, operationName) ? refuseFor(READ_ONLY) : known
  if (query.length > MAX_QUERY) return refuseFor(`The query has more than ${MAX_QUERY} characters.`)
  let document: DocumentNode
  try {
    document = parse(query, { maxTokens: MAX_TOKENS })
  } catch (error) {
    if (error instanceof GraphQLError) return refuse(error)
    throw error
  }
  const excess = tooMuch(document)
  if (excess !== null) return refuseFor(excess)
  if (isWrite(document, operationName)) return refuseFor(READ_ONLY)
  const faults = validate(schema(), document, undefined, { maxErrors: MAX_ERRORS })
  if (faults.length > 0) return refuse(...faults)
  documents.set(query, document)
  return document
}

/** Whether the operation that is to be run is none that reads. */
function isWrite({ definitions }: DocumentNode, operationName: string | null): boolean {
  const operations = definitions.filter((definition) => definition.kind === 'OperationDefinition')
  const meant = operations.filter(({ name }) => operationName === null || name?.value === operationName)
  return (meant.length > 0 ? meant : operations).some(({ operation }) => operation !== 'query')
}

/** Runs a query (GQL-1). Throws what is a fault of the service. */
export async function run({ query, variables, operationName }: Query, call: Call): Promise<Answered> {
  const document = prepare(query, operationName)
  if ('result' in document) return document
  const result = await execute({
    schema: schema(),
    document,
    contextValue: call,
    variableValues: variables,
    operationName,
    fieldResolver,
    typeResolver,
  })
  if (call.refusal) return { result: { data: null, errors: [{ message: call.refusal.message }] }, isRefused: false }
  for (const { originalError } of result.errors ?? []) if (originalError && !isShown(originalError)) throw originalError
  const { errors } = result
  const shown = errors && { errors: errors.slice(0, MAX_ERRORS).map(shownError) }
  return { result: { ...shown, ...(result.data !== undefined && { data: result.data }) }, isRefused: result.data === undefined }
}

/** Faults of a request; everything else is one of the service. */
const isShown = (error: Error) => error instanceof Failure || error instanceof z.ZodError || error instanceof GraphQLError

function shownError(error: GraphQLError) {
  const { originalError } = error
  const text =
    originalError instanceof Failure
      ? failureText(originalError.body)
      : originalError instanceof z.ZodError
        ? originalError.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join(', ')
        : error.message
  return { ...error.toJSON(), message: text }
}

/** What is hidden is null, without a word (GQL-4). */
const HIDDEN: readonly string[] = ['not_found', 'forbidden', 'unauthenticated']

function nullIfHidden(error: unknown): null {
  if (error instanceof Failure && HIDDEN.includes(error.kind)) return null
  throw error
}

const isPromise = <T>(value: T | Promise<T>): value is Promise<T> => value instanceof Promise

const entityValue = (shown: unknown, name: string): unknown =>
  typeof shown === 'object' && shown !== null ? (Reflect.get(shown, inSnakeCase(name)) ?? null) : null

/** The value of a field, whose texts are counted. */
function counted(value: unknown, call: Call): unknown {
  if (typeof value === 'string') call.countText(value)
  return value
}

/** The number of fields of each element of a list. */
const widthOf = ({ fieldNodes, fragments }: GraphQLResolveInfo) =>
  fieldNodes.reduce((sum, { selectionSet }) => sum + countFields(selectionSet, fragments), 0)

function countFields(selected: SelectionSetNode | undefined, fragments: GraphQLResolveInfo['fragments']): number {
  let count = 0
  for (const selection of selected?.selections ?? []) {
    if (selection.kind === 'Field') count += 1 + (selection.selectionSet?.selections.length ?? 0)
    else count += countFields(selection.kind === 'InlineFragment' ? selection.selectionSet : fragments[selection.name.value]?.selectionSet, fragments)
  }
  return count
}

/** The elements of a list; those of a long list with many fields come in several turns of the event loop (GQL-24). */
function elements(found: unknown, call: Call, info: GraphQLResolveInfo): unknown {
  if (!Array.isArray(found)) return found
  const aTurn = Math.max(1, Math.floor(VALUES_A_TURN / Math.max(1, widthOf(info))))
  if (found.length <= aTurn) return call.inTurn(found)
  return found.map((item, i) => (i < aTurn ? item : call.later(item)))
}

const fieldResolver: GraphQLFieldResolver<unknown, Call> = (source, args, call, info) => {
  const { fieldName, parentType } = info
  call.countValue()
  if (source instanceof Connection) return elements(CONNECTION_FIELDS[fieldName]?.(source), call, info)
  const type = TYPES[parentType.name]
  const own = type?.fields?.[fieldName]
  if (own) {
    try {
      const value = own(source as never, args, call)
      return isPromise(value) ? value.then((found) => counted(found, call)).catch(nullIfHidden) : counted(value, call)
    } catch (error) {
      return nullIfHidden(error)
    }
  }
  if (!type?.shown) return Reflect.get(Object(source), fieldName)
  const shown = call.shownOnce(Object(source), () => type.shown?.(source as never, call))
  return isPromise(shown) ? shown.then((entity) => counted(entityValue(entity, fieldName), call)) : counted(entityValue(shown, fieldName), call)
}

/** Members of projects and of groups are the only objects of an interface that do not say it by their place. */
const typeResolver: GraphQLTypeResolver<unknown, Call> = (value) =>
  ['ProjectMember', 'GroupMember'].find((name) => TYPES[name]?.isTypeOf?.(value as never)) ?? 'UserCore'
