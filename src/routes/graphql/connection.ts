import { z } from 'zod'
import { refused } from '../../failures.js'
import type { Page } from '../../services/core/page.js'

/** The most elements of a page; more are not refused, but not sent either, as in the original (GQL-6). */
export const MAX_PAGE = 100

/** The arguments of a list, as the schema has them. */
export const paged = {
  first: z.int().nullish(),
  last: z.int().nullish(),
  after: z.string().nullish(),
  before: z.string().nullish(),
}
export const PAGED = z.object(paged)
type Paged = z.infer<typeof PAGED>

/** A page of a list: its elements, the place of the first of them, and how many elements the list has. */
export class Connection<T = unknown> {
  constructor(
    readonly items: T[],
    readonly offset: number,
    readonly total: number,
  ) {}
}

/** Cursors are places in the list, counted from 1, which clients must not read. */
export const cursorOf = (place: number): string => Buffer.from(String(place)).toString('base64')

function placeOf(cursor: string, name: string): number {
  const text = Buffer.from(cursor, 'base64').toString('latin1')
  const place = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (place === 0) throw refused(`Invalid cursor for ${name}: "${cursor.slice(0, 100)}"`)
  return place
}

function sizeOf(size: number | null | undefined, name: string): number | null {
  if (size === null || size === undefined) return null
  if (size < 0) throw refused(`${name} must not be negative`)
  return Math.min(size, MAX_PAGE)
}

/** The part of a list that is asked for; `last` alone can only be placed with the total. */
interface Part {
  first: number | null
  last: number | null
  /** Where it begins, at the earliest, and before which it ends. */
  start: number
  end: number
}

function partOf({ first, last, after, before }: Paged): Part {
  const part = { first: sizeOf(first, 'first'), last: sizeOf(last, 'last') }
  if (part.first !== null && part.last !== null) throw refused('Can only provide either `first` or `last`, not both')
  return {
    ...part,
    // an empty cursor is that of the beginning: clients send what they have before the first page
    start: after ? placeOf(after, 'after') : 0,
    end: before ? placeOf(before, 'before') - 1 : Number.POSITIVE_INFINITY,
  }
}

function boundsOf({ first, last, start, end }: Part, total: number): { offset: number; limit: number } {
  const stop = Math.min(end, total)
  if (last !== null) {
    const offset = Math.max(start, stop - last)
    return { offset, limit: Math.max(0, stop - offset) }
  }
  return { offset: start, limit: Math.max(0, Math.min(first ?? MAX_PAGE, stop - start)) }
}

/** The part that is asked for of a list that is already in memory. */
export function partOfList<T>(items: T[], args: Paged): Connection<T> {
  const { offset, limit } = boundsOf(partOf(args), items.length)
  return new Connection(items.slice(offset, offset + limit), offset, items.length)
}

/** The part that is asked for of a list that `read` gives in numbered pages (GQL-6). */
export async function partOfPages<T>(args: Paged, read: (paging: { page: number; per_page: number }) => Promise<Page<T>>): Promise<Connection<T>> {
  const part = partOf(args)
  const { total } = part.last === null ? { total: Number.POSITIVE_INFINITY } : await read({ page: 1, per_page: 1 })
  const { offset, limit } = boundsOf(part, total)
  if (limit === 0) return new Connection<T>([], offset, Number.isFinite(total) ? total : (await read({ page: 1, per_page: 1 })).total)
  if (offset % limit === 0) {
    const page = await read({ page: offset / limit + 1, per_page: limit })
    return new Connection(page.items, offset, page.total)
  }
  // it may begin within one page of the largest size, and end within the next
  const number = Math.floor(offset / MAX_PAGE)
  const begin = offset - number * MAX_PAGE
  const page = await read({ page: number + 1, per_page: MAX_PAGE })
  const more = begin + limit > MAX_PAGE && page.total > (number + 1) * MAX_PAGE ? (await read({ page: number + 2, per_page: MAX_PAGE })).items : []
  return new Connection([...page.items, ...more].slice(begin, begin + limit), offset, page.total)
}

/** A page whose elements are shown as something else. */
export const mapped = async <T, U>(found: Promise<Connection<T>>, show: (item: T) => U): Promise<Connection<U>> => {
  const { items, offset, total } = await found
  return new Connection(items.map(show), offset, total)
}

/** The fields of a connection. */
export const CONNECTION_FIELDS: Record<string, (page: Connection) => unknown> = {
  nodes: ({ items }) => items,
  edges: ({ items, offset }) => items.map((node, i) => ({ node, cursor: cursorOf(offset + i + 1) })),
  count: ({ total }) => total,
  pageInfo: ({ items, offset, total }) => ({
    startCursor: items.length > 0 ? cursorOf(offset + 1) : null,
    endCursor: items.length > 0 ? cursorOf(offset + items.length) : null,
    hasNextPage: offset + items.length < total,
    hasPreviousPage: offset > 0 && total > 0,
  }),
}
