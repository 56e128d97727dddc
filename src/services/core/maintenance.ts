import type { Context } from '../../context.js'
import { readSettings, type Settings } from './settings.js'

/** What is said while the service is read-only; null while it is not (WB-180). */
export const readOnlyText = ({ maintenance_mode: on, maintenance_mode_message: message }: Settings): string | null =>
  on ? `This service is read-only at the moment${message ? `: ${message}` : '. Please try again later.'}` : null

export const readOnlyNow = async (ctx: Pick<Context, 'caches'>): Promise<string | null> => readOnlyText(await readSettings(ctx))
