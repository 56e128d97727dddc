import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { SCOPES } from '../../../access/scopes.js'
import * as documented from '../../../http/documented.js'
import { date, list, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import { getFeedToken, resetFeedToken } from '../../../services/identity/sign-in/feed-tokens.js'
import { createOwnToken, getToken, isActive, listTokens, markRevoked } from '../../../services/identity/tokens.js'
import { SCOPE_MEANINGS, ScopeBadges } from '../../components/accounts/scopes.js'
import { ActionButton, Checkbox, Copied, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
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
      title: 'Access tokens',
      headers: { 'cache-control': 'no-store' },
      body: (
        <SettingsLayout view={view} at={AT} title="Access tokens">
          <p>A token stands for your password in scripts, CI jobs and other programs, and for Git over HTTP.</p>
          <Rows empty="You have no active tokens.">
            {items.map((token) => (
              <Row
                key={token.id}
                actions={
                  <ActionButton view={view} action={`${AT}/${token.id}/revoke`} method="PUT" label="Revoke" what={token.name} class="danger" />
                }
              >
                <strong>{token.name}</strong>
                <span>
                  <ScopeBadges scopes={token.scopes} />
                </span>
                <span class="dim">
                  Created <Time at={token.created_at} />
                  <LastUsed at={token.last_used_at} />
                  {token.expires_at ? `, expires ${dayText(new Date(token.expires_at))}` : ', never expires'}
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={50} total={total} />
          <h2>New token</h2>
          <FormTag view={view} action={AT}>
            <FormFaults view={view} />
            <Field {...f.name} label="Name" value={input.name} hint="What it is for, so that you know which one to revoke." />
            <Field
              {...f.expires_at}
              label="Expires on"
              value={new Date(view.now.getTime() + 365 * DAY_MS).toISOString().slice(0, 10)}
              hint="Empty: it never expires."
            />
            <fieldset>
              <legend>Scopes</legend>
              {SCOPES.filter((scope) => scope !== 'sudo' || caller.user.admin).map((scope) => (
                <Checkbox key={scope} {...f.scopes} value={scope} label={scope} hint={SCOPE_MEANINGS[scope]} checked={wanted.has(scope)} />
              ))}
            </fieldset>
            <Submit label="Create token" />
          </FormTag>
          <h2>Token for feeds</h2>
          <p>
            A feed reader sees what you see with <code>?feed_token=</code> and this token at the end of the address of a feed. It opens feeds alone,
            and the calendar of your issues in a calendar program:
          </p>
          <Copied id="calendar" label="Address of your calendar" value={`${view.links.base}/dashboard/issues.ics?feed_token=${feedToken}`} />
          <Copied id="feed-token" label="Token for feeds" value={feedToken} />
          <ActionButton view={view} action="/-/profile/reset_feed_token" method="PUT" label="Reset the token for feeds" class="danger" />
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
      title: 'New access token',
      headers: { 'cache-control': 'no-store' },
      body: (
        <SettingsLayout view={view} at={AT} title={`Token “${token.name}”`}>
          <p>
            <strong>This is the only time that it is shown.</strong> Copy it now, and keep it like a password.
          </p>
          <Copied id="token" label="Token" value={value} />
          <h2>Use it</h2>
          <p>With Git, as the password:</p>
          <pre>
            <code>git clone {git}</code>
          </pre>
          <p>With the API:</p>
          <pre>
            <code>{`curl -H "PRIVATE-TOKEN: $TOKEN" ${view.links.api('/user')}`}</code>
          </pre>
          <p>
            <a href={view.links.prefix + AT}>All tokens</a>
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
    return new Redirect(AT, { notice: 'The token for feeds is another one now. Feed readers need it.' })
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
    return new Redirect(AT, { notice: `The token “${token.name}” is revoked.` })
  },
})
