import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { Failure, failureText } from '../../../failures.js'
import { opt, orDefault, rowId, str } from '../../../http/params.js'
import {
  acceptInvitation,
  declineInvitation,
  findInvitation,
  getReceived,
  listReceived,
  type ReceivedInvitation,
} from '../../../services/groups/invited.js'
import { FormTag, Submit } from '../../components/form.js'
import { Row, Rows } from '../../components/list.js'
import { levelName } from '../../components/projects/levels.js'
import { dayText, Time } from '../../components/time.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, type PageView, page, Redirect } from '../../page.js'
import { countBadLink } from './limits.js'

const AT = '/-/invites'
/** No token is longer. */
const MAX_TOKEN_LENGTH = 100
const token = () => orDefault(str(), '').transform((text) => text.slice(0, MAX_TOKEN_LENGTH))
/** The address of the page may have a secret. */
const headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** Accepts or declines an invitation; by the token of the link, or by its id, if it was sent to one's own address. */
const Answer = ({ view, of: { invitation, place }, token }: { view: PageView; of: ReceivedInvitation; token?: string }) => (
  <>
    {(['accept', 'decline'] as const).map((answer) => (
      <FormTag key={answer} view={view} action={`${AT}/${answer}`} class="action">
        {token === undefined ? <input type="hidden" name="id" value={invitation.id} /> : <input type="hidden" name="token" value={token} />}
        {answer === 'accept' ? (
          <Submit label={t('Accept')} />
        ) : (
          <button type="submit" aria-label={t('Decline {fullPath}', { fullPath: place.fullPath })}>
            {t('Decline')}
          </button>
        )}
      </FormTag>
    ))}
  </>
)

const What = ({ of: { invitation, place, created_by } }: { of: ReceivedInvitation }) => (
  <span class="wrap">
    <Phrase
      text="{name} invites you to the {kind} {fullPath}, with the role {levelName}"
      name={created_by.name}
      kind={said(place.kind)}
      fullPath={<strong>{place.fullPath}</strong>}
      levelName={levelName(invitation.access_level)}
    />
    {invitation.expires_at !== null && ` ${t('until {day}', { day: dayText(new Date(invitation.expires_at)) })}`}
  </span>
)

/** The invitation of a link, or those to one's own confirmed addresses (IV-4, IV-7). */
export const invitationsPage = page({
  at: AT,
  access: signedIn,
  ownerOnly: true,
  input: z.object({ token: token() }),
  async show({ ctx, caller, input, view }) {
    const found = input.token === '' ? null : await findInvitation(ctx, input.token)
    if (input.token !== '' && !found) {
      await countBadLink(ctx)
      return {
        title: t('This link does not work'),
        narrow: true,
        status: 404,
        headers,
        body: (
          <>
            <h1>{t('This link does not work')}</h1>
            <p>{t('The invitation was answered or withdrawn, has expired, or the link is not complete.')}</p>
          </>
        ),
      }
    }
    if (found)
      return {
        title: t('Invitation'),
        narrow: true,
        headers,
        body: (
          <>
            <h1>{t('Invitation')}</h1>
            <p>
              <What of={found} />.
            </p>
            <div class="actions start">
              <Answer view={view} of={found} token={input.token} />
            </div>
          </>
        ),
      }
    const received = await listReceived(ctx, caller)
    return {
      title: t('Invitations'),
      headers,
      body: (
        <SettingsLayout view={view} at={AT} title={t('Invitations')}>
          <p>{t('Those to your confirmed e-mail addresses.')}</p>
          <Rows empty={t('There are no invitations.')}>
            {received.map((each) => (
              <Row key={each.invitation.id} actions={<Answer view={view} of={each} />}>
                <What of={each} />
                <span class="dim">
                  <Time at={each.invitation.created_at} />
                </span>
              </Row>
            ))}
          </Rows>
        </SettingsLayout>
      ),
    }
  },
})

const answered = z.object({ token: token(), id: opt(rowId()) })
const by = ({ token, id }: z.infer<typeof answered>) => (token === '' ? { id: id ?? 0 } : { token })
const homeOf = ({ place }: ReceivedInvitation) => (place.kind === 'group' ? `/groups/${place.fullPath}` : `/${place.fullPath}`)

export const invitationAcceptance = form({
  at: `${AT}/accept`,
  access: signedIn,
  ownerOnly: true,
  input: answered,
  async submit({ ctx, caller, input }) {
    const found = await getReceived(ctx, caller, by(input))
    try {
      await acceptInvitation(ctx, caller, found)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'conflict') throw error
      return new Redirect(AT, { notice: `${failureText(error.body)}.` })
    }
    return new Redirect(homeOf(found), { notice: t('You are a member of {fullPath} now.', { fullPath: found.place.fullPath }) })
  },
})

export const invitationRefusal = form({
  at: `${AT}/decline`,
  access: signedIn,
  ownerOnly: true,
  input: answered,
  async submit({ ctx, caller, input }) {
    const found = await getReceived(ctx, caller, by(input))
    await declineInvitation(ctx, found)
    return new Redirect(AT, { notice: t('The invitation to {fullPath} is declined.', { fullPath: found.place.fullPath }) })
  },
})
