import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { bool, orDefault, paging, rowId } from '../../../http/params.js'
import {
  type Application,
  createApplication,
  getApplication,
  listApplications,
  removeApplication,
  renewSecret,
  updateApplication,
} from '../../../services/identity/oauth/applications.js'
import { applicationFields, attributesOf, ClientId, Credentials, ScopeFields } from '../../components/accounts/application.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, Submit, TextField } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'

const AT = '/admin/applications'
const PER_PAGE = 50

const ApplicationForm = ({ view, application }: { view: PageView; application?: Application }) => {
  const f = fieldsOf(view, given).doorkeeper_application
  return (
    <FormTag view={view} action={application ? `${AT}/${application.id}` : AT} method={application ? 'PUT' : 'POST'} once={!application}>
      <FormFaults view={view} />
      <Field {...f.name} label={t('Name')} value={application?.name} hint={t('Shown to those who are asked.')} />
      <TextField
        {...f.redirect_uri}
        label={t('Redirect URIs')}
        value={application?.redirect_uris.join('\n')}
        rows={3}
        hint={t('One a line.')}
        spellcheck={false}
      />
      <Checkbox
        {...f.confidential}
        label={t('It keeps its secret')}
        hint={t('A program on a server does; an app on a phone or in a browser does not.')}
        checked={application?.confidential ?? true}
      />
      <Checkbox
        {...f.trusted}
        label={t('Trusted')}
        hint={t('People are not asked whether it may use their account.')}
        checked={application?.trusted ?? false}
      />
      <ScopeFields scopes={f.scopes} application={application} />
      <Submit label={application ? t('Save changes') : t('Add application')} />
    </FormTag>
  )
}

export const serviceApplicationsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listApplications(ctx, { page: input.page, per_page: PER_PAGE })
    return {
      title: t('Applications'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Applications')}>
          <p>{t('Programs that sign people in through this service, and belong to the service and not to one of its users.')}</p>
          <Rows empty={t('There are no applications of the service.')}>
            {items.map(({ id, name, scopes, trusted, created_at }) => (
              <Row
                key={id}
                actions={<ActionButton view={view} action={`${AT}/${id}`} method="DELETE" label={t('Remove')} what={name} class="danger" />}
              >
                <span>
                  <a href={`${view.links.prefix}${AT}/${id}`}>
                    <strong>{name}</strong>
                  </a>{' '}
                  {trusted && <Badge kind="success">{t('trusted')}</Badge>}
                </span>
                <span class="dim">
                  {scopes.join(', ')}
                  {' · '}
                  <Phrase text="since {time}" time={<Time at={created_at} />} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          <h2>{t('New application')}</h2>
          <ApplicationForm view={view} />
        </AdminLayout>
      ),
    }
  },
})

const byId = { application_id: rowId() }

export const serviceApplicationPage = page({
  at: `${AT}/:application_id`,
  access: adminPage,
  input: z.object(byId),
  async show({ ctx, input, view }) {
    const application = await getApplication(ctx, input.application_id, null)
    return {
      title: application.name,
      body: (
        <AdminLayout view={view} at={AT} title={application.name}>
          <ClientId uid={application.uid} />
          <ActionButton view={view} action={`${AT}/${application.id}/renew_secret`} method="PUT" label={t('Make a new secret')} />
          <h2>{t('Change it')}</h2>
          <ApplicationForm view={view} application={application} />
        </AdminLayout>
      ),
    }
  },
})

const secretPage = (view: PageView, { id, name, uid }: Pick<Application, 'id' | 'name' | 'uid'>, secret: string): Html => ({
  title: name,
  headers: { 'cache-control': 'no-store' },
  body: (
    <AdminLayout view={view} at={AT} title={t('Application “{name}”', { name })}>
      <Credentials uid={uid} secret={secret} />
      <p>
        <a href={`${view.links.prefix}${AT}/${id}`}>{t('The application')}</a>
      </p>
    </AdminLayout>
  ),
})

const given = z.object({ doorkeeper_application: applicationFields.extend({ trusted: orDefault(bool(), false) }) })

const serviceAttributes = ({ trusted, ...fields }: z.infer<typeof given>['doorkeeper_application']) => ({ ...attributesOf(fields), trusted })

export const serviceApplicationForm = form({
  at: AT,
  access: adminPage,
  input: given,
  on: serviceApplicationsPage,
  async submit({ ctx, input, view }) {
    const { application, secret } = await createApplication(ctx, null, serviceAttributes(input.doorkeeper_application))
    return secretPage(view, application, secret)
  },
})

export const serviceApplicationChange = form({
  at: `${AT}/:application_id`,
  method: 'PUT',
  access: adminPage,
  input: given.extend(byId),
  on: serviceApplicationPage,
  async submit({ ctx, input }) {
    const application = await getApplication(ctx, input.application_id, null)
    await updateApplication(ctx, application, serviceAttributes(input.doorkeeper_application))
    return new Redirect(`${AT}/${application.id}`, { notice: t('Application updated.') })
  },
})

export const serviceSecretRenewal = form({
  at: `${AT}/:application_id/renew_secret`,
  method: 'PUT',
  access: adminPage,
  input: z.object(byId),
  async submit({ ctx, input, view }) {
    const application = await getApplication(ctx, input.application_id, null)
    return secretPage(view, application, await renewSecret(ctx, application))
  },
})

export const serviceApplicationRemoval = form({
  at: `${AT}/:application_id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object(byId),
  async submit({ ctx, input }) {
    const { name } = await removeApplication(ctx, input.application_id, null)
    return new Redirect(AT, { notice: t('The application “{name}” is removed.', { name }) })
  },
})
