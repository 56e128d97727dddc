import type { WholeAddress } from '../../../http/redirect.js'
import { labelOf } from '../../../services/identity/sign-in/sign-on.js'
import { ActionButton } from '../../components/form.js'
import type { Html, PageView } from '../../page.js'

interface ButtonsProps {
  view: PageView
  providers: readonly { name: string; label?: string | undefined }[]
  returnTo: string
  verb?: string
}

/** A button for each provider that people may sign in with: a form, so that no link begins a sign-in (WB-42). */
export const SignOnButtons = ({ view, providers, returnTo, verb = 'Continue with' }: ButtonsProps) => (
  <>
    {providers.map((provider) => (
      <ActionButton
        key={provider.name}
        view={view}
        action={`/users/auth/${provider.name}`}
        fields={{ return_to: returnTo }}
        label={`${verb} ${labelOf(provider)}`}
      />
    ))}
  </>
)

/**
 * A page that leads to another site by itself. A redirect would not do: a form may lead only to this service (WB-4), and
 * some browsers hold the pages that follow to that, too.
 */
export const leadOut = (title: string, { href: to }: WholeAddress): Html => ({
  title,
  narrow: true,
  headers: { refresh: `0; url=${to}`, 'cache-control': 'no-store' },
  body: (
    <>
      <h1>{title}</h1>
      <p>
        You are being led to <a href={to}>{new URL(to).host}</a>.
      </p>
    </>
  ),
})
