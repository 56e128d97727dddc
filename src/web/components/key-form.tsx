import type { ComponentChildren } from 'preact'
import type { Challenge } from '../../services/identity/sign-in/security-keys.js'
import type { PageView } from '../page.js'
import { FormTag, Submit } from './form.js'

interface Props {
  view: PageView
  action: string
  challenge: Challenge
  /** Whether a new key is made. */
  makes?: boolean
  label: string
  class?: string
  children?: ComponentChildren
}

/** A form that a security key answers. It is shown by the script, without which no page can ask for a key. */
export const KeyForm = ({ view, action, challenge, makes = false, label, class: look = 'primary', children }: Props) => (
  <FormTag view={view} action={action} attributes={{ hidden: true, 'data-key': makes ? 'create' : 'get', 'data-options': challenge.options }}>
    {children}
    <input type="hidden" name="challenge" value={challenge.sealed} />
    <input type="hidden" name="device_response" value="" />
    <p class="fault" role="alert" hidden>
      The key did not answer. Try again.
    </p>
    <Submit label={label} class={look} />
  </FormTag>
)
