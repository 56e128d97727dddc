import type { Context } from '../../context.js'
import { Failure, failureText, refused } from '../../failures.js'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { rowsOf } from '../../lib/text/csv.js'
import { createUser } from '../identity/users.js'

/** The most users of one file, and its most characters. */
export const MAX_IMPORTED = 1_000
const MAX_TEXT = 1024 * 1024
/** Cells of a line that are read: more than there are columns. */
const MAX_COLUMNS = 50

const COLUMNS = ['username', 'name', 'email', 'admin', 'external', 'projects_limit', 'password'] as const
type Column = (typeof COLUMNS)[number]
const REQUIRED: Column[] = ['username', 'email']

/** What became of a line of the file. */
export interface ImportedUser {
  line: number
  username: string
  /** Why no account was made; null if it was. */
  fault: string | null
  /** The password that was made up for an account that gets no mail. */
  password: string | null
}

const YES = /^(?:true|yes|1|x)$/i
const NO = /^(?:false|no|0|)$/i

/**
 * Makes an account for each line of comma-separated values whose first line names the columns (WB-185). Each line is done
 * alone: those that are refused are said, and the others stand. Who has no password in the file gets a mail with a link to
 * set one; without mail, a password is made up.
 */
export async function importUsers(ctx: Context, text: string): Promise<ImportedUser[]> {
  if (text.length > MAX_TEXT) throw refused('The file is too large: it may have 1 MiB')
  const [head = [], ...rows] = rowsOf(text.replace(/^\ufeff/, ''), separatorOf(text), MAX_IMPORTED + 2, MAX_COLUMNS)
  const names = head.map((name) => name.trim().toLowerCase())
  const unknown = names.filter((name) => !(COLUMNS as readonly string[]).includes(name))
  const missing = REQUIRED.filter((name) => !names.includes(name))
  if (missing.length > 0) throw refused(`The first line names the columns, and has no ${missing.join(' and no ')}`)
  if (unknown.length > 0) throw refused(`There is no column ${unknown.slice(0, 5).join(', ')}: there are ${COLUMNS.join(', ')}`)
  if (rows.length > MAX_IMPORTED) throw refused(`The file has more than ${MAX_IMPORTED} lines: divide it`)
  const lines = rows.flatMap((row, i) => (row.some((cell) => cell.trim() !== '') ? [{ line: i + 2, row }] : []))
  const people = lines.map(({ line, row }) => {
    const cells = Object.fromEntries(names.map((name, at) => [name, (row[at] ?? '').trim()])) as Partial<Record<Column, string>>
    return { line, cells: row.length > names.length ? null : cells }
  })
  const create = (some: typeof people) => mapConcurrently(2, some, ({ line, cells }) => importUser(ctx, line, cells))
  const [first, repeated] = withoutRepeats(people)
  return [...(await create(first)), ...(await create(repeated))].sort((a, b) => a.line - b.line)
}

/** Those whose name and address stand in no line above, and the others: of two lines with one name the first counts. */
function withoutRepeats<T extends { cells: Partial<Record<Column, string>> | null }>(people: T[]): [T[], T[]] {
  const seen = new Set<string>()
  const found: [T[], T[]] = [[], []]
  for (const one of people) {
    const keys = [one.cells?.username, one.cells?.email].flatMap((key) => (key ? [key.toLowerCase()] : []))
    found[keys.some((key) => seen.has(key)) ? 1 : 0].push(one)
    for (const key of keys) seen.add(key)
  }
  return found
}

/** Spreadsheets of some languages write semicolons. */
function separatorOf(text: string): string {
  const [first = ''] = text.split('\n', 1)
  return first.includes(';') && !first.includes(',') ? ';' : ','
}

async function importUser(ctx: Context, line: number, cells: Partial<Record<Column, string>> | null): Promise<ImportedUser> {
  const username = cells?.username ?? ''
  const refusal = (fault: string): ImportedUser => ({ line, username, fault, password: null })
  if (!cells) return refusal('has more cells than the first line')
  const { name, email = '', admin = '', external = '', projects_limit: limit = '', password: given } = cells
  for (const [column, value] of Object.entries({ admin, external }))
    if (!YES.test(value) && !NO.test(value)) return refusal(`${column} is neither yes nor no`)
  if (limit !== '' && !/^\d{1,10}$/.test(limit)) return refusal('projects_limit is no number')
  const byMail = !given && ctx.mail !== null
  const made = given || byMail ? null : ctx.random.bytes('password', 15).toString('base64url')
  try {
    await createUser(ctx, {
      username,
      name: name || username,
      email,
      admin: YES.test(admin),
      ...(external !== '' && { external: YES.test(external) }),
      ...(limit !== '' && { projects_limit: Number(limit) }),
      ...(byMail ? { reset_password: true } : { password: given || (made as string) }),
      skip_confirmation: !byMail,
    })
    return { line, username, fault: null, password: made }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return refusal(failureText(error.body))
  }
}
