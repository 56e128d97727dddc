import type { Context } from '../../../context.js'
import { listIdentities } from '../../../services/identity/sign-in/identities.js'
import { configuredProviders, labelOf, signOnProviders } from '../../../services/identity/sign-in/sign-on.js'
import { SignOnButtons } from '../../components/accounts/sign-on-buttons.js'
import { ActionButton } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'

/** Where the user can sign in beside here; nothing where there is no such place. */
export async function identitiesSection(ctx: Context, user: { id: number }, view: PageView) {
  const known = configuredProviders(ctx)
  if (known.length === 0) return null
  const [own, { openid }] = await Promise.all([listIdentities(ctx, user.id), signOnProviders(ctx)])
  const others = openid.filter(({ name }) => !own.some(({ provider }) => provider === name))
  if (own.length === 0 && others.length === 0) return null
  return (
    <>
      <h2>{t('Connected accounts')}</h2>
      <Rows empty={t('You sign in to this account here alone.')}>
        {own.map(({ id, provider, extern_uid }) => (
          <Row
            key={id}
            actions={
              <ActionButton
                view={view}
                action="/-/profile/account/unlink"
                method="DELETE"
                label={t('Disconnect')}
                what={provider}
                fields={{ provider }}
                class="danger"
              />
            }
          >
            <strong>{labelOf(known.find(({ name }) => name === provider) ?? { name: provider })}</strong>
            <span class="dim">{extern_uid}</span>
          </Row>
        ))}
      </Rows>
      <SignOnButtons view={view} providers={others} returnTo="/-/profile/account" verb={t('Connect')} />
    </>
  )
}
