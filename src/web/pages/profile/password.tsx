import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { sessionCookie } from '../../../access/sessions.js'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { orDefault } from '../../../http/params.js'
import { changeOwnPassword, checkOwnPassword } from '../../../services/identity/own-password.js'
import { getUser } from '../../../services/identity/users.js'
import { removeUser } from '../../../services/operations/user-removal.js'
import { Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { accountPage, accountRemoval } from './profile.js'

const AT = '/-/profile/password/edit'
const EXPIRED = '/-/profile/password/new'

const Fields = ({ view, action, method }: { view: PageView; action: string; method: 'PUT' | 'POST' }) => {
  const f = fieldsOf(view, input).user
  return (
    <FormTag view={view} action={action} method={method}>
      <FormFaults view={view} />
      <Field {...f.current_password} label={t('Current password')} type="password" autocomplete="current-password" />
      <Field {...f.password} label={t('New password')} type="password" hint={t('8 to 128 characters.')} autocomplete="new-password" />
      <Field {...f.password_confirmation} label={t('New password again')} type="password" autocomplete="new-password" />
      <Submit label={t('Change password')} />
    </FormTag>
  )
}

export const ownPasswordPage = page({
  at: AT,
  formerly: ['/profile/password/edit', '/-/user_settings/password', '/-/user_settings/password/edit'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, view }) {
    return {
      title: t('Password'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('Password')}>
          <p>
            {t('A new password ends your other sessions and the access of programs that signed in with the old one. Access tokens and keys stay.')}
          </p>
          <Fields view={view} action="/-/profile/password" method="PUT" />
          {ctx.mail && (
            <p>
              <a href={`${view.links.prefix}/users/password/new`}>{t('I have forgotten my password')}</a>
            </p>
          )}
        </SettingsLayout>
      ),
    }
  },
})

/** The only page that is open with a password that an administrator has set (WB-13). */
export const expiredPasswordPage = page({
  at: EXPIRED,
  formerly: ['/profile/password/new'],
  access: signedIn,
  ownerOnly: true,
  openWhen: ['password_expired'],
  async show({ view }) {
    if (!view.session?.passwordExpired) return new Redirect(AT)
    return {
      title: t('Choose a new password'),
      narrow: true,
      body: (
        <>
          <h1>{t('Choose a new password')}</h1>
          <p>{t('An administrator has set your password. Choose one that only you know.')}</p>
          <Fields view={view} action="/-/profile/password" method="POST" />
        </>
      ),
    }
  },
})

const input = z.object({
  user: z.object({
    current_password: orDefault(documented.filled(), ''),
    password: orDefault(documented.filled(), ''),
    password_confirmation: orDefault(documented.filled(), ''),
  }),
})

const changing = (method: 'PUT' | 'POST', on: typeof ownPasswordPage, to: string) =>
  form({
    at: '/-/profile/password',
    method,
    access: signedIn,
    ownerOnly: true,
    openWhen: ['password_expired'],
    input,
    on,
    async submit({ ctx, caller, input: { user }, view }) {
      const { password_confirmation, ...change } = user
      if (password_confirmation !== change.password) throw invalidRecord({ password_confirmation: ['is not the same as the new password'] })
      await changeOwnPassword(ctx, caller, change, view.session?.id)
      return new Redirect(to, { notice: t('Password updated.') })
    },
  })

export const ownPasswordForm = changing('PUT', ownPasswordPage, AT)
export const expiredPasswordForm = changing('POST', expiredPasswordPage, '/')

export const removalForm = form({
  at: '/users',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: accountRemoval,
  on: accountPage,
  async submit({ ctx, caller, input: { password, username } }) {
    const { password_hash } = await getUser(ctx, caller.user.id)
    if (password_hash !== null) await checkOwnPassword(ctx, caller.user.id, password)
    else if (username !== caller.user.username) throw invalidRecord({ base: [t('To remove the account, type its username')] })
    await removeUser(ctx, caller.user.id, false, () => undefined)
    return new Redirect('/users/sign_in', { notice: t('Account removed.'), cookies: [{ name: sessionCookie(ctx), value: null }] })
  },
})
