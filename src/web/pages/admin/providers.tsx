import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { str } from '../../../http/params.js'
import type { LastCheck } from '../../../services/core/last-checks.js'
import { canBeChecked, checkProvider, listProviders } from '../../../services/identity/sign-in/provider-check.js'
import { labelOf } from '../../../services/identity/sign-in/sign-on.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/admin/sign_in_providers'

const KINDS = { openid: 'OpenID Connect', ldap: 'LDAP', header: 'A header of a trusted proxy' }

export const providersPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const providers = await listProviders(ctx)
    return {
      title: 'Sign-in providers',
      body: (
        <AdminLayout view={view} at={AT} title="Sign-in providers">
          <p>
            Providers are configured in the file that <code>ROOST_SIGN_ON</code> names; a{' '}
            <a href={`${view.links.prefix}/admin/application_settings/sign_in`}>setting</a> switches them off.
          </p>
          <Rows empty="No provider is configured: people sign in with passwords of this service.">
            {providers.map(({ provider, kind, address, on, check }) => (
              <Row
                key={provider.name}
                actions={
                  canBeChecked(provider) && <ActionButton view={view} action={`${AT}/${provider.name}/test`} label="Test" what={labelOf(provider)} />
                }
              >
                <span>
                  <strong>{labelOf(provider)}</strong> {labelOf(provider) !== provider.name && <span class="dim">{provider.name}</span>}{' '}
                  {on ? <Badge kind="success">on</Badge> : <Badge kind="waiting">switched off</Badge>}
                </span>
                <span class="dim">{address === null ? KINDS[kind] : `${KINDS[kind]}, ${address}`}</span>
                <span class="dim">
                  {provider.create_accounts ? 'Makes accounts' : 'Makes no accounts'}
                  {provider.link_by_address && ', connects accounts by their address'}
                  {provider.second_factor && ', asks for the second factor itself'}
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
      <Badge kind={check.good ? 'success' : 'danger'}>{check.good ? 'reached' : 'not reached'}</Badge>{' '}
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
