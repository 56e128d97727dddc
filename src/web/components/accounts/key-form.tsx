import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { orDefault, str } from '../../../http/params.js'
import type { Challenge } from '../../../services/identity/sign-in/security-keys.js'
import type { Fields } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { FormTag, Hidden, Submit } from '../form.js'

/** What a key answers to a challenge. */
export const keyAnswer = z.object({ challenge: orDefault(str(), ''), device_response: orDefault(str(), '') })

interface Props {
  view: PageView
  fields: Fields<z.infer<typeof keyAnswer>>
  action: string
  challenge: Challenge
  /** Whether a new key is made. */
  makes?: boolean
  label: string
  class?: string
  children?: ComponentChildren
}

/** A form that a security key answers. It is shown by the script, without which no page can ask for a key. */
export const KeyForm = ({ view, fields, action, challenge, makes = false, label, class: look = 'primary', children }: Props) => (
  <FormTag view={view} action={action} attributes={{ hidden: true, 'data-key': makes ? 'create' : 'get', 'data-options': challenge.options }}>
    {children}
    <Hidden {...fields.challenge} value={challenge.sealed} />
    <Hidden {...fields.device_response} value="" />
    <p class="fault" role="alert" hidden>
      {t('The key did not answer. Try again.')}
    </p>
    <Submit label={label} class={look} />
  </FormTag>
)
