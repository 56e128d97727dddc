import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { orDefault, rowId } from '../../../http/params.js'
import { addEmail, findEmail, listEmails, removeEmail, resendConfirmation } from '../../../services/identity/emails.js'
import { makePrimary } from '../../../services/identity/user-update.js'
import { getUser } from '../../../services/identity/users.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/-/profile/emails'
const byId = z.object({ email_id: rowId() })

const newEmail = z.object({ email: z.object({ email: orDefault(documented.email(), '') }) })

export const emailsPage = page({
  at: AT,
  formerly: ['/profile/emails'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const [user, { items }] = await Promise.all([getUser(ctx, caller.user.id), listEmails(ctx, caller.user, { page: 1, per_page: 100 })])
    const f = fieldsOf(view, newEmail).email
    return {
      title: t('E-mail addresses'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('E-mail addresses')}>
          <p>{t('Commits with one of your confirmed addresses are shown as yours.')}</p>
          <Rows empty="">
            {[
              <Row key="primary">
                {user.email} <Badge>{t('main')}</Badge> {user.confirmed_at === null && <Badge kind="waiting">{t('not confirmed')}</Badge>}
              </Row>,
              ...items.map(({ id, email, confirmed_at }) => (
                <Row
                  key={id}
                  actions={
                    <>
                      {confirmed_at === null ? (
                        ctx.mail && (
                          <ActionButton
                            view={view}
                            action={`${AT}/${id}/resend_confirmation_instructions`}
                            method="PUT"
                            label={t('Send the link again')}
                            what={t('to {email}', { email })}
                          />
                        )
                      ) : (
                        <ActionButton view={view} action={`${AT}/${id}/main`} method="PUT" label={t('Make main')} what={email} />
                      )}
                      <ActionButton view={view} action={`${AT}/${id}`} method="DELETE" label={t('Remove')} what={email} class="danger" />
                    </>
                  }
                >
                  {email} {confirmed_at === null && <Badge kind="waiting">{t('not confirmed')}</Badge>}
                </Row>
              )),
            ]}
          </Rows>
          <h2>{t('Add an address')}</h2>
          <FormTag view={view} action={AT}>
            <FormFaults view={view} />
            <Field {...f.email} label={t('E-mail address')} autocomplete="email" />
            <Submit label={t('Add address')} />
          </FormTag>
        </SettingsLayout>
      ),
    }
  },
})

export const emailForm = form({
  at: AT,
  access: signedIn,
  ownerOnly: true,
  input: newEmail,
  on: emailsPage,
  async submit({ ctx, caller, input }) {
    const { email } = await addEmail(ctx, caller.user, input.email.email)
    return new Redirect(AT, {
      notice: ctx.mail ? t('A link that confirms it is on its way to {email}.', { email }) : t('{email} is added.', { email }),
    })
  },
})

export const emailRemoval = form({
  at: `${AT}/:email_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: byId,
  async submit({ ctx, caller, input }) {
    const row = await findEmail(ctx, caller.user, input.email_id)
    await removeEmail(ctx, caller.user, row)
    return new Redirect(AT, { notice: t('{email} is removed.', { email: row.email }) })
  },
})

export const emailConfirmation = form({
  at: `${AT}/:email_id/resend_confirmation_instructions`,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: byId,
  on: emailsPage,
  async submit({ ctx, caller, input }) {
    const row = await findEmail(ctx, caller.user, input.email_id)
    await resendConfirmation(ctx, caller.user, row)
    return new Redirect(AT, { notice: t('A link that confirms it is on its way to {email}.', { email: row.email }) })
  },
})

/** The former main address becomes a secondary one. */
export const mainEmail = form({
  at: `${AT}/:email_id/main`,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: byId,
  on: emailsPage,
  async submit({ ctx, caller, input }) {
    const { email } = await makePrimary(ctx, caller.user, input.email_id)
    return new Redirect(AT, { notice: t('{email} is your main address now.', { email }) })
  },
})
