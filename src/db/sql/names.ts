import { type SQL, sql } from 'drizzle-orm'

/** Settings of a transaction that triggers (`outbox.sql`) and defaults of columns read. */
export const TRANSACTION_SETTINGS = {
  /** The id of the acting user. */
  actor: 'roost.actor',
  /** `yes`: webhooks and mail are not notified. */
  silent: 'roost.silent',
  /** The ids of the webhooks that led to the transaction (HK-30). */
  hookChain: 'roost.hook_chain',
} as const

/** SQLSTATE of the notice that a trigger raises when it has enqueued a job. */
export const ENQUEUED_NOTICE = '00R01'

/** The expression that sets a setting to a text until the transaction ends. */
export const setForTransaction = (setting: keyof typeof TRANSACTION_SETTINGS, value: SQL): SQL =>
  sql`set_config('${sql.raw(TRANSACTION_SETTINGS[setting])}', ${value}, true)`
