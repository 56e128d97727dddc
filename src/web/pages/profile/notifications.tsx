import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { list, oneOf, opt, orDefault, str } from '../../../http/params.js'
import { MAIL_EVENTS, type MailEvent } from '../../../rules/notifications.js'
import { listEmails } from '../../../services/identity/emails.js'
import { showNotificationSetting, updateNotificationSetting } from '../../../services/mail/settings.js'
import { Checkbox, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/-/profile/notifications'
const levels = () =>
  [
    { value: 'participating', label: t('Threads that I take part in') },
    { value: 'watch', label: t('Everything in my projects') },
    { value: 'mention', label: t('When I am mentioned') },
    { value: 'custom', label: t('What I choose below, and threads that I take part in') },
    { value: 'disabled', label: t('Nothing') },
  ] as const
const eventsTexts = (): Record<MailEvent, string> => ({
  new_note: t('A comment'),
  new_issue: t('A new issue'),
  reopen_issue: t('An issue is opened again'),
  close_issue: t('An issue is closed'),
  reassign_issue: t('An issue is assigned'),
  new_merge_request: t('A new merge request'),
  reopen_merge_request: t('A merge request is opened again'),
  close_merge_request: t('A merge request is closed'),
  reassign_merge_request: t('A merge request is assigned'),
  change_reviewer_merge_request: t('The reviewers of a merge request change'),
  merge_merge_request: t('A merge request is merged'),
  failed_pipeline: t('A pipeline fails'),
  success_pipeline: t('A pipeline passes'),
  new_release: t('A new release'),
})

const wanted = z.object({
  level: opt(oneOf(['disabled', 'participating', 'watch', 'mention', 'custom'])),
  notification_email: opt(str()),
  events: orDefault(list(oneOf(MAIL_EVENTS)), []),
})

export const notificationsPage = page({
  at: AT,
  formerly: ['/profile/notifications'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const [setting, { items }] = await Promise.all([
      showNotificationSetting(ctx, caller.user, 'everything'),
      listEmails(ctx, caller.user, { page: 1, per_page: 100 }),
    ])
    const addresses = [caller.user.email, ...items.filter(({ confirmed_at }) => confirmed_at !== null).map(({ email }) => email)]
    const f = fieldsOf(view, wanted)
    return {
      title: t('Notifications'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('Notifications')}>
          {!ctx.mail && <p class="flash alert">{t('This server sends no mail: its administrator has not set up mail.')}</p>}
          <FormTag view={view} action={AT} method="PUT">
            <FormFaults view={view} />
            <SelectField {...f.level} label={t('Mail me about')} value={setting.level} choices={levels()} />
            <SelectField
              {...f.notification_email}
              label={t('At this address')}
              value={setting.notification_email}
              choices={addresses.map((value) => ({ value, label: value }))}
            />
            <fieldset>
              <legend>{t('Chosen events')}</legend>
              <div class="columns">
                {MAIL_EVENTS.map((event) => (
                  <Checkbox key={event} {...f.events} value={event} label={eventsTexts()[event]} checked={setting.events.includes(event)} />
                ))}
              </div>
            </fieldset>
            <Submit label={t('Save')} />
          </FormTag>
        </SettingsLayout>
      ),
    }
  },
})

export const notificationsForm = form({
  at: AT,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: wanted,
  on: notificationsPage,
  async submit({ ctx, caller, input: { events, ...change } }) {
    const chosen = Object.fromEntries(MAIL_EVENTS.map((event) => [event, events.includes(event)]))
    await updateNotificationSetting(ctx, caller.user, 'everything', { ...change, events: chosen })
    return new Redirect(AT, { notice: t('Notifications updated.') })
  },
})
