import { createHash } from 'node:crypto'
import { is, Param, Placeholder, type Query } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgSelectConfig } from 'drizzle-orm/pg-core'
import type { Database, Plan, ReadDatabase, Sender, Transaction } from './client.js'
import { rowMapper } from './row-mapper.js'

/**
 * Named statements per connection. Further shapes are prepared without a name, so that callers cannot fill the memory
 * of Postgres (SEC-150).
 */
const MAX_NAMED = 400
const MAX_CACHED = 1_000

type Values = Record<string, unknown>

interface Select extends PromiseLike<unknown> {
  readonly _: { readonly config: PgSelectConfig }
  toSQL(): Query
}

/** A prepared read. */
interface Prepared<Rows> {
  execute(values?: Values): Promise<Rows>
}

interface Preparable {
  prepare(name: string): unknown
}

const statementCaches = new WeakMap<Database, Map<string, Prepared<unknown>>>()

/**
 * A prepared query of the read pipeline, built once per shape: building it for each call costs more than running it.
 * `shape` must contain everything that changes the SQL.
 */
export function statement<Shape, Q extends Select>(
  name: string,
  build: (read: ReadDatabase, shape: Shape) => Q,
  plan: Plan | ((shape: Shape) => Plan) = 'auto',
): (db: Database, shape: Shape) => Prepared<Awaited<Q>> {
  return (db, shape) => {
    let statements = statementCaches.get(db)
    if (!statements) {
      statements = new Map()
      statementCaches.set(db, statements)
    }
    const key = `${name} ${JSON.stringify(shape)}`
    let prepared = statements.get(key)
    if (!prepared) {
      const chosenPlan = typeof plan === 'string' ? plan : plan(shape)
      // Postgres plans an unnamed statement with the values of the call
      const named = statements.size < MAX_NAMED && chosenPlan !== 'each'
      prepared = prepare(db, build(db.read, shape), named ? digest(key) : undefined, chosenPlan)
      if (statements.size < MAX_CACHED) statements.set(key, prepared)
    }
    return prepared as Prepared<Awaited<Q>>
  }
}

const digest = (key: string) => createHash('sha1').update(key).digest('hex')

function prepare(db: Database, query: Select, name: string | undefined, plan: Plan): Prepared<unknown> {
  const { sql, params } = query.toSQL()
  const sources = params.map(sourceOf)
  const map = rowMapper(query._.config)
  return {
    async execute(values = {}) {
      const rows = await db.readRows(
        name,
        sql,
        sources.map((source) => source(values)),
        plan,
      )
      return rows.map(map)
    },
  }
}

/** A function that finds the value of a parameter among the values of a call. */
function sourceOf(param: unknown): (values: Values) => unknown {
  if (is(param, Placeholder)) return (values) => placeholderValue(values, param.name)
  if (is(param, Param) && is(param.value, Placeholder)) {
    const { encoder, value } = param
    return (values) => encoder.mapToDriverValue(placeholderValue(values, value.name))
  }
  return () => param
}

function placeholderValue(values: Values, name: string): unknown {
  if (!(name in values)) throw new Error(`no value for the placeholder ${name}`)
  return values[name]
}

const stepCaches = new WeakMap<object, Map<string, unknown>>()

/**
 * A statement for batches, built and prepared once for each connection that sends it. Transactions can send it too, but
 * build it each time.
 */
export function batchStatement<Shape, Q extends Preparable>(
  name: string,
  build: (db: NodePgDatabase | Transaction, shape: Shape) => Q,
): (on: Sender | Transaction, shape: Shape) => ReturnType<Q['prepare']> {
  return (on, shape) => {
    const key = `${name} ${JSON.stringify(shape)}`
    if (!('client' in on)) return build(on, shape).prepare(digest(key)) as ReturnType<Q['prepare']>
    const { client } = on
    let cache = stepCaches.get(client)
    if (!cache) {
      cache = new Map()
      stepCaches.set(client, cache)
    }
    let prepared = cache.get(key)
    if (!prepared) {
      prepared = build(drizzle({ client }), shape).prepare(digest(key))
      cache.set(key, prepared)
    }
    return prepared as ReturnType<Q['prepare']>
  }
}
