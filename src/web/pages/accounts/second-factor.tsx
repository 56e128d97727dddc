import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { refused } from '../../../failures.js'
import { opt, orDefault, str } from '../../../http/params.js'
import { giveSecondFactor } from '../../../services/identity/sign-in/second-factor.js'
import { Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { localPath } from '../../local-path.js'
import { form, page, Redirect } from '../../page.js'
import { enter, secondFactorPath } from './sign-in.js'

const AT = secondFactorPath()
const returnTo = { return_to: opt(str()) }

/** The second step of signing in with a password (WB-20). */
export const secondFactorPage = page({
  at: AT,
  access: anyone,
  input: z.object(returnTo),
  async show({ input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!view.session) return new Redirect(`/users/sign_in?return_to=${encodeURIComponent(to)}`)
    return {
      title: 'Second factor',
      narrow: true,
      headers: { 'cache-control': 'no-store' },
      body: (
        <>
          <h1>Second factor</h1>
          <p class="dim">Give the code that your authenticator application shows, or one of your recovery codes.</p>
          <FormTag view={view} action={AT}>
            <FormFaults view={view} />
            <input type="hidden" name="return_to" value={to} />
            <Field view={view} name="user[otp_attempt]" label="Code" autocomplete="one-time-code" maxlength={64} required autofocus />
            <Submit label="Verify" />
          </FormTag>
          <p>
            <a href={`${view.links.prefix}/users/sign_in`}>Sign in as somebody else</a>
          </p>
        </>
      ),
    }
  },
})

export const secondFactorForm = form({
  at: AT,
  method: 'POST',
  access: anyone,
  input: z.object({ ...returnTo, user: z.object({ otp_attempt: orDefault(str(), '') }) }),
  on: secondFactorPage,
  async submit({ ctx, input, view }) {
    const to = localPath(input.return_to)
    if (view.viewer) return new Redirect(to)
    if (!view.session) return new Redirect(`/users/sign_in?return_to=${encodeURIComponent(to)}`, { alert: 'It took too long. Sign in again.' })
    const started = await giveSecondFactor(ctx, view.session, input.user.otp_attempt)
    if (!started) throw refused('The code is wrong, or was used before')
    return enter(ctx, started, to)
  },
})
