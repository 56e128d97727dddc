import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { oneOfOrBlank, opt, str } from '../../../http/params.js'
import { ThemeSwitch } from '../../components/theme-switch.js'
import { t } from '../../language/language.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { chosenTheme } from '../../session/theme.js'
import { THEMES } from '../../themes.js'

const AT = '/-/theme'
const returnTo = { return_to: opt(str()) }

/** The choice of colours for visitors; those who are signed in have it in the menu of their account (WB-522). */
export const themePage = page({
  at: AT,
  robots: 'disallow',
  access: anyone,
  input: z.object(returnTo),
  show: async ({ input, view }) => ({
    title: t('Colours'),
    body: (
      <>
        <h1>{t('Colours')}</h1>
        <ThemeSwitch view={view} returnTo={localPath(input.return_to, AT)} />
      </>
    ),
    narrow: true,
  }),
})

export const themeForm = form({
  at: AT,
  access: anyone,
  openWhen: ['password_expired', 'second_factor_missing', 'read_only'],
  input: z.object({ ...returnTo, theme: opt(oneOfOrBlank(THEMES)) }),
  on: themePage,
  submit: async ({ ctx, input }) => new Redirect(localPath(input.return_to), { cookies: [chosenTheme(ctx, input.theme ?? null)] }),
})
