import { asc, eq, gt, sql } from 'drizzle-orm'
import { callerName, type LiveLimits } from '../../access/request-limit.js'
import type { Database } from '../../db/client.js'
import { applicationSettings, broadcastMessages, instanceFeatures, requestLimits } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { Gates } from '../../rules/features/instance-features.js'
import { type Settings, withDefaults } from './settings-table.js'

/** The settings row; it does not exist until the settings are first shown. */
export const selectSettings = statement('application settings', (db) => db.select().from(applicationSettings).where(eq(applicationSettings.id, 1)))

export type BroadcastMessage = typeof broadcastMessages.$inferSelect

/** The most messages that pages show or will show. */
const MAX_BROADCASTS = 20

const selectBroadcasts = statement('broadcast messages', (db) =>
  db
    .select()
    .from(broadcastMessages)
    .where(gt(broadcastMessages.ends_at, sql`pg_catalog.now()`))
    .orderBy(asc(broadcastMessages.starts_at), asc(broadcastMessages.id))
    .limit(MAX_BROADCASTS),
)

/** The most callers with limits of their own. */
export const MAX_OWN_LIMITS = 1_000

const selectLimits = statement('limits of requests', (db) => db.select().from(requestLimits).orderBy(asc(requestLimits.id)).limit(MAX_OWN_LIMITS))

/** The most features that administrators have switched. */
export const MAX_FEATURES = 500

const selectFeatures = statement('instance features', (db) => db.select().from(instanceFeatures).limit(MAX_FEATURES))

/** How long settings are cached, and so how late a process may see a change made by another one. */
export const SETTINGS_TTL_MS = 1_000

export interface KnownSettings {
  settings: Settings
  broadcasts: BroadcastMessage[]
}

interface Known {
  until: number
  settings: Promise<Settings>
  broadcasts: Promise<BroadcastMessage[]>
  limits: Promise<LiveLimits>
  features?: Promise<Map<string, Gates>>
}

/** Caches the settings, and the messages for all pages: at most one read of both per second. */
export class SettingsCache {
  #last: KnownSettings = { settings: withDefaults({}), broadcasts: [] }
  #cached: Known | undefined

  /** `configuredAvatarService`: the URL template of the configuration, with `%{hash}`. */
  constructor(
    private readonly db: Database,
    private readonly configuredAvatarService: string | undefined,
  ) {}

  read = (): Promise<Settings> => this.#current().settings

  /** The messages that are over later than now. */
  broadcasts = (): Promise<BroadcastMessage[]> => this.#current().broadcasts

  /** The limits of requests that administrators have set. */
  limits = (): Promise<LiveLimits> => this.#current().limits

  /** The features that administrators have switched, by name; read when they are asked for. */
  features(): Promise<Map<string, Gates>> {
    const current = this.#current()
    current.features ??= selectFeatures(this.db, null)
      .execute()
      .then((rows) => new Map(rows.map((row) => [row.name, row])))
    current.features.catch(() => this.invalidate())
    return current.features
  }

  /** What was read last: for pages that say that the database does not answer. */
  last = (): KnownSettings => this.#last

  #current(): Known {
    const now = Date.now()
    if (this.#cached && this.#cached.until > now) return this.#cached
    const broadcasts = selectBroadcasts(this.db, null).execute()
    const own = selectLimits(this.db, null).execute()
    const settings = Promise.all([selectSettings(this.db, null).execute(), broadcasts]).then(([[row]]) => withDefaults(row?.values ?? {}))
    const limits = Promise.all([settings, own]).then(([values, rows]) => limitsOf(values, rows))
    this.#cached = { until: now + SETTINGS_TTL_MS, settings, broadcasts, limits }
    void Promise.all([settings, broadcasts]).then(
      ([values, messages]) => {
        this.#last = { settings: values, broadcasts: messages }
      },
      () => undefined,
    )
    for (const read of [settings, broadcasts, limits]) read.catch(() => this.invalidate())
    return this.#cached
  }

  /** The URL template of the avatar service; null if there is none, or the settings turn it off (G-83). */
  async avatarService(): Promise<string | null> {
    return this.avatarServiceOf(await this.read())
  }

  avatarServiceOf({ avatarsvc_enabled: isEnabled }: Settings): string | null {
    return isEnabled ? (this.configuredAvatarService ?? null) : null
  }

  /** Makes the next read query the database. */
  invalidate(): void {
    this.#cached = undefined
  }
}

const limitsOf = (values: Settings, own: (typeof requestLimits.$inferSelect)[]): LiveLimits => ({
  unauthenticated: {
    enabled: values.throttle_unauthenticated_enabled,
    requests: values.throttle_unauthenticated_requests_per_period,
    period: values.throttle_unauthenticated_period_in_seconds,
  },
  api: {
    enabled: values.throttle_authenticated_api_enabled,
    requests: values.throttle_authenticated_api_requests_per_period,
    period: values.throttle_authenticated_api_period_in_seconds,
  },
  web: {
    enabled: values.throttle_authenticated_web_enabled,
    requests: values.throttle_authenticated_web_requests_per_period,
    period: values.throttle_authenticated_web_period_in_seconds,
  },
  own: new Map(own.map(({ user_id, address, requests }) => [callerName(user_id, address), requests])),
})
