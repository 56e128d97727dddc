import { createHash } from 'node:crypto'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Database, ReadDatabase, Sender } from './client.js'
import { rowMapper, type SelectedField } from './row-mapper.js'

/** Named statements a database connection keeps; shapes beyond that many are prepared without a name, so callers cannot fill Postgres' memory with them (SEC-150). */
const NAMED = 400
const CACHE_SIZE = 1_000

interface Preparable {
  prepare(name: string): unknown
}

const kept = new WeakMap<Database, Map<string, unknown>>()

/** A query of the read lane, built once per shape and prepared: building it anew for each call costs more than running it. `shape` names all that changes its text. */
export function statement<Shape, Q extends Preparable>(
  name: string,
  build: (read: ReadDatabase, shape: Shape) => Q,
): (db: Database, shape: Shape) => ReturnType<Q['prepare']> {
  return (db, shape) => {
    let statements = kept.get(db)
    if (!statements) {
      statements = new Map()
      kept.set(db, statements)
    }
    const key = `${name} ${JSON.stringify(shape)}`
    let prepared = statements.get(key)
    if (!prepared) {
      const label = statements.size < NAMED ? createHash('sha1').update(key).digest('hex') : ''
      prepared = quick(build(db.read, shape).prepare(label))
      if (statements.size < CACHE_SIZE) statements.set(key, prepared)
    }
    return prepared as ReturnType<Q['prepare']>
  }
}

const steps = new WeakMap<object, Map<string, unknown>>()

/** A statement of bursts, built and prepared once for each connection that sends it. */
export function step<Shape, Q extends Preparable>(
  name: string,
  build: (db: NodePgDatabase, shape: Shape) => Q,
): (on: Sender, shape: Shape) => ReturnType<Q['prepare']> {
  return ({ client, builder }, shape) => {
    let known = steps.get(client)
    if (!known) {
      known = new Map()
      steps.set(client, known)
    }
    const key = `${name} ${JSON.stringify(shape)}`
    let prepared = known.get(key)
    if (!prepared) {
      prepared = quick(build(builder, shape).prepare(createHash('sha1').update(key).digest('hex')))
      // the builder would send it to a connection of the pool
      ;(prepared as { client: unknown }).client = client
      known.set(key, prepared)
    }
    return prepared as ReturnType<Q['prepare']>
  }
}

/** Gives a prepared statement our own mapper of rows in place of drizzle's. */
function quick<P>(prepared: P): P {
  const inner = prepared as {
    fields?: SelectedField[]
    joinsNotNullableMap?: Record<string, boolean>
    customResultMapper?: (rows: unknown[][]) => unknown[]
  }
  if (inner.fields && !inner.customResultMapper) {
    const map = rowMapper(inner.fields, inner.joinsNotNullableMap)
    inner.customResultMapper = (rows) => rows.map(map)
  }
  return prepared
}
