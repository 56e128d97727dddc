import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { noSuchRoute, refused } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, str } from '../../../http/params.js'
import { giveSecondFactor, signInByKey } from '../../../services/identity/sign-in/second-factor.js'
import { challengeForUse, keysWork, listSecurityKeys } from '../../../services/identity/sign-in/security-keys.js'
import { endSession } from '../../../services/identity/sign-in/sessions.js'
import { KeyForm, keyAnswer } from '../../components/accounts/key-form.js'
import { Field, FormFaults, FormTag, Hidden, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { enter, secondFactorPath } from './sign-in.js'

const AT = secondFactorPath()
const returnTo = { return_to: opt(str()) }

const passkey = keyAnswer.extend(returnTo)
const secondFactor = passkey.extend({ user: z.object({ otp_attempt: orDefault(documented.filled({ maxLength: 64 }), '') }).optional() })

/** The second step of signing in with a password (WB-20). */
export const secondFactorPage = page({
  at: AT,
  access: anyone,
  ownerOnly: true,
  input: z.object(returnTo),
  async show({ ctx, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!view.session) return new Redirect(`/users/sign_in?return_to=${encodeURIComponent(to)}`)
    const { id } = view.session.caller.user
    const challenge = keysWork(ctx) && (await listSecurityKeys(ctx, id)).length > 0 ? await challengeForUse(ctx, id) : null
    const f = fieldsOf(view, secondFactor)
    return {
      title: t('Second factor'),
      narrow: true,
      scripted: challenge !== null,
      headers: { 'cache-control': 'no-store' },
      body: (
        <>
          <h1>{t('Second factor')}</h1>
          <p class="dim">{t('Give the code that your authenticator application shows, or one of your recovery codes.')}</p>
          <FormTag view={view} action={AT}>
            <FormFaults view={view} />
            <Hidden {...f.return_to} value={to} />
            <Field {...f.user.otp_attempt} label={t('Code')} autocomplete="one-time-code" autofocus />
            <Submit label={t('Verify')} />
          </FormTag>
          {challenge && (
            <KeyForm view={view} fields={f} action={AT} challenge={challenge} label={t('Use a security key')} class="">
              <Hidden {...f.return_to} value={to} />
            </KeyForm>
          )}
          <p>
            <a href={`${view.links.prefix}/users/sign_in`}>{t('Sign in as somebody else')}</a>
          </p>
        </>
      ),
    }
  },
})

export const secondFactorForm = form({
  at: AT,
  access: anyone,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: secondFactor,
  on: secondFactorPage,
  async submit({ ctx, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!view.session) return new Redirect(`/users/sign_in?return_to=${encodeURIComponent(to)}`, { alert: t('It took too long. Sign in again.') })
    const given = input.user ? input.user.otp_attempt : { sealed: input.challenge, response: input.device_response }
    const started = await giveSecondFactor(ctx, view.session, given)
    if (started === 'ended')
      return new Redirect(`/users/sign_in?return_to=${encodeURIComponent(to)}`, { alert: t('Too many wrong codes. Sign in again.') })
    if (started === 'wrong') throw refused(input.user ? t('The code is wrong, or was used before') : t('The security key was not accepted'))
    return enter(ctx, started, to)
  },
})

const PASSKEY = '/users/sign_in/passkey'

/** Signing in without a name and a password (WB-28). It has a script, which the page of sign-in does without. */
export const passkeyPage = page({
  at: PASSKEY,
  access: anyone,
  ownerOnly: true,
  input: z.object(returnTo),
  async show({ ctx, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!keysWork(ctx)) throw noSuchRoute()
    const f = fieldsOf(view, passkey)
    return {
      title: t('Sign in with a passkey'),
      narrow: true,
      scripted: true,
      headers: { 'cache-control': 'no-store' },
      body: (
        <>
          <h1>{t('Sign in with a passkey')}</h1>
          <FormFaults view={view} />
          <KeyForm view={view} fields={f} action={PASSKEY} challenge={await challengeForUse(ctx, null)} label={t('Use a passkey')}>
            <Hidden {...f.return_to} value={to} />
          </KeyForm>
          <noscript>
            <p>{t('Passkeys need scripts, which are off in this browser.')}</p>
          </noscript>
          <p>
            <a href={`${view.links.prefix}/users/sign_in?return_to=${encodeURIComponent(to)}`}>{t('Sign in with a password')}</a>
          </p>
        </>
      ),
    }
  },
})

export const passkeyForm = form({
  at: PASSKEY,
  access: anyone,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: passkey,
  on: passkeyPage,
  async submit({ ctx, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!keysWork(ctx)) throw noSuchRoute()
    const started = await signInByKey(ctx, { sealed: input.challenge, response: input.device_response })
    if (!started) throw refused(t('The passkey was not accepted, or the account may not sign in'))
    if (view.session) await endSession(ctx, view.session.caller.user, view.session.id)
    return enter(ctx, started, to)
  },
})
