import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord, noSuchRoute } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { orDefault, str } from '../../../http/params.js'
import { emailFault, normaliseEmail } from '../../../rules/email.js'
import { findLink } from '../../../services/identity/links/links.js'
import { mailLink } from '../../../services/identity/links/mail.js'
import { confirmAddress, setPassword } from '../../../services/identity/links/redeem.js'
import { Field, FormFaults, FormTag, Hidden, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'
import { countBadLink, countLinkRequest } from './limits.js'

/** No token is longer. */
const MAX_TOKEN_LENGTH = 100
const token = () => orDefault(str(), '').transform((text) => text.slice(0, MAX_TOKEN_LENGTH))
/** The address of the page has a secret. */
const SECRET = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** The page of a link that does not work, which says how to get another. */
async function badLink(ctx: Context, view: PageView, again: string): Promise<Html> {
  await countBadLink(ctx)
  return {
    title: t('This link does not work'),
    narrow: true,
    status: 404,
    headers: SECRET,
    body: (
      <>
        <h1>{t('This link does not work')}</h1>
        <p>{t('It was used before, has expired, or is not complete.')}</p>
        {ctx.mail && (
          <p>
            <a href={view.links.prefix + again}>{t('Get a new link')}</a>
          </p>
        )}
      </>
    ),
  }
}

const CONFIRMATION = '/users/confirmation'
const confirmation_token = token()

/** Confirms an address with the single-use token of a link (ML-23). */
export const confirmationPage = page({
  at: CONFIRMATION,
  access: anyone,
  ownerOnly: true,
  input: z.object({ confirmation_token }),
  async show({ ctx, input, view }) {
    const link = await findLink(ctx, 'confirm', input.confirmation_token)
    if (!link) return badLink(ctx, view, '/users/confirmation/new')
    return {
      title: t('Confirm an e-mail address'),
      narrow: true,
      headers: SECRET,
      body: (
        <>
          <h1>{t('Confirm an e-mail address')}</h1>
          <p>
            <Phrase text="Is {email} your address?" email={<strong>{link.email}</strong>} />
          </p>
          <FormTag view={view} action={CONFIRMATION}>
            <input type="hidden" name="confirmation_token" value={input.confirmation_token} />
            <Submit label={t('Confirm')} />
          </FormTag>
        </>
      ),
    }
  },
})

export const confirmationForm = form({
  at: CONFIRMATION,
  access: anyone,
  ownerOnly: true,
  input: z.object({ confirmation_token }),
  ownProof: true,
  async submit({ ctx, input, view }) {
    if (!(await confirmAddress(ctx, input.confirmation_token))) return badLink(ctx, view, '/users/confirmation/new')
    return new Redirect(view.viewer ? '/-/profile/emails' : '/users/sign_in', { notice: t('Your e-mail address is confirmed.') })
  },
})

const PASSWORD = '/users/password/edit'
const reset_password_token = token()

const newPassword = z.object({ reset_password_token, password: orDefault(documented.filled(), '') })

/** Sets a password with the single-use token of a link (ML-24). */
export const passwordPage = page({
  at: PASSWORD,
  access: anyone,
  ownerOnly: true,
  input: z.object({ reset_password_token }),
  async show({ ctx, input, view }) {
    if (!(await findLink(ctx, 'reset', input.reset_password_token))) return badLink(ctx, view, '/users/password/new')
    const f = fieldsOf(view, newPassword)
    return {
      title: t('Set a new password'),
      narrow: true,
      headers: SECRET,
      body: (
        <>
          <h1>{t('Set a new password')}</h1>
          <FormTag view={view} action={PASSWORD}>
            <FormFaults view={view} />
            <Hidden {...f.reset_password_token} value={input.reset_password_token} />
            <Field {...f.password} label={t('New password')} type="password" hint={t('8 to 128 characters.')} autocomplete="new-password" autofocus />
            <Submit label={t('Set the password')} />
          </FormTag>
        </>
      ),
    }
  },
})

export const passwordForm = form({
  at: PASSWORD,
  access: anyone,
  ownerOnly: true,
  input: newPassword,
  ownProof: true,
  on: passwordPage,
  async submit({ ctx, input, view }) {
    if (!(await setPassword(ctx, input.reset_password_token, input.password))) return badLink(ctx, view, '/users/password/new')
    return new Redirect('/users/sign_in', { notice: t('Your new password is set. Sign in with it.') })
  },
})

interface LinkRequest {
  at: string
  purpose: 'reset' | 'confirm'
  title: () => string
  text: () => string
}

const linkRequested = z.object({ email: orDefault(documented.email(), '') })

/** The response and its timing reveal nothing about the address (ML-25, ML-26). */
function linkRequest({ at, purpose, title, text }: LinkRequest) {
  const shown = page({
    at,
    access: anyone,
    ownerOnly: true,
    async show({ ctx, view }) {
      if (!ctx.mail) throw noSuchRoute()
      const f = fieldsOf(view, linkRequested)
      return {
        title: title(),
        narrow: true,
        body: (
          <>
            <h1>{title()}</h1>
            <p class="dim">{text()}</p>
            <FormTag view={view} action={at}>
              <FormFaults view={view} />
              <Field {...f.email} label={t('E-mail address')} autocomplete="email" autofocus />
              <Submit label={t('Send the link')} />
            </FormTag>
            <p>
              <a href={`${view.links.prefix}/users/sign_in`}>{t('Back to sign-in')}</a>
            </p>
          </>
        ),
      }
    },
  })
  const asked = form({
    at,
    access: anyone,
    ownerOnly: true,
    input: linkRequested,
    ownProof: true,
    on: shown,
    async submit({ ctx, input }) {
      if (!ctx.mail) throw noSuchRoute()
      const email = normaliseEmail(input.email)
      if (emailFault(email) !== null) throw invalidRecord({ email: ['is not a valid address'] })
      await countLinkRequest(ctx, email)
      await mailLink(ctx, ctx.db, purpose, email)
      return {
        title: title(),
        narrow: true,
        body: (
          <>
            <h1>{t('Look into your mail')}</h1>
            <p>{t('If there is something to do for this address, a mail is on its way to it.')}</p>
          </>
        ),
      }
    },
  })
  return [shown, asked]
}

export const passwordRequest = linkRequest({
  at: '/users/password/new',
  purpose: 'reset',
  title: () => t('Forgotten password'),
  text: () => t('Give your e-mail address, and a link to set a new password is mailed to it.'),
})
export const confirmationRequest = linkRequest({
  at: '/users/confirmation/new',
  purpose: 'confirm',
  title: () => t('Confirm an e-mail address'),
  text: () => t('Give your e-mail address, and a link that confirms it is mailed to it.'),
})
