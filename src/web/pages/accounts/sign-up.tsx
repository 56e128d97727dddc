import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { orDefault, str } from '../../../http/params.js'
import { normaliseEmail } from '../../../rules/email.js'
import { type Captcha, checkCaptcha, findCaptcha } from '../../../services/identity/sign-in/captcha.js'
import { startSession } from '../../../services/identity/sign-in/sessions.js'
import { confirmsByMail, signUp } from '../../../services/identity/sign-in/sign-up.js'
import { Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Prose } from '../../components/markup.js'
import { renderText } from '../../components/render-text.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { form, page, Redirect } from '../../page.js'
import { countLinkRequest } from './limits.js'
import { enter } from './sign-in.js'

const AT = '/users/sign_up'

/** For visitors who want an account, while the settings allow it (WB-25). */
export const signUpPage = page({
  at: AT,
  access: anyone,
  ownerOnly: true,
  async show({ ctx, view }) {
    if (view.viewer) return new Redirect('/')
    const { settings } = view
    if (!settings.signup_enabled) throw notFound()
    const captcha = await findCaptcha(ctx)
    const f = fieldsOf(view, given).user
    return {
      title: t('Sign up'),
      narrow: true,
      ...(captcha && { sources: captcha.sources }),
      headers: { 'cache-control': 'no-store' },
      body: (
        <>
          <h1>{t('Sign up to Roost')}</h1>
          {settings.require_admin_approval_after_user_signup && (
            <p class="dim">{t('An administrator approves new accounts before they can be used.')}</p>
          )}
          <FormTag view={view} action="/users">
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} autocomplete="name" autofocus />
            <Field
              {...f.username}
              label={t('Username')}
              hint={t('Letters, digits, “-”, “_” and “.”. It is in the addresses of your projects.')}
              autocomplete="username"
            />
            <Field
              {...f.email}
              label={t('E-mail address')}
              hint={confirmsByMail(ctx, settings) ? t('You get a mail with a link that confirms it.') : undefined}
              autocomplete="email"
            />
            <Field {...f.password} label={t('Password')} type="password" hint={t('8 to 128 characters.')} autocomplete="new-password" />
            {captcha && <Challenge captcha={captcha} />}
            <Submit label={t('Sign up')} />
          </FormTag>
          <p>
            <Phrase text="{link} if you have an account." link={<a href={`${view.links.prefix}/users/sign_in`}>{t('Sign in')}</a>} />
          </p>
        </>
      ),
    }
  },
})

/** The element that the script of the service fills. */
const Challenge = ({ captcha: { script, widget, siteKey } }: { captcha: Captcha }) => (
  <div class="field">
    <script src={script} async defer />
    <div class={widget} data-sitekey={siteKey} />
    <noscript>
      <p>{t('The captcha needs scripts, which are off in this browser. Ask an administrator for an account.')}</p>
    </noscript>
  </div>
)

const solution = orDefault(str(), '')
const account = z.object({
  name: orDefault(documented.title(), ''),
  username: orDefault(documented.namespacePath(), ''),
  email: orDefault(documented.email(), ''),
  password: orDefault(documented.filled(), ''),
})

const given = z.object({ user: account })

export const signUpForm = form({
  at: '/users',
  access: anyone,
  ownerOnly: true,
  // clients of the original send either name
  input: z.object({
    user: account.optional(),
    new_user: account.optional(),
    // the names that the services of captchas give their fields
    'g-recaptcha-response': solution,
    'h-captcha-response': solution,
    'cf-turnstile-response': solution,
  }),
  on: signUpPage,
  async submit({ ctx, input, view }) {
    if (view.viewer) return new Redirect('/')
    const { name, username, email, password } = input.user ?? input.new_user ?? account.parse({})
    await countLinkRequest(ctx, normaliseEmail(email))
    await checkCaptcha(ctx, input['g-recaptcha-response'] || input['h-captcha-response'] || input['cf-turnstile-response'])
    const user = await signUp(ctx, { name: name.trim(), username: username.trim(), email, password })
    if (!user) return new Redirect(ALMOST)
    const { after_sign_up_text: text } = view.settings
    return enter(ctx, await startSession(ctx, user), '/', { notice: `${t('Your account is ready.')}${text ? ` ${text}` : ''}` })
  },
})

const ALMOST = '/users/almost_there'

/** Where a new account leads that cannot sign in yet; the same for all (WB-26). */
export const almostTherePage = page({
  at: ALMOST,
  access: anyone,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    if (view.viewer) return new Redirect('/')
    const { settings, links } = view
    if (!settings.signup_enabled) throw notFound()
    const text = await renderText(ctx, caller, null, settings.after_sign_up_text)
    return {
      title: t('Almost there'),
      narrow: true,
      body: (
        <>
          <h1>{t('Almost there')}</h1>
          {confirmsByMail(ctx, settings) && (
            <p>
              <Phrase
                text="Look into your mail: it has a link that confirms your address. {link}"
                link={<a href={`${links.prefix}/users/confirmation/new`}>{t('Send it again')}</a>}
              />
            </p>
          )}
          {settings.require_admin_approval_after_user_signup && (
            <p>
              <Phrase
                text="An administrator looks at your account. {next}"
                next={ctx.mail ? t('A mail tells you when you can sign in.') : t('Sign in when it is approved.')}
              />
            </p>
          )}
          {text && <Prose html={text} />}
          <p>
            <a href={`${links.prefix}/users/sign_in`}>{t('To sign-in')}</a>
          </p>
        </>
      ),
    }
  },
})
