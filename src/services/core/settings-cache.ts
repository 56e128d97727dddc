import { eq } from 'drizzle-orm'
import type { Database } from '../../db/client.js'
import { applicationSettings } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { DEFAULTS, type Settings } from './settings-table.js'

/** The row of the settings; none before they are first shown. */
export const storedSettings = statement('application settings', (db) => db.select().from(applicationSettings).where(eq(applicationSettings.id, 1)))

/** Milliseconds for which settings are cached, and so the delay after which one process sees a change by another. */
const FRESH = 1_000

/** The settings that were read last: at most one query a second. */
export class SettingsCache {
  #kept: { until: number; settings: Promise<Settings> } | undefined

  constructor(private readonly db: Database) {}

  read(): Promise<Settings> {
    const now = Date.now()
    if (this.#kept && this.#kept.until > now) return this.#kept.settings
    const settings = storedSettings(this.db, null)
      .execute()
      .then(([row]) => ({ ...DEFAULTS, ...(row?.values as Partial<Settings> | undefined) }))
    this.#kept = { until: now + FRESH, settings }
    settings.catch(() => this.forget())
    return settings
  }

  /** The settings were changed: the next reader reads them again. */
  forget(): void {
    this.#kept = undefined
  }
}
