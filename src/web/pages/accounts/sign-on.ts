import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { forbidden } from '../../../failures.js'
import { opt, str } from '../../../http/params.js'
import { WholeAddress } from '../../../http/redirect.js'
import { beginOpenid, finishOpenid } from '../../../services/identity/sign-in/openid.js'
import { labelOf, linkIdentity, signOn, signOnProviders } from '../../../services/identity/sign-in/sign-on.js'
import type { OpenidProvider } from '../../../sign-on-config.js'
import { t } from '../../language/language.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { leadOut } from './lead-out.js'
import { enter } from './sign-in.js'

const AT = '/users/auth/:provider'
const named = { provider: str() }

async function getProvider(ctx: Context, name: string): Promise<OpenidProvider> {
  const { openid } = await signOnProviders(ctx)
  const provider = openid.find((one) => one.name === name)
  if (!provider) throw forbidden(t('there is no such way to sign in at the moment'))
  return provider
}

/** Sends the browser to a provider, to sign in there, or to connect the account that is signed in here. */
export const signOnForm = form({
  at: AT,
  access: anyone,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: z.object({ ...named, return_to: opt(str()) }),
  async submit({ ctx, input, view }) {
    const provider = await getProvider(ctx, input.provider)
    const to = await beginOpenid(ctx, provider, { browser: view.browser ?? '', returnTo: localPath(input.return_to) })
    return leadOut(t('Sign in with {label}', { label: labelOf(provider) }), new WholeAddress(to))
  },
})

/** Where a provider sends the browser back to. */
export const callbackPage = page({
  at: `${AT}/callback`,
  access: anyone,
  ownerOnly: true,
  input: z.object(named),
  async show({ ctx, caller, input, view }) {
    const provider = await getProvider(ctx, input.provider)
    const [, query = ''] = view.address.split('?', 2)
    const { profile, returnTo } = await finishOpenid(ctx, provider, view.browser, query)
    if (!caller.user) return enter(ctx, await signOn(ctx, provider, profile), returnTo)
    await linkIdentity(ctx, caller.user, provider, profile.uid)
    return new Redirect('/-/profile/account', { notice: t('Your account is connected with {label}.', { label: labelOf(provider) }) })
  },
})
