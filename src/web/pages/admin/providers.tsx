import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { configuredProviders, labelOf, signOnProviders } from '../../../services/identity/sign-in/sign-on.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { AdminLayout } from '../../layout/admin.js'
import { page } from '../../page.js'

const AT = '/admin/sign_in_providers'

type Provider = ReturnType<typeof configuredProviders>[number]

/** How a provider is asked, and where it is. */
const kindOf = (provider: Provider): string =>
  'issuer' in provider ? `OpenID Connect, ${provider.issuer}` : 'url' in provider ? `LDAP, ${provider.url}` : 'A header of a trusted proxy'

export const providersPage = page({
  at: AT,
  access: adminPage,
  input: z.object({}),
  async show({ ctx, view }) {
    const { openid, ldap, header } = await signOnProviders(ctx)
    const on = new Set([...openid, ...ldap, ...(header ? [header] : [])].map(({ name }) => name))
    return {
      title: 'Sign-in providers',
      body: (
        <AdminLayout view={view} at={AT} title="Sign-in providers">
          <p>
            Providers are configured in the file that <code>ROOST_SIGN_ON</code> names; a{' '}
            <a href={`${view.links.prefix}/admin/application_settings/sign_in`}>setting</a> switches them off.
          </p>
          <Rows empty="No provider is configured: people sign in with passwords of this service.">
            {configuredProviders(ctx).map((provider) => (
              <Row key={provider.name}>
                <span>
                  <strong>{labelOf(provider)}</strong> <span class="dim">{provider.name}</span>{' '}
                  {on.has(provider.name) ? <Badge kind="success">on</Badge> : <Badge kind="waiting">switched off</Badge>}
                </span>
                <span class="dim">{kindOf(provider)}</span>
                <span class="dim">
                  {provider.create_accounts ? 'Makes accounts' : 'Makes no accounts'}
                  {provider.link_by_address && ', connects accounts by their address'}
                  {provider.second_factor && ', asks for the second factor itself'}
                </span>
              </Row>
            ))}
          </Rows>
        </AdminLayout>
      ),
    }
  },
})
