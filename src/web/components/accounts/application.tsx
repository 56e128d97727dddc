import { z } from 'zod'
import { APPLICATION_SCOPES } from '../../../access/scopes.js'
import * as documented from '../../../http/documented.js'
import { bool, list, orDefault, str } from '../../../http/params.js'
import { type Application, wordsOf } from '../../../services/identity/oauth/applications.js'
import type { Control } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { Checkbox, Copied } from '../form.js'
import { scopeMeanings } from './scopes.js'

/** The scopes that an application may ask for, in the form that registers or changes it. */
export const ScopeFields = ({ scopes, application }: { scopes: Control<string[]>; application: Application | undefined }) => {
  return (
    <fieldset>
      <legend>{t('Scopes')}</legend>
      {APPLICATION_SCOPES.map((scope) => (
        <Checkbox
          key={scope}
          {...scopes}
          value={scope}
          label={scope}
          hint={scopeMeanings()[scope]}
          checked={application?.scopes.includes(scope) ?? false}
        />
      ))}
    </fieldset>
  )
}

export const ClientId = ({ uid }: { uid: string }) => (
  <>
    <label for="uid">{t('Application id (client id)')}</label>
    <p class="copied">
      <input class="code" id="uid" value={uid} readonly />
    </p>
  </>
)

/** The id of an application, and its secret, which is shown only now. */
export const Credentials = ({ uid, secret }: { uid: string; secret: string }) => (
  <>
    <p>
      <Phrase
        text="{strong} Copy it now, and keep it like a password."
        strong={<strong>{t('This is the only time that the secret is shown.')}</strong>}
      />
    </p>
    <ClientId uid={uid} />
    <label for="secret">{t('Secret (client secret)')}</label>
    <Copied id="secret" value={secret} />
  </>
)

/** The fields of the form of an application. */
export const applicationFields = z.object({
  name: orDefault(documented.title(), ''),
  redirect_uri: orDefault(str(), ''),
  confidential: orDefault(bool(), false),
  scopes: orDefault(list(str()), []),
})

/** These fields as attributes. */
export const attributesOf = ({ name, redirect_uri, confidential, scopes }: z.infer<typeof applicationFields>) => ({
  name: name.trim(),
  redirect_uris: wordsOf(redirect_uri),
  confidential,
  scopes: [...new Set(scopes)],
})
