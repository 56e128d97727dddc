import { eq } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { applicationSettings } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { type Settings, withDefaults } from './settings-table.js'

/** The settings row; it does not exist until the settings are first shown. */
export const storedSettings = statement('application settings', (db) => db.select().from(applicationSettings).where(eq(applicationSettings.id, 1)))

/** How long settings are cached, and so how late a process may see a change made by another one. */
const CACHE_TTL_MS = 1_000

/** Caches the settings: at most one query per second. */
export class SettingsCache {
  #cached: { until: number; settings: Promise<Settings> } | undefined

  constructor(private readonly db: Database) {}

  read(): Promise<Settings> {
    const now = Date.now()
    if (this.#cached && this.#cached.until > now) return this.#cached.settings
    const settings = storedSettings(this.db, null)
      .execute()
      .then(([row]) => withDefaults(row?.values ?? {}))
    this.#cached = { until: now + CACHE_TTL_MS, settings }
    settings.catch(() => this.invalidate())
    return settings
  }

  /** Makes the next read query the database. */
  invalidate(): void {
    this.#cached = undefined
  }
}
