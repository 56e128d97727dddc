import { type Placeholder, type SQL, sql } from 'drizzle-orm'

/** A filter's value, or its placeholder in a prepared statement. */
export type FilterValue = Placeholder | SQL

/** One filter of a list. `Given` is the request, `Shape` what else the condition depends on. */
export interface Filter<Given, Shape = unknown> {
  where(value: FilterValue, shape: Shape): SQL
  /** The value; undefined if the request does not use the filter. */
  value(given: Given): unknown
  /** False if rows can start or stop matching while the version of the list stays the same; totals are then not cached. */
  cacheable?: boolean
}

/** All filters of a list, by name. Declare them with `satisfies`, so that the compiler knows the names. */
export type Filters<Given, Name extends string = string, Shape = unknown> = Record<Name, Filter<Given, Shape>>

/** The parameters of a request that are filters: all but those of the page, the order, and `Other`. */
export type FilterNames<Request, Other extends keyof Request = never> = Exclude<
  keyof Request,
  'page' | 'per_page' | 'pagination' | 'order_by' | 'sort' | Other
>

/** The filters that a request uses, their values, and whether a total with them may be cached. */
export interface UsedFilters<Name extends string> {
  names: Name[]
  values: { [name in Name]?: unknown }
  cacheable: boolean
}

export function usedFilters<Given, Name extends string>(filters: Filters<Given, Name, never>, given: Given): UsedFilters<Name> {
  const all = Object.keys(filters) as Name[]
  const values = Object.fromEntries(all.map((name) => [name, filters[name].value(given)])) as UsedFilters<Name>['values']
  const names = all.filter((name) => values[name] !== undefined)
  return { names, values, cacheable: names.every((name) => filters[name].cacheable !== false) }
}

/** The conditions of these filters. */
export const conditionsOf = <Name extends string, Shape>(filters: Filters<never, Name, Shape>, names: Name[], shape: Shape): SQL[] =>
  names.map((name) => filters[name].where(sql.placeholder(name), shape))

/** The conditions that a request sets, with its values: for queries that are not prepared. */
export const conditionsWith = <Given, Name extends string>(filters: Filters<Given, Name, null>, given: Given): SQL[] => {
  const { names, values } = usedFilters(filters, given)
  return names.map((name) => filters[name].where(sql`${values[name]}`, null))
}
