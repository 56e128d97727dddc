import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { hookChain, id, moment, ref } from './columns.js'
import { namespaces } from './namespaces.js'
import { projects } from './projects.js'

/**
 * The events that hooks subscribe to, as attributes `<name>_events` of the entities. `system`: the events that every
 * system hook gets.
 */
export const HOOK_EVENTS = [
  'push',
  'tag_push',
  'issues',
  'confidential_issues',
  'merge_requests',
  'note',
  'confidential_note',
  'pipeline',
  'job',
  'deployment',
  'feature_flag',
  'wiki_page',
  'releases',
  'subgroup',
  'repository_update',
  'system',
] as const

export type HookEvent = (typeof HOOK_EVENTS)[number]

/** What a property of an integration may be. */
export type IntegrationValue = string | boolean | number

/** An integration of a project with another service (SV-1). */
export const integrations = pgTable(
  'integrations',
  {
    id: id(),
    project_id: ref()
      .notNull()
      .references(() => projects.id, { onDelete: 'cascade' }),
    slug: text().notNull(),
    active: boolean().notNull(),
    /** The events that are on, as in `<name>_events`. */
    events: text().array().notNull(),
    properties: jsonb().$type<Record<string, IntegrationValue>>().notNull(),
    /** The encrypted properties that are secret, as JSON (SV-4). */
    sealed_properties: text(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [unique('integrations_project_id_slug_unique').on(t.project_id, t.slug)],
)

/** A hook of a project, of a group or, if both are null, of the whole system (HK-1, HK-8, HK-24). */
export const webHooks = pgTable(
  'web_hooks',
  {
    id: id(),
    project_id: ref().references(() => projects.id, { onDelete: 'cascade' }),
    group_id: ref().references(() => namespaces.id, { onDelete: 'cascade' }),
    /** The slug of the integration that it sends for; such a hook is seen only there (SV-6). */
    integration: text(),
    /** The displayed address, with user and password masked. */
    url: text().notNull(),
    /** The encrypted address, if it contains a user or a password (SEC-139). */
    sealed_url: text(),
    sealed_token: text(),
    name: text(),
    description: text(),
    events: text({ enum: HOOK_EVENTS }).array().notNull(),
    push_events_branch_filter: text(),
    enable_ssl_verification: boolean().notNull().default(true),
    /** Failed attempts since the last success (HK-26). */
    recent_failures: integer().notNull().default(0),
    /** Nothing is sent before this time. */
    disabled_until: moment(),
    created_at: moment().notNull().defaultNow(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [
    check('web_hooks_one_source', sql`num_nonnulls(${t.project_id}, ${t.group_id}) < 2`),
    uniqueIndex('web_hooks_integration_idx').on(t.project_id, t.integration).where(sql`${t.integration} is not null`),
    index('web_hooks_project_id_idx').on(t.project_id, t.id).where(sql`${t.project_id} is not null`),
    index('web_hooks_group_id_idx').on(t.group_id, t.id).where(sql`${t.group_id} is not null`),
    index('web_hooks_system_idx').on(t.id).where(sql`${t.project_id} is null and ${t.group_id} is null`),
  ],
)

/** A row as Postgres serializes it to JSON; timestamps are strings. */
export type RowImage = Record<string, unknown>

/**
 * The outbox of hooks and mail. Triggers record changes in the transaction of the change, but only while a hook or mail
 * needs them (docs/adr/0017, 0018). There are no foreign keys: a row outlives its subject.
 */
export const hookChanges = pgTable(
  'hook_changes',
  {
    id: id(),
    /** The transaction; its changes are delivered together. */
    transaction: bigint({ mode: 'bigint' }).notNull().default(sql`pg_current_xact_id()::text::bigint`),
    /** The table, or `pushes`, `wiki_pages` or `failed_logins`. */
    source: text().notNull(),
    operation: text({ enum: ['INSERT', 'UPDATE', 'DELETE'] }).notNull(),
    project_id: ref(),
    /** The acting user, if known. */
    actor_id: ref(),
    before: jsonb().$type<RowImage>(),
    after: jsonb().$type<RowImage>(),
    /** Whether webhooks have yet to process it. */
    hooks: boolean().notNull().default(true),
    /** Whether it has yet to be mailed. */
    mail: boolean().notNull().default(false),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [index('hook_changes_transaction_idx').on(t.transaction, t.id)],
)

/** A delivery to a hook: pending until a receiver has answered or no attempt is left. */
export const hookDeliveries = pgTable(
  'hook_deliveries',
  {
    id: id(),
    hook_id: ref()
      .notNull()
      .references(() => webHooks.id, { onDelete: 'cascade' }),
    /** The id of the event, the same for all hooks that receive it. */
    uuid: text().notNull(),
    /** The id of the delivery, the same in all attempts. */
    key: text().notNull(),
    /** The event kind, such as `push_hooks`. */
    trigger: text().notNull(),
    /** The header `X-Gitlab-Event`. */
    event: text().notNull(),
    body: text().notNull(),
    /** Method and path below the address, such as `PUT tasks/1`; null: a POST to the address itself (SV-6). */
    request: text(),
    state: text({ enum: ['pending', 'delivered', 'failed'] })
      .notNull()
      .default('pending'),
    attempts: integer().notNull().default(0),
    created_at: moment().notNull().defaultNow(),
    /** The hooks whose deliveries led to it, the oldest first (HK-30). */
    hook_chain: hookChain(),
  },
  (t) => [
    index('hook_deliveries_hook_id_idx').on(t.hook_id, t.id),
    index('hook_deliveries_pending_idx').on(t.hook_id).where(sql`${t.state} = 'pending'`),
  ],
)

/** A delivery attempt with the response (HK-6). */
export const hookAttempts = pgTable(
  'hook_attempts',
  {
    id: id(),
    delivery_id: ref()
      .notNull()
      .references(() => hookDeliveries.id, { onDelete: 'cascade' }),
    hook_id: ref()
      .notNull()
      .references(() => webHooks.id, { onDelete: 'cascade' }),
    url: text().notNull(),
    request_headers: jsonb().$type<Record<string, string>>().notNull(),
    response_headers: jsonb().$type<Record<string, string>>().notNull(),
    response_body: text().notNull(),
    /** Null if there was no response. */
    status: integer(),
    /** Why there was no response. */
    fault: text(),
    /** Milliseconds. */
    duration: integer().notNull(),
    created_at: moment().notNull().defaultNow(),
  },
  (t) => [index('hook_attempts_hook_id_idx').on(t.hook_id, t.id), index('hook_attempts_delivery_id_idx').on(t.delivery_id)],
)

/** The answers by mail that have been taken, so that each counts once (ML-626). Removed when they are old. */
export const receivedMails = pgTable(
  'received_mails',
  {
    /** SHA-256 of who sent it and its `Message-ID`, in hexadecimal. */
    digest: text().primaryKey(),
    /** False while it is being taken; another attempt may do that when this has lasted too long. */
    done: boolean().notNull().default(false),
    received_at: moment().notNull(),
  },
  (t) => [index('received_mails_received_at_idx').on(t.received_at)],
)

/** Has one row while mail is configured; triggers then record changes for mail. */
export const mailService = pgTable('mail_service', { id: bigint({ mode: 'number' }).primaryKey() })
