import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of the migrations: beside `dist` for the built program, beside `src` for tests. */
export function migrationsFolder(): string {
  const candidates = ['../migrations', '../../migrations'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return candidates.find((path) => existsSync(`${path}/meta/_journal.json`)) ?? (candidates[0] as string)
}
