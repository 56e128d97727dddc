import { asc, eq, gt, sql } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { applicationSettings, broadcastMessages } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
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

/** How long settings are cached, and so how late a process may see a change made by another one. */
const CACHE_TTL_MS = 1_000

/** Caches the settings, and the messages for all pages: at most one read of both per second. */
export class SettingsCache {
  #cached: { until: number; settings: Promise<Settings>; broadcasts: Promise<BroadcastMessage[]> } | undefined

  /** `configuredAvatarService`: the URL template of the configuration, with `%{hash}`. */
  constructor(
    private readonly db: Database,
    private readonly configuredAvatarService: string | undefined,
  ) {}

  read = (): Promise<Settings> => this.#current().settings

  /** The messages that are over later than now. */
  broadcasts = (): Promise<BroadcastMessage[]> => this.#current().broadcasts

  #current() {
    const now = Date.now()
    if (this.#cached && this.#cached.until > now) return this.#cached
    const broadcasts = selectBroadcasts(this.db, null).execute()
    const settings = Promise.all([selectSettings(this.db, null).execute(), broadcasts]).then(([[row]]) => withDefaults(row?.values ?? {}))
    this.#cached = { until: now + CACHE_TTL_MS, settings, broadcasts }
    for (const read of [settings, broadcasts]) read.catch(() => this.invalidate())
    return this.#cached
  }

  /** The URL template of the avatar service; null if there is none, or the settings turn it off (G-83). */
  async avatarService(): Promise<string | null> {
    const configured = this.configuredAvatarService
    return configured !== undefined && (await this.read()).avatarsvc_enabled ? configured : null
  }

  /** Makes the next read query the database. */
  invalidate(): void {
    this.#cached = undefined
  }
}
