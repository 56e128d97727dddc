import type { Context } from '../../context.js'
import { cookieName, YEAR_S } from './cookies.js'

/** The colours of pages that a viewer can choose; otherwise they are those of their system. */
export const THEMES = ['light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** The cookie of the chosen colours: a choice of the browser, as a screen is light or dark for whoever sits there. */
export const themeCookie = (ctx: Pick<Context, 'links'>) => cookieName(ctx, 'theme')

export const readTheme = (value: string | undefined): Theme | null => THEMES.find((theme) => theme === value) ?? null

/** The cookie after a choice; null: the colours of the system. */
export const chosenTheme = (ctx: Pick<Context, 'links'>, theme: Theme | null) => ({ name: themeCookie(ctx), value: theme, maxAge: YEAR_S })
