import { z } from 'zod'
import { adminPage, signedIn } from '../../../access/rules.js'
import { notFound } from '../../../failures.js'
import { str } from '../../../http/params.js'
import { startImpersonation, stopImpersonation } from '../../../services/identity/sign-in/sessions.js'
import { t } from '../../language/language.js'
import { form, Redirect } from '../../page.js'
import { accountOf, adminUserPage } from './user.js'
import { adminUserPath } from './user-fields.js'

export const impersonationStart = form({
  at: '/admin/users/:username/impersonate',
  access: adminPage,
  input: z.object({ username: str() }),
  on: adminUserPage,
  async submit({ ctx, input, view }) {
    const user = await accountOf(ctx, input)
    if (!view.session) throw notFound()
    await startImpersonation(ctx, view.session, user)
    return new Redirect('/dashboard')
  },
})

export const impersonationEnd = form({
  at: '/-/impersonation',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: false,
  openWhen: ['read_only'],
  async submit({ ctx, view: { session } }) {
    if (!session?.impersonator) throw notFound()
    await stopImpersonation(ctx, session)
    const { username } = session.caller.user
    return new Redirect(adminUserPath(username), { notice: t('You no longer act as {username}.', { username }) })
  },
})
