import type { Context } from '../../context.js'
import { commitAsynchronously } from '../../db/asynchronous-commit.js'
import type { Transaction } from '../../db/client.js'
import { codeOf, databaseError, isUniqueViolation } from '../../db/errors.js'
import { Failure, failureText, invalidRecord } from '../../failures.js'
import { actSilently } from '../outbox/acting.js'
import type { Run } from './run.js'
import { NotAvailable } from './source/client.js'
import type { Scope } from './source/dialect.js'
import type { Kind, Records } from './source/records.js'
import { pagesOf } from './source/source.js'

/** One item cannot be imported; the message is the reason in the report, and the import continues without it. */
export class CannotImport extends Error {
  override name = 'Refused'
}

/** Throws if validation found faults. A dry run calls this before writing would find them. */
export function refuseIfFaults(field: string, faults: string[]): void {
  if (faults.length > 0) throw invalidRecord({ [field]: faults })
}

/** An item of the source server. */
interface Item {
  kind: string
  key: string
  /** Shown in the report. */
  name: string
}

/** Inserts a prepared item and returns its local id, or null if it has none. */
export type Write = (tx: Transaction, ctx: Context) => Promise<number | null>

/** Kinds whose keys are unique on the whole server; other keys are unique within their scope. */
const GLOBALLY_KEYED_KINDS: ReadonlySet<string> = new Set(['milestone', 'group milestone'])

/** The key of an item in the ledger. */
export const ledgerKey = (kind: string, scope: Scope, key: string) =>
  GLOBALLY_KEYED_KINDS.has(kind) || scope.key === '' ? key : `${scope.key}${scope.iid === undefined ? '' : `#${scope.iid}`}/${key}`

/**
 * Imports the items of a list that have not been imported yet. `prepare` does the lookups and returns the function that
 * writes the item in one transaction. Returns false if the list could not be read in full.
 */
export async function importList<K extends Kind>(
  run: Run,
  kind: K,
  scope: Scope,
  prepare: (record: Records[K]) => Promise<Write>,
  eachPage?: (records: Records[K][]) => Promise<void>,
): Promise<boolean> {
  return readList(run, kind, scope, async (records) => {
    await importRecords(run, kind, scope, records, prepare)
    await eachPage?.(records)
  })
}

/** Imports records that have been read already. */
export async function importRecords<K extends Kind>(
  run: Run,
  kind: K,
  scope: Scope,
  records: Records[K][],
  prepare: (record: Records[K]) => Promise<Write>,
): Promise<void> {
  for (const record of await notImported(run, kind, scope, records)) {
    const item = { kind, key: ledgerKey(kind, scope, record.key), name: displayName(scope, record) }
    await importItem(run, item, () => prepare(record))
  }
}

/** The records that have not been imported yet. */
export async function notImported<K extends Kind>(run: Run, kind: K, scope: Scope, records: Records[K][]): Promise<Records[K][]> {
  const keyOf = ({ key }: Records[K]) => ledgerKey(kind, scope, key)
  const known = await run.ledger.findImported(kind, records.map(keyOf))
  return records.filter((record) => !known.has(keyOf(record)))
}

/** Reads a list page by page, and reports invalid elements. Returns false if it could not be read in full. */
export async function readList<K extends Kind>(run: Run, kind: K, scope: Scope, handle: (records: Records[K][]) => Promise<void>): Promise<boolean> {
  try {
    for await (const { items, invalid } of pagesOf(run.source, kind, scope)) {
      run.signal.throwIfAborted()
      for (const { key, reason } of invalid)
        await run.ledger.reportLeftOut(kind, ledgerKey(kind, scope, key), `${scope.path} ${key}`.trim(), `is not valid: ${reason}`)
      await handle(items)
    }
    await run.ledger.clearLeftOut(kind, ledgerKey(kind, scope, '*'))
    return true
  } catch (error) {
    if (!(error instanceof NotAvailable)) throw error
    await run.ledger.reportLeftOut(kind, ledgerKey(kind, scope, '*'), scope.path || 'all', error.message)
    return false
  }
}

/** Reads a short list into memory. */
export async function fetchList<K extends Kind>(run: Run, kind: K, scope: Scope): Promise<Records[K][]> {
  const all: Records[K][] = []
  await readList(run, kind, scope, async (records) => void all.push(...records))
  return all
}

/** The first element of a list; null if there is none or it is not available. Reports nothing. */
export async function fetchFirst<K extends Kind>(run: Run, kind: K, scope: Scope): Promise<Records[K] | null> {
  try {
    for await (const { items } of pagesOf(run.source, kind, scope)) return items[0] ?? null
  } catch (error) {
    if (!(error instanceof NotAvailable)) throw error
  }
  return null
}

function displayName(scope: Scope, record: object): string {
  const { full_path, username, iid, title, key } = record as Record<string, string | number | undefined>
  const own = full_path ?? username ?? (iid === undefined ? (title ?? key) : `#${iid} ${title ?? ''}`)
  const contextIn = scope.iid === undefined ? scope.path : `${scope.path} #${scope.iid}`
  return contextIn === '' ? String(own) : `${contextIn}: ${own}`
}

/** Imports one item with its ledger row in the same transaction, so that a crash leaves both or neither. */
export async function importItem(run: Run, { kind, key, name }: Item, prepare: () => Promise<Write>): Promise<number | null> {
  const { ctx, ledger } = run
  try {
    const write = await prepare()
    if (ledger.dry) {
      ledger.countImported(kind, key)
      return null
    }
    return await ctx.db.transaction(async (tx) => {
      await Promise.all([commitAsynchronously(tx), actSilently(tx)])
      const here = await write(tx, contextIn(ctx, tx))
      await ledger.recordImported(tx, kind, key, here)
      return here
    })
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === null) throw error
    await ledger.reportLeftOut(kind, key, name, reason)
    return null
  }
}

/** The reason for the report; null if the error ends the run. */
export function reasonOf(error: unknown): string | null {
  if (error instanceof CannotImport || error instanceof NotAvailable) return error.message
  if (error instanceof Failure) return failureText(error.body)
  if (isUniqueViolation(error)) return 'there is one with the same name or number already'
  // data exceptions (22) and violated constraints (23), such as references to rows deleted meanwhile
  return /^2[23]/.test(codeOf(databaseError(error))) ? 'the database does not accept it' : null
}

/** A context whose writes go to `tx`, for functions of other rooms. */
function contextIn(ctx: Context, tx: Transaction): Context {
  const db = Object.create(ctx.db, {
    write: { value: tx },
    transaction: { value: (work: (tx: Transaction) => Promise<unknown>) => tx.transaction(work) },
  }) as Context['db']
  return { ...ctx, db }
}
