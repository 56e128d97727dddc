import { eq } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { applicationSettings } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Settings, withDefaults } from './settings-table.js'

/** The settings row; it does not exist until the settings are first shown. */
export const selectSettings = statement('application settings', (db) => db.select().from(applicationSettings).where(eq(applicationSettings.id, 1)))

/** How long settings are cached, and so how late a process may see a change made by another one. */
const CACHE_TTL_MS = 1_000

/** Caches the settings: at most one query per second. */
export class SettingsCache {
  #cached: { until: number; settings: Promise<Settings> } | undefined

  /** `configuredAvatarService`: the URL template of the configuration, with `%{hash}`. */
  constructor(
    private readonly db: Database,
    private readonly configuredAvatarService: string | undefined,
  ) {}

  read(): Promise<Settings> {
    const now = Date.now()
    if (this.#cached && this.#cached.until > now) return this.#cached.settings
    const settings = selectSettings(this.db, null)
      .execute()
      .then(([row]) => withDefaults(row?.values ?? {}))
    this.#cached = { until: now + CACHE_TTL_MS, settings }
    settings.catch(() => this.invalidate())
    return settings
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
