import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { endOfGrace } from '../../../access/sessions.js'
import { conflict, forbidden } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { opt, orDefault, rowId, str } from '../../../http/params.js'
import { askForSecondFactor } from '../../../services/identity/sign-in/demanded-factor.js'
import {
  countRecoveryCodes,
  disableOwnSecondFactor,
  enableSecondFactor,
  renewRecoveryCodes,
  type Setup,
  setupOf,
  skipSecondFactor,
} from '../../../services/identity/sign-in/second-factor.js'
import {
  addSecurityKey,
  type Challenge,
  challengeForNew,
  keysWork,
  listSecurityKeys,
  removeSecurityKey,
  type SecurityKey,
} from '../../../services/identity/sign-in/security-keys.js'
import { KeyForm, keyAnswer } from '../../components/accounts/key-form.js'
import { QrCode } from '../../components/accounts/qr-code.js'
import { ActionButton, Copied, Field, FormFaults, FormTag, Hidden, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'

const AT = '/-/profile/two_factor_auth'

/** Pages with a secret. */
const SECRET = { 'cache-control': 'no-store' }

export const ownSecondFactorPage = page({
  at: AT,
  formerly: ['/profile/two_factor_auth'],
  access: signedIn,
  ownerOnly: true,
  openWhen: ['second_factor_missing'],
  input: z.object({ setup: opt(str()) }),
  async show({ ctx, caller, input, view }) {
    if (view.session?.twoFactor) {
      const [codes, keys] = await Promise.all([countRecoveryCodes(ctx, caller.user.id), listSecurityKeys(ctx, caller.user.id)])
      const challenge = keysWork(ctx) ? await challengeForNew(ctx, caller.user) : null
      return settingsPage(
        view,
        <>
          <WhenOn view={view} codes={codes} />
          <Keys view={view} keys={keys} challenge={challenge} />
          <TurningOff view={view} />
        </>,
      )
    }
    const demand = view.session?.demand
    const asked = demand && { ...demand, askedAt: await askForSecondFactor(ctx, caller.user.id, view.now) }
    const end = asked && endOfGrace(asked, view.now)
    return settingsPage(
      view,
      <>
        {end && <Demand view={view} end={end} />}
        <WhenOff view={view} setup={setupOf(ctx, caller.user, input.setup)} />
      </>,
    )
  },
})

const settingsPage = (view: PageView, body: ComponentChildren): Html => ({
  title: t('Second factor'),
  headers: SECRET,
  body: (
    <SettingsLayout view={view} at={AT} title={t('Second factor')}>
      {body}
    </SettingsLayout>
  ),
})

/** That the second factor is not optional, and how long it can wait. */
const Demand = ({ view, end }: { view: PageView; end: Date }) => (
  <>
    <p class="flash alert">
      <Phrase
        text="{strong} This server, or a group of yours, asks all for one. Access tokens and SSH keys go on without it."
        strong={<strong>{t('You need a second factor.')}</strong>}
      />
    </p>
    {end > view.now && (
      <div class="row start">
        <span>
          <Phrase text="It can wait until {day}." day={dayText(end)} />
        </span>
        <ActionButton view={view} action={`${AT}/skip`} method="PATCH" label={t('Later')} />
      </div>
    )}
  </>
)

const enabling = z.object({
  setup: orDefault(str(), ''),
  pin_code: orDefault(documented.filled({ maxLength: 64 }), ''),
  current_password: orDefault(documented.filled(), ''),
})

const WhenOff = ({ view, setup }: { view: PageView; setup: Setup }) => {
  const f = fieldsOf(view, enabling)
  return (
    <>
      <p>
        {t(
          'With a second factor, a password that somebody has found out is not enough to sign in as you. Turning it on ends your other sessions, and programs that use your password for Git or the API need an access token from then on.',
        )}
      </p>
      <ol>
        <li>{t('Install an authenticator application for one-time passwords (TOTP) on your phone or computer.')}</li>
        <li>{t('Let it read this picture, or type the key into it.')}</li>
        <li>{t('Give the code that it then shows.')}</li>
      </ol>
      <QrCode text={setup.uri} label={t('The key below, as a QR code')} />
      <Copied id="otp_key" label={t('Key')} value={setup.secret.replace(/(.{4})(?=.)/g, '$1 ')} />
      <FormTag view={view} action={AT}>
        <FormFaults view={view} />
        <Hidden {...f.setup} value={setup.sealed} />
        <Field
          {...f.pin_code}
          label={t('Code')}
          hint={t('Six digits, as the application shows them now.')}
          inputmode="numeric"
          autocomplete="one-time-code"
        />
        <Field {...f.current_password} label={t('Your password')} type="password" autocomplete="current-password" />
        <Submit label={t('Turn on')} />
      </FormTag>
    </>
  )
}

const renewal = z.object({ password: orDefault(documented.filled(), '') })

const WhenOn = ({ view, codes }: { view: PageView; codes: number }) => {
  const f = fieldsOf(view, renewal)
  return (
    <>
      <p>
        <Phrase
          text="{strong} After your password you are asked for a code of your authenticator application. Programs use an {link} in place of the password."
          strong={<strong>{t('It is on.')}</strong>}
          link={<a href={`${view.links.prefix}/-/profile/personal_access_tokens`}>{t('access token')}</a>}
        />
      </p>
      <FormFaults view={view} />
      <h2>{t('Recovery codes')}</h2>
      <p>
        <Phrase
          text="{left} Each stands for a code of the application once. New ones replace all that you have."
          left={codes === 0 ? t('You have none left.') : t('You have {codes} left.', { codes })}
        />
      </p>
      <FormTag view={view} action={`${AT}/codes`}>
        <Field {...f.password} label={t('Your password')} type="password" autocomplete="current-password" />
        <Submit label={t('Make new recovery codes')} class="" />
      </FormTag>
    </>
  )
}

const newKey = z.object({
  name: orDefault(documented.filled({ maxLength: 100 }), ''),
  key_password: orDefault(documented.filled(), ''),
  ...keyAnswer.shape,
})

const Keys = ({ view, keys, challenge }: { view: PageView; keys: SecurityKey[]; challenge: Challenge | null }) => {
  const f = fieldsOf(view, newKey)
  return (
    <>
      <h2>{t('Security keys and passkeys')}</h2>
      <p>{t('A key stands for a code of the application. One that asks for a PIN, a finger or a face signs you in alone, as a passkey.')}</p>
      <Rows empty={t('You have none.')}>
        {keys.map(({ id, name, created_at, last_used_at }) => (
          <Row key={id} actions={<KeyRemoval view={view} id={id} name={name} />}>
            <strong>{name}</strong>
            <span class="dim">
              <Phrase text="Added {time}" time={<Time at={created_at} />} />
              <LastUsed at={last_used_at} />
            </span>
          </Row>
        ))}
      </Rows>
      {challenge ? (
        <KeyForm view={view} fields={f} action={`${AT}/keys`} challenge={challenge} makes label={t('Add a key')} class="">
          <Field {...f.name} label={t('Name')} hint={t('What you know it by, such as “blue key”.')} />
          <Field {...f.key_password} label={t('Your password for the key')} type="password" autocomplete="current-password" />
        </KeyForm>
      ) : (
        <p class="dim">{t('Browsers offer keys only to servers at an address that begins with https.')}</p>
      )}
    </>
  )
}

const keyRemoval = z.object({ removal_password: orDefault(documented.filled(), '') })

/** A key is taken away with the password, as the second factor is turned off. */
const KeyRemoval = ({ view, id, name }: { view: PageView; id: number; name: string }) => {
  const f = fieldsOf(view, keyRemoval)
  return (
    <details open={view.submitted?.faults['removal_password'] !== undefined}>
      <summary>
        <Phrase text="Remove{name}" name={<span class="hidden"> {name}</span>} />
      </summary>
      <FormTag view={view} action={`${AT}/keys/${id}`} method="DELETE">
        <Field {...f.removal_password} within={`key_${id}`} label={t('Your password')} type="password" autocomplete="current-password" />
        <Submit label={t('Remove the key')} class="danger" />
      </FormTag>
    </details>
  )
}

const disabling = z.object({ current_password: orDefault(documented.filled(), '') })

const TurningOff = ({ view }: { view: PageView }) => {
  const f = fieldsOf(view, disabling)
  return (
    <>
      <h2>{t('Turn it off')}</h2>
      <p>{t('From then on your password is enough to sign in. Recovery codes and security keys are removed.')}</p>
      <FormTag view={view} action={AT} method="DELETE">
        <Field {...f.current_password} label={t('Password')} type="password" autocomplete="current-password" />
        <Submit label={t('Turn off')} class="danger" />
      </FormTag>
    </>
  )
}

/** The page that shows new recovery codes, which is the only one. */
const codesPage = (view: PageView, title: string, codes: string[]): Html => ({
  title,
  headers: SECRET,
  body: (
    <SettingsLayout view={view} at={AT} title={title}>
      <p>
        <Phrase
          text="{strong} Print them, or keep them where you keep passwords. If you lose your authenticator application, each of them signs you in once."
          strong={<strong>{t('This is the only time that these recovery codes are shown.')}</strong>}
        />
      </p>
      <pre id="codes">
        <code>{codes.join('\n')}</code>
      </pre>
      <p class="row start">
        <button type="button" class="copy" data-copy="codes" hidden>
          {t('Copy')}
        </button>
        <a href={`${view.links.prefix}/`}>{t('I have kept them: go on')}</a>
      </p>
    </SettingsLayout>
  ),
})

export const enablingForm = form({
  at: AT,
  access: signedIn,
  ownerOnly: true,
  openWhen: ['second_factor_missing'],
  input: enabling,
  on: ownSecondFactorPage,
  async submit({ ctx, caller, input, view }) {
    const { setup, pin_code: code, current_password: password } = input
    const codes = await enableSecondFactor(ctx, caller.user.id, { setup, code, password, session: view.session?.id })
    return codesPage(view, t('The second factor is on'), codes)
  },
})

export const recoveryCodesForm = form({
  at: `${AT}/codes`,
  access: signedIn,
  ownerOnly: true,
  input: renewal,
  on: ownSecondFactorPage,
  async submit({ ctx, caller, input, view }) {
    return codesPage(view, t('New recovery codes'), await renewRecoveryCodes(ctx, caller.user.id, input.password))
  },
})

export const disablingForm = form({
  at: AT,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['second_factor_missing'],
  input: disabling,
  on: ownSecondFactorPage,
  async submit({ ctx, caller, input }) {
    await disableOwnSecondFactor(ctx, caller.user.id, input.current_password)
    return new Redirect(AT, { notice: t('The second factor is off.') })
  },
})

export const skippingForm = form({
  at: `${AT}/skip`,
  method: 'PATCH',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['second_factor_missing'],
  async submit({ ctx, view }) {
    const demand = view.session?.demand
    if (!view.session || !demand) throw conflict(t('No second factor is demanded'))
    if (endOfGrace(demand, view.now) <= view.now) throw forbidden(t('the time in which it could be skipped has ended'))
    await skipSecondFactor(ctx, view.session.id)
    return new Redirect('/')
  },
})

export const securityKeyForm = form({
  at: `${AT}/keys`,
  access: signedIn,
  ownerOnly: true,
  input: newKey,
  on: ownSecondFactorPage,
  async submit({ ctx, caller, input }) {
    const { name, key_password: password, challenge: sealed, device_response: response } = input
    await addSecurityKey(ctx, caller.user.id, { name, password, sealed, response })
    return new Redirect(AT, { notice: t('The key “{name}” is added.', { name: name.trim() }) })
  },
})

export const securityKeyRemoval = form({
  at: `${AT}/keys/:key_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: keyRemoval.extend({ key_id: rowId() }),
  on: ownSecondFactorPage,
  async submit({ ctx, caller, input }) {
    await removeSecurityKey(ctx, caller.user, { key: input.key_id, password: input.removal_password })
    return new Redirect(AT, { notice: t('Key removed.') })
  },
})
