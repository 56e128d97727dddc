import { type Column, type GetDecoderResult, SQL, sql } from 'drizzle-orm'

type Decode = (value: unknown) => unknown
// biome-ignore lint/suspicious/noExplicitAny: a decoder takes what its column or expression yields
type Decoder = Column | ((value: any) => unknown)

/** An expression with a decoder that the row mapper can read, unlike that of `mapWith`. */
export class DecodedSql<T = unknown> extends SQL<T> {
  readonly decode: Decode

  constructor(expression: SQL, decoder: Decoder) {
    super([expression])
    this.decode = typeof decoder === 'function' ? decoder : (value) => decoder.mapFromDriverValue(value)
    this.mapWith(this.decode)
  }
}

/** The expression, decoded by the function or as the column; null stays null. */
export const decoded = <D extends Decoder>(expression: SQL, decoder: D): DecodedSql<GetDecoderResult<D>> => new DecodedSql(expression, decoder)

/** The number of rows. */
export const count = () => decoded(sql`count(*)`, Number)

/** In each row of a page, the number of rows without the page's limit. */
export const totalCount = () => decoded(sql`count(*) over ()`, Number)
