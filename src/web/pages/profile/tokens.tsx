import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { SCOPES } from '../../../access/scopes.js'
import * as documented from '../../../http/documented.js'
import { date, list, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import { getFeedToken, resetFeedToken } from '../../../services/identity/sign-in/feed-tokens.js'
import { createOwnToken, getToken, isActive, listTokens, markRevoked } from '../../../services/identity/tokens.js'
import { ScopeBadges, scopeMeanings } from '../../components/accounts/scopes.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/-/profile/personal_access_tokens'

const DAY_MS = 86_400_000

const newToken = z.object({
  personal_access_token: z.object({ name: orDefault(documented.title(), ''), expires_at: opt(date()), scopes: orDefault(list(str()), []) }),
})

export const tokensPage = page({
  at: AT,
  formerly: ['/profile/personal_access_tokens', '/-/user_settings/personal_access_tokens'],
  access: signedIn,
  ownerOnly: true,
  // a program leads here with the name and the scopes that it wants
  input: z.object({ name: opt(str()), scopes: opt(str()), page: paging.page }),
  async show({ ctx, caller, input, view }) {
    const filter = { user_id: caller.user.id, state: 'active', sort: 'created_desc', page: input.page, per_page: 50 } as const
    const [{ items, total }, feedToken] = await Promise.all([listTokens(ctx, caller, filter), getFeedToken(ctx, caller)])
    const wanted = new Set((input.scopes ?? '').split(',').map((scope) => scope.trim()))
    const f = fieldsOf(view, newToken).personal_access_token
    return {
      title: t('Access tokens'),
      headers: { 'cache-control': 'no-store' },
      body: (
        <SettingsLayout view={view} at={AT} title={t('Access tokens')}>
          <p>{t('A token stands for your password in scripts, CI jobs and other programs, and for Git over HTTP.')}</p>
          <Rows empty={t('You have no active tokens.')}>
            {items.map((token) => (
              <Row
                key={token.id}
                actions={
                  <ActionButton view={view} action={`${AT}/${token.id}/revoke`} method="PUT" label={t('Revoke')} what={token.name} class="danger" />
                }
              >
                <strong>{token.name}</strong>
                <span>
                  <ScopeBadges scopes={token.scopes} />
                </span>
                <span class="dim">
                  <Phrase text="Created {time}" time={<Time at={token.created_at} />} />
                  <LastUsed at={token.last_used_at} />
                  {token.expires_at ? t(', expires {day}', { day: dayText(new Date(token.expires_at)) }) : t(', never expires')}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={50} total={total} />
          <h2>{t('New token')}</h2>
          <FormTag view={view} action={AT}>
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} value={input.name} hint={t('What it is for, so that you know which one to revoke.')} />
            <Field
              {...f.expires_at}
              label={t('Expires on')}
              value={new Date(view.now.getTime() + 365 * DAY_MS).toISOString().slice(0, 10)}
              hint={t('Empty: it never expires.')}
            />
            <fieldset>
              <legend>{t('Scopes')}</legend>
              {SCOPES.filter((scope) => scope !== 'sudo' || caller.user.admin).map((scope) => (
                <Checkbox key={scope} {...f.scopes} value={scope} label={scope} hint={scopeMeanings()[scope]} checked={wanted.has(scope)} />
              ))}
            </fieldset>
            <Submit label={t('Create token')} />
          </FormTag>
          <h2>{t('Token for feeds')}</h2>
          <p>
            <Phrase
              text="A feed reader sees what you see with {code} and this token at the end of the address of a feed. It opens feeds alone, and the calendar of your issues in a calendar program:"
              code={<code>?feed_token=</code>}
            />
          </p>
          <Copied id="calendar" label={t('Address of your calendar')} value={`${view.links.base}/dashboard/issues.ics?feed_token=${feedToken}`} />
          <Copied id="feed-token" label={t('Token for feeds')} value={feedToken} />
          <ActionButton view={view} action="/-/profile/reset_feed_token" method="PUT" label={t('Reset the token for feeds')} class="danger" />
        </SettingsLayout>
      ),
    }
  },
})

export const tokenForm = form({
  at: AT,
  access: signedIn,
  ownerOnly: true,
  input: newToken,
  on: tokensPage,
  async submit({ ctx, caller, input, view }) {
    const { token, value } = await createOwnToken(ctx, caller, input.personal_access_token)
    const git = view.links.http('GROUP/PROJECT').replace('://', `://${caller.user.username}@`)
    return {
      title: t('New access token'),
      headers: { 'cache-control': 'no-store' },
      body: (
        <SettingsLayout view={view} at={AT} title={t('Token “{name}”', { name: token.name })}>
          <p>
            <Phrase
              text="{strong} Copy it now, and keep it like a password."
              strong={<strong>{t('This is the only time that it is shown.')}</strong>}
            />
          </p>
          <Copied id="token" label={t('Token')} value={value} />
          <h2>{t('Use it')}</h2>
          <p>{t('With Git, as the password:')}</p>
          <pre>
            <code>git clone {git}</code>
          </pre>
          <p>{t('With the API:')}</p>
          <pre>
            <code>{`curl -H "PRIVATE-TOKEN: $TOKEN" ${view.links.api('/user')}`}</code>
          </pre>
          <p>
            <a href={view.links.prefix + AT}>{t('All tokens')}</a>
          </p>
        </SettingsLayout>
      ),
    }
  },
})

export const feedTokenReset = form({
  at: '/-/profile/reset_feed_token',
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  async submit({ ctx, caller }) {
    await resetFeedToken(ctx, caller)
    return new Redirect(AT, { notice: t('The token for feeds is another one now. Feed readers need it.') })
  },
})

export const tokenRevocation = form({
  at: `${AT}/:token_id/revoke`,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: z.object({ token_id: rowId() }),
  async submit({ ctx, caller, input }) {
    // an administrator revokes the tokens of others elsewhere
    const own = { ...caller, user: { ...caller.user, admin: false } }
    const token = await getToken(ctx, own, String(input.token_id))
    if (isActive(ctx, token)) await markRevoked(ctx, token)
    return new Redirect(AT, { notice: t('The token “{name}” is revoked.', { name: token.name }) })
  },
})
