import { z } from 'zod'
import type { Caller, SignedIn } from '../../../access/actor.js'
import { anyone, signedIn } from '../../../access/rules.js'
import type { Scope } from '../../../access/scopes.js'
import type { Context } from '../../../context.js'
import { Failure, invalidInput, unauthenticated } from '../../../failures.js'
import { int, opt, str } from '../../../http/params.js'
import { WholeAddress } from '../../../http/redirect.js'
import {
  type AuthorizationParameters,
  type AuthorizationRequest,
  answerAddress,
  authorize,
  getRecipient,
  isAllowed,
  type Recipient,
  type Refusal,
  readRequest,
  refuseAuthorization,
} from '../../../services/identity/oauth/authorizations.js'
import { INVALID_SCOPE } from '../../../services/identity/oauth/failures.js'
import { NATIVE } from '../../../services/identity/oauth/redirect-uris.js'
import { scopeMeanings } from '../../components/accounts/scopes.js'
import { ActionButton } from '../../components/form.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'

const AT = '/oauth/authorize'

const parameters = z.object({
  client_id: opt(str()),
  redirect_uri: opt(str()),
  response_type: opt(str()),
  response_mode: opt(str()),
  scope: opt(str()),
  state: opt(str()),
  nonce: opt(str()),
  prompt: opt(str()),
  max_age: opt(int({ min: 0 })),
  code_challenge: opt(str()),
  code_challenge_method: opt(str()),
})

/** A program leads here with what it asks for, and is answered with a code (CR-32, CR-33). */
export const authorizePage = page({
  at: AT,
  access: anyone,
  ownerOnly: true,
  input: parameters,
  async show({ ctx, caller, input, view }) {
    const recipient = await getRecipient(ctx, input)
    const request = readRequest(recipient, input)
    if ('error' in request) return leadBack(ctx, view, recipient, request)
    const asks = request.prompt !== 'none'
    const user = signedInBy(caller)
    if (!user || !view.session) {
      if (asks) throw unauthenticated()
      return leadBack(ctx, view, request, { error: 'login_required', description: t('The user is not signed in.') })
    }
    const refusal = refusalFor(ctx, view, user, request)
    if (refusal) return leadBack(ctx, view, request, refusal)
    if (request.prompt !== 'consent' && (await isAllowed(ctx, user, request)))
      return leadBack(ctx, view, request, { code: await authorize(ctx, user, request, view.session.created_at) })
    if (!asks) return leadBack(ctx, view, request, { error: 'consent_required', description: t('The user has to be asked.') })
    return consentPage(view, user, request, input)
  },
})

const signedInBy = (caller: Caller): SignedIn | null => (caller.user ? caller : null)

/** Why this user cannot allow what is asked for. */
function refusalFor(ctx: Context, view: PageView, { user }: SignedIn, { scopes, maxAge }: AuthorizationRequest): Refusal | null {
  if (scopes.includes('sudo') && !user.admin) return { error: 'invalid_scope', description: INVALID_SCOPE }
  const age = ctx.now().getTime() - (view.session?.created_at.getTime() ?? 0)
  return maxAge !== null && age > maxAge * 1000 ? { error: 'login_required', description: t('The user has to sign out first.') } : null
}

/** Where an answer leads: to the address that the application has registered, or to the page with its code. */
function answerTo(ctx: Context, recipient: Recipient, answer: { code: string } | Refusal): string | WholeAddress {
  const to = answerAddress(ctx, recipient, answer)
  return recipient.redirectUri === NATIVE ? to : new WholeAddress(to)
}

/** Leads back to the application. One that has no address is answered here. */
function leadBack(ctx: Context, view: PageView, recipient: Recipient, answer: { code: string } | Refusal): Html | Redirect {
  if (recipient.redirectUri === NATIVE && 'error' in answer) throw new Failure('invalid', { error: answer.description })
  const to = answerTo(ctx, recipient, answer)
  return view.fromHere && typeof to !== 'string' ? bridgePage(recipient, to) : new Redirect(to)
}

/**
 * A page that leads on by itself. After a form, such as that of sign-in, browsers follow redirects only to where its page allows
 * forms to go, which is this service alone (WB-30).
 */
const bridgePage = ({ application, redirectUri }: Recipient, { href: to }: WholeAddress): Html => ({
  title: t('Back to {name}', { name: application.name }),
  narrow: true,
  headers: { 'cache-control': 'no-store', refresh: `0;url=${to}` },
  body: (
    <>
      <h1>
        <Phrase text="Back to {name}" name={application.name} />
      </h1>
      <p>
        <a href={to}>
          <Phrase text="Continue to {place}" place={placeOf(redirectUri)} />
        </a>
      </p>
    </>
  ),
})

/** The site or program that an address leads to. */
function placeOf(uri: string): string {
  const { origin, protocol } = new URL(uri)
  return origin === 'null' ? t('a program on this device ({protocol})', { protocol }) : origin
}

function consentPage(view: PageView, { user }: SignedIn, request: AuthorizationRequest, input: AuthorizationParameters): Html {
  const { application, redirectUri, scopes } = request
  const { prompt: _, ...asked } = input
  const fields = Object.fromEntries(Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])))
  const { protocol } = new URL(redirectUri)
  return {
    title: t('Authorize {name}', { name: application.name }),
    narrow: true,
    headers: { 'cache-control': 'no-store' },
    formsLeadTo: redirectUri === NATIVE ? undefined : protocol,
    body: (
      <>
        <h1>
          <Phrase text="Authorize {name}?" name={application.name} />
        </h1>
        <p>
          <Phrase
            text="{name} wants to use your account {username}. It will be able to:"
            name={<strong>{application.name}</strong>}
            username={<strong>{user.username}</strong>}
          />
        </p>
        <ul>
          {scopes.map((scope) => (
            <li key={scope}>
              {scopeMeanings()[scope as Scope]} <span class="dim">({scope})</span>
            </li>
          ))}
        </ul>
        <p>
          {redirectUri === NATIVE ? (
            t('You will see a code, to copy into the program.')
          ) : (
            <Phrase text="You will be led to {place}." place={<strong>{placeOf(redirectUri)}</strong>} />
          )}{' '}
          {application.owner_id === null
            ? t('An administrator of this service has registered it.')
            : t('Another user of this service has registered it: go on only if you trust it.')}
        </p>
        <div class="row">
          <ActionButton view={view} action={AT} label={t('Authorize')} class="primary" fields={fields} />
          <ActionButton view={view} action={AT} method="DELETE" label={t('Deny')} fields={fields} />
        </div>
        <p class="dim">{t('You can take it back under Applications in your settings.')}</p>
      </>
    ),
  }
}

/** What a form of the page asks for; as in the page, a fault of the address is shown. */
async function requestOf(ctx: Context, input: AuthorizationParameters): Promise<AuthorizationRequest> {
  const request = readRequest(await getRecipient(ctx, input), input)
  if ('error' in request) throw invalidInput(request.description)
  return request
}

export const authorizeForm = form({
  at: AT,
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: parameters,
  async submit({ ctx, caller, input, view }) {
    const request = await requestOf(ctx, input)
    const refusal = refusalFor(ctx, view, caller, request)
    if (refusal || !view.session) throw invalidInput(refusal?.description ?? t('You are not signed in'))
    return new Redirect(answerTo(ctx, request, { code: await authorize(ctx, caller, request, view.session.created_at) }))
  },
})

export const denyForm = form({
  at: AT,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: parameters,
  async submit({ ctx, input }) {
    const request = await requestOf(ctx, input)
    await refuseAuthorization(ctx, request)
    if (request.redirectUri === NATIVE) return new Redirect('/', { notice: t('You have not authorized {name}.', { name: request.application.name }) })
    const description = t('The resource owner or authorization server denied the request.')
    return new Redirect(answerTo(ctx, request, { error: 'access_denied', description }))
  },
})

/** The code of a program that has no address to be led to. */
export const nativePage = page({
  at: `${AT}/native`,
  access: signedIn,
  ownerOnly: true,
  input: z.object({ code: str() }),
  async show({ input }) {
    return {
      title: t('Authorization code'),
      narrow: true,
      headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      body: (
        <>
          <h1>{t('Authorization code')}</h1>
          <p>{t('Copy it into the program that asked for it. It works once, within ten minutes.')}</p>
          <p class="copied">
            <input class="code" id="code" value={input.code} readonly aria-label={t('Authorization code')} />
          </p>
        </>
      ),
    }
  },
})
