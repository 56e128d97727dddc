import type { Context } from '../../context.js'
import { commitAsynchronously } from '../../db/asynchronous-commit.js'
import type { Transaction } from '../../db/client.js'
import { codeOf, databaseError, isUniqueViolation } from '../../db/errors.js'
import { Failure, failureText, invalidRecord } from '../../failures.js'
import { actSilently } from '../core/acting.js'
import type { Run } from './run.js'
import { NotGiven } from './source/client.js'
import type { Scope } from './source/dialect.js'
import type { Kind, Records } from './source/records.js'
import { pagesOf } from './source/source.js'

/** Why one thing does not come; the import goes on without it. */
export class Refused extends Error {
  override name = 'Refused'
}

/** Refuses what has faults of its own; a dry run, which writes nothing, finds these too. */
export function refuseIfFaults(field: string, faults: string[]): void {
  if (faults.length > 0) throw invalidRecord({ [field]: faults })
}

/** A thing of the other server. */
interface Item {
  kind: string
  key: string
  /** For people. */
  name: string
}

/** Writes it; what it returns is its id here. */
export type Write = (tx: Transaction, ctx: Context) => Promise<number | null>

/** Kinds whose keys are unique on the whole server; those of others are unique in what they belong to. */
const GLOBAL: ReadonlySet<string> = new Set(['milestone', 'group milestone'])

export const keyIn = (kind: string, scope: Scope, key: string) =>
  GLOBAL.has(kind) || scope.key === '' ? key : `${scope.key}${scope.iid === undefined ? '' : `#${scope.iid}`}/${key}`

/**
 * Brings what a list has and what has not come yet. `prepare` looks up what it needs, and returns what writes it in one
 * transaction. False where the list could not be read to its end.
 */
export async function bringAll<K extends Kind>(
  run: Run,
  kind: K,
  scope: Scope,
  prepare: (record: Records[K]) => Promise<Write>,
  eachPage?: (records: Records[K][]) => Promise<void>,
): Promise<boolean> {
  return readAll(run, kind, scope, async (records) => {
    await bringEach(run, kind, scope, records, prepare)
    await eachPage?.(records)
  })
}

/** The same with records that have been read. */
export async function bringEach<K extends Kind>(
  run: Run,
  kind: K,
  scope: Scope,
  records: Records[K][],
  prepare: (record: Records[K]) => Promise<Write>,
): Promise<void> {
  for (const record of await notYetHere(run, kind, scope, records)) {
    const item = { kind, key: keyIn(kind, scope, record.key), name: nameOf(scope, record) }
    await bring(run, item, () => prepare(record))
  }
}

/** Those that have not come. */
export async function notYetHere<K extends Kind>(run: Run, kind: K, scope: Scope, records: Records[K][]): Promise<Records[K][]> {
  const keyOf = ({ key }: Records[K]) => keyIn(kind, scope, key)
  const known = await run.ledger.known(kind, records.map(keyOf))
  return records.filter((record) => !known.has(keyOf(record)))
}

/** Reads a list page by page. What is wrong with it, or with some of its elements, is reported. */
export async function readAll<K extends Kind>(run: Run, kind: K, scope: Scope, take: (records: Records[K][]) => Promise<void>): Promise<boolean> {
  try {
    for await (const { items, odd } of pagesOf(run.source, kind, scope)) {
      run.signal.throwIfAborted()
      for (const { key, reason } of odd)
        await run.ledger.leftOut(kind, keyIn(kind, scope, key), `${scope.path} ${key}`.trim(), `is not valid: ${reason}`)
      await take(items)
    }
    await run.ledger.isWhole(kind, keyIn(kind, scope, '*'))
    return true
  } catch (error) {
    if (!(error instanceof NotGiven)) throw error
    await run.ledger.leftOut(kind, keyIn(kind, scope, '*'), scope.path || 'all', error.message)
    return false
  }
}

/** A list that is short. */
export async function listAll<K extends Kind>(run: Run, kind: K, scope: Scope): Promise<Records[K][]> {
  const all: Records[K][] = []
  await readAll(run, kind, scope, async (records) => void all.push(...records))
  return all
}

/** The first of a list; null where there is none, which is nothing to report. */
export async function findOne<K extends Kind>(run: Run, kind: K, scope: Scope): Promise<Records[K] | null> {
  try {
    for await (const { items } of pagesOf(run.source, kind, scope)) return items[0] ?? null
  } catch (error) {
    if (!(error instanceof NotGiven)) throw error
  }
  return null
}

function nameOf(scope: Scope, record: object): string {
  const { full_path, username, iid, title, key } = record as Record<string, string | number | undefined>
  const own = full_path ?? username ?? (iid === undefined ? (title ?? key) : `#${iid} ${title ?? ''}`)
  const within = scope.iid === undefined ? scope.path : `${scope.path} #${scope.iid}`
  return within === '' ? String(own) : `${within}: ${own}`
}

/** Brings one thing, with the row of the ledger in the same transaction, so that a kill leaves both or neither. */
export async function bring(run: Run, { kind, key, name }: Item, prepare: () => Promise<Write>): Promise<number | null> {
  const { ctx, ledger } = run
  try {
    const write = await prepare()
    if (ledger.dry) {
      ledger.counted(kind, key)
      return null
    }
    return await ctx.db.transaction(async (tx) => {
      await Promise.all([commitAsynchronously(tx), actSilently(tx)])
      const here = await write(tx, within(ctx, tx))
      await ledger.came(tx, kind, key, here)
      return here
    })
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === null) throw error
    await ledger.leftOut(kind, key, name, reason)
    return null
  }
}

/** Null: a fault that ends the run. */
export function reasonOf(error: unknown): string | null {
  if (error instanceof Refused || error instanceof NotGiven) return error.message
  if (error instanceof Failure) return failureText(error.body)
  if (isUniqueViolation(error)) return 'there is one with the same name or number already'
  // values that no column takes, and references to what was deleted meanwhile
  return /^2[23]/.test(codeOf(databaseError(error))) ? 'the database does not accept it' : null
}

/** The context for functions of other rooms whose changes belong to a transaction of ours. */
function within(ctx: Context, tx: Transaction): Context {
  const db = Object.create(ctx.db, {
    write: { value: tx },
    transaction: { value: (work: (tx: Transaction) => Promise<unknown>) => tx.transaction(work) },
  }) as Context['db']
  return { ...ctx, db }
}
