import { Column, getTableColumns, getTableName, is, SQL, Subquery, Table } from 'drizzle-orm'
import type { PgSelectConfig } from 'drizzle-orm/pg-core'
import { DecodedSql } from './decoded.js'

/** A selected column: its path in the result, and how it is decoded. */
interface SelectedField {
  path: string[]
  field: unknown
}

type Decode = (value: unknown) => unknown
type Shape = Record<string, unknown>

/**
 * Maps rows to the same objects as drizzle, several times as fast: the layout is computed once per statement, and each
 * object starts as a copy of a complete one, so that engines keep a stable hidden class.
 */
export function rowMapper(config: PgSelectConfig): (row: unknown[]) => unknown {
  const fields = selectedFields(config.fields, [])
  const template: Shape = {}
  const parts: { name: string; template: Shape }[] = []
  const columns = fields.map(({ path, field }) => {
    const [first = '', second] = path
    if (path.length > 2) throw new Error(`a selection is nested too deeply: ${path.join('.')}`)
    const decode = decoderOf(field)
    template[first] = null
    if (second === undefined) return { part: -1, key: first, decode }
    let part = parts.findIndex(({ name }) => name === first)
    if (part < 0) part = parts.push({ name: first, template: {} }) - 1
    ;(parts[part] as { template: Shape }).template[second] = null
    return { part, key: second, decode }
  })
  const nullable = leftJoined(config)
  const optional = parts.map(({ name }) => optionalKey(name, fields, nullable))
  const emptyRow = JSON.parse(JSON.stringify(template)) as Shape
  const emptyParts = parts.map((part) => JSON.parse(JSON.stringify(part.template)) as Shape)

  return (row) => {
    const result: Shape = { ...emptyRow }
    const objects = emptyParts.map((part) => ({ ...part }))
    for (let i = 0; i < columns.length; i++) {
      const { part, key, decode } = columns[i] as (typeof columns)[number]
      const raw = row[i]
      const value = raw === null || decode === undefined ? raw : decode(raw)
      if (part < 0) result[key] = value
      else (objects[part] as Shape)[key] = value
    }
    for (let i = 0; i < objects.length; i++) {
      const key = optional[i]
      const object = objects[i] as Shape
      result[(parts[i] as { name: string }).name] = key !== undefined && object[key] === null ? null : object
    }
    return result
  }
}

/** The columns of a selection, in the order in which drizzle writes them into the statement. */
function selectedFields(selection: Record<string, unknown>, prefix: string[]): SelectedField[] {
  return Object.entries(selection).flatMap(([name, field]) => {
    const path = [...prefix, name]
    if (is(field, Column) || is(field, SQL) || is(field, SQL.Aliased)) return [{ path, field }]
    if (is(field, Subquery)) throw new Error(`select a subquery as an expression: ${path.join('.')}`)
    return selectedFields(is(field, Table) ? getTableColumns(field) : (field as Record<string, unknown>), path)
  })
}

/** Undefined if the value stays as the driver returns it. */
function decoderOf(field: unknown): Decode | undefined {
  if (is(field, Column)) {
    // most columns have no decoder of their own
    return field.mapFromDriverValue === Column.prototype.mapFromDriverValue ? undefined : (value) => field.mapFromDriverValue(value)
  }
  const expression = is(field, SQL.Aliased) ? field.sql : field
  return expression instanceof DecodedSql ? expression.decode : undefined
}

/** Names of left-joined tables, whose columns are null if no row matched. */
function leftJoined({ joins = [] }: PgSelectConfig): Set<string> {
  for (const { joinType } of joins) {
    if (joinType === 'right' || joinType === 'full') throw new Error(`prepared reads have no ${joinType} joins`)
  }
  return new Set(
    joins.filter(({ joinType }) => joinType === 'left').map(({ alias, table }) => alias ?? (is(table, Table) ? getTableName(table) : '')),
  )
}

/** For columns of a left-joined table: the key whose null means that no row matched. */
function optionalKey(name: string, fields: SelectedField[], nullable: Set<string>): string | undefined {
  // an expression, such as the beginning of a text, does not tell which table it belongs to
  const own = fields.filter(({ path, field }) => path[0] === name && path.length === 2 && is(field, Column))
  const tables = new Set(own.map(({ field }) => getTableName((field as Column).table)))
  const [table] = tables
  return tables.size === 1 && table !== undefined && nullable.has(table) ? own[0]?.path[1] : undefined
}
