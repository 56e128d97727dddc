import { labelOf } from '../../../services/identity/sign-in/sign-on.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { ActionButton } from '../form.js'

interface ButtonsProps {
  view: PageView
  providers: readonly { name: string; label?: string | undefined }[]
  returnTo: string
  verb?: string
}

/** A button for each provider that people may sign in with: a form, so that no link begins a sign-in (WB-42). */
export const SignOnButtons = ({ view, providers, returnTo, verb = t('Continue with') }: ButtonsProps) => (
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
