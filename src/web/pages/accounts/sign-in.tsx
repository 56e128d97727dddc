import { z } from 'zod'
import { anyone, signedIn } from '../../../access/rules.js'
import { REMEMBERED_MS, sessionCookie } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import { refused } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, opt, orDefault, str } from '../../../http/params.js'
import { WholeAddress } from '../../../http/redirect.js'
import { signInByDirectory } from '../../../services/identity/sign-in/ldap.js'
import { endSessionAddress } from '../../../services/identity/sign-in/openid.js'
import { keysWork } from '../../../services/identity/sign-in/security-keys.js'
import { endSession, type StartedSession, signIn } from '../../../services/identity/sign-in/sessions.js'
import { labelOf, signOn, signOnProviders } from '../../../services/identity/sign-in/sign-on.js'
import { SignOnButtons } from '../../components/accounts/sign-on-buttons.js'
import { Checkbox, Field, FormFaults, FormTag, Hidden, SelectField, Submit } from '../../components/form.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { visitorCookie } from '../../session/cookies.js'
import { leadOut } from './lead-out.js'

const PATH = '/users/sign_in'
/** Where a user with a second factor gives it. */
export const secondFactorPath = (returnTo?: string) =>
  `/users/sign_in/second_factor${returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`}`
const returnTo = { return_to: opt(str()) }

const credentials = z.object({
  ...returnTo,
  user: z.object({ login: documented.filled(), password: documented.filled(), provider: opt(str()), remember_me: orDefault(bool(), false) }),
})

export const signInPage = page({
  at: PATH,
  access: anyone,
  ownerOnly: true,
  input: z.object(returnTo),
  async show({ ctx, caller, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    const { settings, links } = view
    const { openid, ldap: directories, header } = await signOnProviders(ctx)
    if (header && view.proxied) return enter(ctx, await signOn(ctx, header, view.proxied), to)
    const passwords = settings.password_authentication_enabled_for_web
    const hasForm = passwords || directories.length > 0
    const text = await renderText(ctx, caller, null, settings.sign_in_text)
    const f = fieldsOf(view, credentials)
    return {
      title: t('Sign in'),
      narrow: true,
      headers: { 'cache-control': 'no-store' },
      body: (
        <>
          <h1>{t('Sign in to Roost')}</h1>
          {text && <Prose html={text} />}
          {hasForm ? (
            <FormTag view={view} action={PATH}>
              <FormFaults view={view} />
              {directories.length > 0 && (
                <SelectField
                  {...f.user.provider}
                  label={t('Account')}
                  choices={[
                    ...directories.map((one) => ({ value: one.name, label: labelOf(one) })),
                    ...(passwords ? [{ value: '', label: t('Account of this service') }] : []),
                  ]}
                />
              )}
              <Hidden {...f.return_to} value={to} />
              <Field {...f.user.login} label={t('Username or e-mail')} autocomplete="username" autofocus />
              <Field {...f.user.password} label={t('Password')} type="password" autocomplete="current-password" />
              <div class="row">
                <Checkbox {...f.user.remember_me} label={t('Remember me')} />
                {ctx.mail && <a href={`${links.prefix}/users/password/new`}>{t('Forgot it?')}</a>}
              </div>
              <Submit label={t('Sign in')} />
            </FormTag>
          ) : (
            openid.length === 0 && <p>{t('Signing in with a password is switched off here.')}</p>
          )}
          {hasForm && openid.length > 0 && <p class="or">{t('or')}</p>}
          <SignOnButtons view={view} providers={openid} returnTo={to} />
          {keysWork(ctx) && (
            <p>
              <a href={`${links.prefix}/users/sign_in/passkey?return_to=${encodeURIComponent(to)}`}>{t('Sign in with a passkey')}</a>
            </p>
          )}
          {settings.signup_enabled && (
            <p>
              <Phrase text="{link} if you have no account." link={<a href={`${links.prefix}/users/sign_up`}>{t('Sign up')}</a>} />
            </p>
          )}
        </>
      ),
    }
  },
})

export const signInForm = form({
  at: PATH,
  access: anyone,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: credentials,
  on: signInPage,
  async submit({ ctx, input, view }) {
    const { login, password, provider: name, remember_me: remember } = input.user
    const given = { login: login.trim(), password, remember }
    const directory = name ? (await signOnProviders(ctx)).ldap.find((one) => one.name === name) : undefined
    const started = directory ? await signInByDirectory(ctx, directory, given) : name ? null : await signIn(ctx, given)
    if (!started) throw refused(t('The username, address or password is wrong, or the account may not sign in'))
    if (view.session) await endSession(ctx, view.session.impersonator ?? view.session.caller.user, view.session.id)
    return enter(ctx, started, localPath(input.return_to))
  },
})

/** Hands a new session to the browser, and leads on, or first to the second factor. */
export function enter(
  ctx: Pick<Context, 'links'>,
  { value, remembered, awaitsSecondFactor }: StartedSession,
  path: string,
  { notice }: { notice?: string } = {},
): Redirect {
  const to = awaitsSecondFactor ? secondFactorPath(path) : path
  const maxAge = remembered ? REMEMBERED_MS / 1000 : undefined
  return new Redirect(to, {
    ...(notice !== undefined && { notice }),
    cookies: [
      { name: sessionCookie(ctx), value, maxAge },
      { name: visitorCookie(ctx), value: null },
    ],
  })
}

export const signOutForm = form({
  at: '/users/sign_out',
  access: signedIn,
  ownerOnly: false,
  openWhen: ['password_expired', 'second_factor_missing', 'read_only'],
  async submit({ ctx, view }) {
    const provider = view.session && (await endSession(ctx, view.session.impersonator ?? view.session.caller.user, view.session.id))
    const elsewhere = (await endSessionAddress(ctx, provider)) ?? view.settings.after_sign_out_path
    const cookies = [{ name: sessionCookie(ctx), value: null }]
    if (elsewhere !== null) return { ...leadOut(t('You are signed out here'), new WholeAddress(elsewhere)), cookies }
    return new Redirect(PATH, { notice: t('You are signed out.'), cookies })
  },
})
