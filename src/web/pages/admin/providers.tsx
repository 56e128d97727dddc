import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { str } from '../../../http/params.js'
import type { LastCheck } from '../../../services/core/last-checks.js'
import { canBeChecked, checkProvider, listProviders } from '../../../services/identity/sign-in/provider-check.js'
import { labelOf } from '../../../services/identity/sign-in/sign-on.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/admin/sign_in_providers'

const kinds = () => ({ openid: t('OpenID Connect'), ldap: 'LDAP', header: t('A header of a trusted proxy') })

export const providersPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const providers = await listProviders(ctx)
    return {
      title: t('Sign-in providers'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Sign-in providers')}>
          <p>
            <Phrase
              text="Providers are configured in the file that {code} names; a {link} switches them off."
              code={<code>ROOST_SIGN_ON</code>}
              link={<a href={`${view.links.prefix}/admin/application_settings/sign_in`}>{t('setting')}</a>}
            />
          </p>
          <Rows empty={t('No provider is configured: people sign in with passwords of this service.')}>
            {providers.map(({ provider, kind, address, on, check }) => (
              <Row
                key={provider.name}
                actions={
                  canBeChecked(provider) && (
                    <ActionButton view={view} action={`${AT}/${provider.name}/test`} label={t('Test')} what={labelOf(provider)} />
                  )
                }
              >
                <span>
                  <strong>{labelOf(provider)}</strong> {labelOf(provider) !== provider.name && <span class="dim">{provider.name}</span>}{' '}
                  {on ? <Badge kind="success">{t('on')}</Badge> : <Badge kind="waiting">{t('switched off')}</Badge>}
                </span>
                <span class="dim">{address === null ? kinds()[kind] : `${kinds()[kind]}, ${address}`}</span>
                <span class="dim">
                  {provider.create_accounts ? t('Makes accounts') : t('Makes no accounts')}
                  {provider.link_by_address && t(', connects accounts by their address')}
                  {provider.second_factor && t(', asks for the second factor itself')}
                </span>
                <Checked check={check} />
              </Row>
            ))}
          </Rows>
        </AdminLayout>
      ),
    }
  },
})

/** What the last test has found. */
const Checked = ({ check }: { check: LastCheck | null }) =>
  check ? (
    <span>
      <Badge kind={check.good ? 'success' : 'danger'}>{check.good ? t('reached') : t('not reached')}</Badge>{' '}
      <span class="dim">
        <Time at={check.checked_at} />: {check.message}
      </span>
    </span>
  ) : null

export const providerTest = form({
  at: `${AT}/:name/test`,
  access: adminPage,
  input: z.object({ name: str() }),
  async submit({ ctx, input }) {
    const { good, message } = await checkProvider(ctx, input.name)
    const text = `${input.name}: ${message}.`
    return new Redirect(AT, good ? { notice: text } : { alert: text })
  },
})
