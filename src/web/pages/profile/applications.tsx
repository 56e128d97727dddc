import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { forbidden } from '../../../failures.js'
import { rowId } from '../../../http/params.js'
import {
  type Application,
  createApplication,
  getApplication,
  listOwnApplications,
  removeApplication,
  renewSecret,
  updateApplication,
} from '../../../services/identity/oauth/applications.js'
import { listAllowed, revokeAllowed } from '../../../services/identity/oauth/authorizations.js'
import { applicationFields, attributesOf, ClientId, Credentials, ScopeFields } from '../../components/accounts/application.js'
import { ScopeBadges } from '../../components/accounts/scopes.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'

const AT = '/-/profile/applications'
const OWN = '/oauth/applications'
const ALLOWED = '/oauth/authorized_applications'

export const applicationsPage = page({
  at: AT,
  formerly: ['/profile/applications', '/-/user_settings/applications'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const [allowed, own] = await Promise.all([listAllowed(ctx, caller.user.id), listOwnApplications(ctx, caller.user.id)])
    const mayRegister = view.settings.user_oauth_applications
    return {
      title: t('Applications'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('Applications')}>
          <p>{t('Programs that you have allowed to use your account. Revoke those that you do not use any more.')}</p>
          <Rows empty={t('You have not authorized any application.')}>
            {allowed.map(({ id, name, scopes, created_at, last_used_at }) => (
              <Row
                key={id}
                actions={<ActionButton view={view} action={`${ALLOWED}/${id}`} method="DELETE" label={t('Revoke')} what={name} class="danger" />}
              >
                <strong>{name}</strong>
                <span>
                  <ScopeBadges scopes={scopes} />
                </span>
                <span class="dim">
                  <Phrase text="Authorized {time}" time={<Time at={created_at} />} />
                  <LastUsed at={last_used_at} />
                </span>
              </Row>
            ))}
          </Rows>
          {(mayRegister || own.length > 0) && <h2>{t('Your applications')}</h2>}
          {own.length > 0 && (
            <Rows empty="">
              {own.map(({ id, name, redirect_uris, scopes }) => (
                <Row
                  key={id}
                  actions={<ActionButton view={view} action={`${OWN}/${id}`} method="DELETE" label={t('Remove')} what={name} class="danger" />}
                >
                  <a href={`${view.links.prefix}${OWN}/${id}`}>{name}</a>
                  <span>
                    <ScopeBadges scopes={scopes} />
                  </span>
                  <span class="dim">{redirect_uris.join(' ')}</span>
                </Row>
              ))}
            </Rows>
          )}
          {mayRegister && (
            <>
              <p>{t('A program of yours that signs users of Roost in, or works in their name (OAuth 2 and OpenID Connect).')}</p>
              <ApplicationForm view={view} action={OWN} />
            </>
          )}
        </SettingsLayout>
      ),
    }
  },
})

/** The address of the original, which leads to the page. */
export const ownApplicationsPage = page({
  at: OWN,
  access: signedIn,
  ownerOnly: true,
  show: async () => new Redirect(AT),
})

function ApplicationForm({ view, action, application }: { view: PageView; action: string; application?: Application }) {
  const f = fieldsOf(view, given).doorkeeper_application
  return (
    <FormTag view={view} action={action} method={application ? 'PUT' : 'POST'}>
      <FormFaults view={view} />
      <Field {...f.name} label={t('Name')} value={application?.name} hint={t('Users see it when they are asked.')} />
      <TextField
        {...f.redirect_uri}
        required
        label={t('Redirect URI')}
        value={application?.redirect_uris.join('\n')}
        rows={3}
        hint={t('Where users are led back to, exactly; one a line. urn:ietf:wg:oauth:2.0:oob shows the code instead.')}
      />
      <Checkbox
        {...f.confidential}
        label={t('Confidential')}
        hint={t('It runs on a server that keeps its secret. Others, such as a program on a desktop or in a browser, need PKCE.')}
        checked={application?.confidential ?? true}
      />
      <ScopeFields scopes={f.scopes} application={application} />
      <Submit label={application ? t('Save') : t('Register application')} />
    </FormTag>
  )
}

function secretPage(view: PageView, { id, name, uid }: Pick<Application, 'id' | 'name' | 'uid'>, secret: string): Html {
  return {
    title: name,
    headers: { 'cache-control': 'no-store' },
    body: (
      <SettingsLayout view={view} at={AT} title={t('Application “{name}”', { name })}>
        <Credentials uid={uid} secret={secret} />
        <p>
          <Phrase text="Programs that know OpenID Connect find everything else at {base}." base={<code>{view.links.base}</code>} />
        </p>
        <p>
          <a href={`${view.links.prefix}${OWN}/${id}`}>{t('The application')}</a>
        </p>
      </SettingsLayout>
    ),
  }
}

const given = z.object({ doorkeeper_application: applicationFields })

export const applicationForm = form({
  at: OWN,
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: given,
  on: applicationsPage,
  async submit({ ctx, caller, input, view }) {
    if (!view.settings.user_oauth_applications) throw forbidden(t('users may not register applications here'))
    const { application, secret } = await createApplication(ctx, caller.user.id, attributesOf(input.doorkeeper_application))
    return secretPage(view, application, secret)
  },
})

const byId = { application_id: rowId() }

export const applicationPage = page({
  at: `${OWN}/:application_id`,
  access: signedIn,
  ownerOnly: true,
  input: z.object(byId),
  async show({ ctx, caller, input, view }) {
    const application = await getApplication(ctx, input.application_id, caller.user.id)
    const action = `${OWN}/${application.id}`
    return {
      title: application.name,
      body: (
        <SettingsLayout view={view} at={AT} title={application.name}>
          <ClientId uid={application.uid} />
          <ActionButton view={view} action={`${action}/renew_secret`} method="PUT" label={t('Make a new secret')} />
          <h2>{t('Change it')}</h2>
          <ApplicationForm view={view} action={action} application={application} />
        </SettingsLayout>
      ),
    }
  },
})

export const applicationChange = form({
  at: `${OWN}/:application_id`,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: given.extend(byId),
  on: applicationPage,
  async submit({ ctx, caller, input }) {
    const application = await getApplication(ctx, input.application_id, caller.user.id)
    await updateApplication(ctx, application, attributesOf(input.doorkeeper_application))
    return new Redirect(`${OWN}/${application.id}`, { notice: t('Application updated.') })
  },
})

export const secretRenewal = form({
  at: `${OWN}/:application_id/renew_secret`,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: z.object(byId),
  async submit({ ctx, caller, input, view }) {
    const application = await getApplication(ctx, input.application_id, caller.user.id)
    return secretPage(view, application, await renewSecret(ctx, application))
  },
})

export const applicationRemoval = form({
  at: `${OWN}/:application_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: z.object(byId),
  async submit({ ctx, caller, input }) {
    const { name } = await removeApplication(ctx, input.application_id, caller.user.id)
    return new Redirect(AT, { notice: t('The application “{name}” is removed.', { name }) })
  },
})

export const applicationRevocation = form({
  at: `${ALLOWED}/:application_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  openWhen: ['read_only'],
  input: z.object(byId),
  async submit({ ctx, caller, input }) {
    const { name } = await revokeAllowed(ctx, caller.user.id, input.application_id)
    return new Redirect(AT, { notice: t('“{name}” can no longer use your account.', { name }) })
  },
})
