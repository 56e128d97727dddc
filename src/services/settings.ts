import { eq } from 'drizzle-orm'
import type { Context } from '../context.js'
import { applicationSettings } from '../db/schema/index.js'
import { statement } from '../db/statement.js'
import { VISIBILITY_LEVEL, type Visibility } from '../lib/visibility.js'

/** What an administrator can set, as far as something in the service acts on it; named once, here, with its default. */
export const DEFAULTS = {
  default_branch_protection: 2 as 0 | 1 | 2,
  default_group_visibility: 'private' as Visibility,
  default_project_visibility: 'private' as Visibility,
  default_projects_limit: 100_000,
  default_snippet_visibility: 'private' as Visibility,
  /** Least bits of SSH keys: 0 any, -1 none of the kind. */
  dsa_key_restriction: 0,
  ecdsa_key_restriction: 0,
  ed25519_key_restriction: 0,
  enabled_git_access_protocol: null as 'ssh' | 'http' | null,
  password_authentication_enabled_for_git: true,
  password_authentication_enabled_for_web: true,
  repository_storages: null as string[] | null,
  rsa_key_restriction: 0,
  restricted_visibility_levels: null as Visibility[] | null,
  shared_runners_enabled: true,
  user_default_external: false,
}

export type Settings = typeof DEFAULTS

const read = statement('application settings', (db) =>
  db.select({ values: applicationSettings.values }).from(applicationSettings).where(eq(applicationSettings.id, 1)),
)

/** The settings in force now. */
export async function readSettings(ctx: Context): Promise<Settings> {
  const [row] = await read(ctx.db, null).execute()
  return { ...DEFAULTS, ...(row?.values as Partial<Settings> | undefined) }
}

/** Whether a level may not be used by people who are no administrators. */
export const isRestricted = (settings: Settings, level: number) =>
  settings.restricted_visibility_levels?.some((name) => VISIBILITY_LEVEL[name] === level) ?? false
