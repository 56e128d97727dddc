import type { Context } from '../../context.js'
import { THEMES, type Theme } from '../themes.js'
import { cookieName, YEAR_S } from './cookies.js'

/** The cookie of the chosen colours: a choice of the browser, as a screen is light or dark for whoever sits there. */
export const themeCookie = (ctx: Pick<Context, 'links'>) => cookieName(ctx, 'theme')

export const readTheme = (value: string | undefined): Theme | null => THEMES.find((theme) => theme === value) ?? null

/** The cookie after a choice; null: the colours of the system. */
export const chosenTheme = (ctx: Pick<Context, 'links'>, theme: Theme | null) => ({ name: themeCookie(ctx), value: theme, maxAge: YEAR_S })
