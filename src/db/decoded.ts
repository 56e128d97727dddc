import { type Column, type GetDecoderResult, SQL, type SQLWrapper, sql } from 'drizzle-orm'

type Decode = (value: unknown) => unknown
// biome-ignore lint/suspicious/noExplicitAny: a decoder takes what its column or expression yields
type Decoder = Column | ((value: any) => unknown)

/** An expression with a decoder that the row mapper can read; drizzle keeps that of `mapWith` private. */
export class DecodedSql<T = unknown> extends SQL<T> {
  readonly decode: Decode

  constructor(expression: SQL, decoder: Decoder) {
    super([expression])
    this.decode = typeof decoder === 'function' ? decoder : (value) => decoder.mapFromDriverValue(value)
    this.mapWith(this.decode)
  }
}

/** The expression with a decoder: a function, or the column whose decoding applies. Null stays null. */
export const decoded = <D extends Decoder>(expression: SQL, decoder: D): DecodedSql<GetDecoderResult<D>> => new DecodedSql(expression, decoder)

/** `count(*)` as a number. */
export const count = () => decoded(sql`count(*)`, Number)

/** `count(*)` of the rows that meet a condition. */
export const countWhere = (condition: SQLWrapper) => decoded(sql`count(*) filter (where ${condition})`, Number)

/** The number of rows without the limit of the page, repeated in each row. */
export const totalCount = () => decoded(sql`count(*) over ()`, Number)
