import { z } from 'zod'
import type { GroupSubject, ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { invalidRecord } from '../../../failures.js'
import { clearableDate, int, oneOrMore, opt, str } from '../../../http/params.js'
import { invite, listInvitations, withdrawInvitation } from '../../../services/groups/invitations.js'
import { levelsToGive } from '../../../services/groups/members.js'
import { ActionButton, Field, FormFaults, FormTag, SelectField, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { levelChoices, levelName } from '../../components/projects/levels.js'
import { dayText, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { inUrl } from '../../links.js'
import { form, type Page, type PageView, Redirect } from '../../page.js'
import type { Place } from './places.js'

/** Invitations shown at once, the oldest first. */
const MAX_SHOWN = 100

const invited = z.object({
  invitation: z.object({ emails: opt(oneOrMore(str())), access_level: int({ min: 0, max: 50 }), expires_at: opt(clearableDate()) }),
})

const listOf = <Subject,>(of: Place<Subject>, subject: Subject) => `${of.home(subject)}/-/${of.members}`

/** What those who manage members see of invitations on the page of the members (IV-6). */
export async function invitationsSection<Subject>(ctx: Context, of: Place<Subject>, subject: Subject, view: PageView) {
  const source = of.memberSource(subject)
  const { items, total } = await listInvitations(ctx, source, { page: 1, per_page: MAX_SHOWN })
  const f = fieldsOf(view, invited).invitation
  const at = `${listOf(of, subject)}/invitations`
  return (
    <section>
      <h2>{t('Invitations by e-mail')}</h2>
      <FormTag view={view} action={at} class="form inline">
        <FormFaults view={view} />
        <Field {...f.emails} required label={t('E-mail addresses')} hint={t('Several are separated by commas.')} />
        <SelectField {...f.access_level} label={t('Role')} value="30" choices={levelChoices(levelsToGive(source))} />
        <Field {...f.expires_at} label={t('Until')} />
        <Submit label={t('Invite')} />
      </FormTag>
      {!ctx.mail && (
        <p class="hint">{t('No mail is sent by this service. Who has one of these addresses accepts on the page of their invitations.')}</p>
      )}
      {items.length > 0 && (
        <Rows empty="">
          {items.map(({ invitation: { id, email, access_level, expires_at, created_at }, created_by }) => (
            <Row
              key={id}
              actions={
                access_level <= source.level && (
                  <ActionButton view={view} action={`${at}/${inUrl(email)}`} method="DELETE" label={t('Withdraw')} what={email} class="danger" />
                )
              }
            >
              <strong>{email}</strong>
              <span class="dim">
                {levelName(access_level)}
                {expires_at !== null && ` · ${t('until {day}', { day: dayText(new Date(expires_at)) })}`}
                {' · '}
                <Phrase text="invited by {name} {time}" name={created_by.name} time={<Time at={created_at} />} />
              </span>
            </Row>
          ))}
        </Rows>
      )}
      {total > MAX_SHOWN && <p class="hint">{t('{total} later ones are not shown.', { total: total - MAX_SHOWN })}</p>}
    </section>
  )
}

/** The forms of that section. */
export function invitationForms<Subject extends ProjectSubject | GroupSubject>(of: Place<Subject>, on: Page) {
  const at = `${of.at}/${of.members}/invitations` as const

  const sending = form({
    at,
    access: of.on('manage_members'),
    input: invited,
    on,
    async submit({ ctx, caller, subject, input: { invitation } }) {
      const { emails = [], ...grant } = invitation
      if (emails.length === 0) throw invalidRecord({ emails: ["can't be blank"] })
      const faults = await invite(ctx, of.memberSource(subject), caller, { ...grant, emails, user_ids: [] })
      const texts = Object.entries(faults).map(([email, text]) => `${email}: ${text}`)
      if (texts.length > 0) throw invalidRecord({ emails: texts })
      return new Redirect(listOf(of, subject), {
        notice: plural(emails.length, '{email} is invited.', '{count} people are invited.', { email: emails[0] }),
      })
    },
  })

  const withdrawal = form({
    at: `${at}/:email`,
    method: 'DELETE',
    access: of.on('manage_members'),
    input: z.object({ email: str() }),
    async submit({ ctx, subject, input: { email } }) {
      await withdrawInvitation(ctx, of.memberSource(subject), email)
      return new Redirect(listOf(of, subject), { notice: t('The invitation of {email} is withdrawn.', { email }) })
    },
  })

  return [sending, withdrawal]
}
