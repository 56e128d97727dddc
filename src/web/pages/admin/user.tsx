import { z } from 'zod'
import type { SignedIn } from '../../../access/actor.js'
import { adminPage } from '../../../access/rules.js'
import { mayBeImpersonated, maySignIn } from '../../../access/sessions.js'
import type { Context } from '../../../context.js'
import { conflict, forbidden, invalidRecord, notFound } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { oneOf, opt, orDefault, rowId, str } from '../../../http/params.js'
import { listEmails } from '../../../services/identity/emails.js'
import { findGpgKey, listGpgKeys, removeGpgKey } from '../../../services/identity/gpg-keys.js'
import { getImpersonationToken, listImpersonationTokens, revokeImpersonationToken } from '../../../services/identity/impersonation-tokens.js'
import { findKey, listKeys, removeKey } from '../../../services/identity/keys.js'
import { mailLink } from '../../../services/identity/links/mail.js'
import { unlinkIdentity } from '../../../services/identity/sign-in/identities.js'
import { disableSecondFactor } from '../../../services/identity/sign-in/second-factor.js'
import { approveUser, refuseUser } from '../../../services/identity/sign-in/sign-up.js'
import { getToken, listTokens, markRevoked } from '../../../services/identity/tokens.js'
import { activate, DORMANT_DAYS, deactivate, isDormant, isLastAdministrator, setBanned, setBlocked } from '../../../services/identity/user-state.js'
import { findUserByName, loadUser, type User, type UserRecord } from '../../../services/identity/users.js'
import { removeUser } from '../../../services/operations/user-removal.js'
import { changeAccount } from '../../components/accounts/change-account.js'
import { ScopeBadges } from '../../components/accounts/scopes.js'
import { Facts, numberText } from '../../components/facts.js'
import { ActionButton, Copied, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { Avatar } from '../../components/people/avatar.js'
import { dayText, LastUsed, Time } from '../../components/time.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { inUrl } from '../../links.js'
import { form, type Html, type PageView, page, Redirect } from '../../page.js'
import { adminUserPath, Kinds, kinds, limitOf, StateBadges } from './user-fields.js'

const LIST = '/admin/users'
const AT = `${LIST}/:username`
/** The most keys and tokens of each kind that are shown. */
const MAX_SHOWN = 100

const named = { username: str() }

/** The account with a name; 404 for those that are no person's. */
export async function accountOf(ctx: Context, { username }: { username: string }): Promise<User> {
  const user = await findUserByName(ctx, username)
  if (user?.kind !== 'human' || user.removal !== null) throw notFound(t('User'))
  return user
}

interface Credentials {
  emails: Awaited<ReturnType<typeof listEmails>>['items']
  keys: Awaited<ReturnType<typeof listKeys>>
  gpgKeys: Awaited<ReturnType<typeof listGpgKeys>>
  tokens: Awaited<ReturnType<typeof listTokens>>
  impersonations: Awaited<ReturnType<typeof listImpersonationTokens>>
}

async function credentialsOf(ctx: Context, caller: SignedIn, user: User): Promise<Credentials> {
  const first = { page: 1, per_page: MAX_SHOWN }
  const [{ items: emails }, keys, gpgKeys, tokens, impersonations] = await Promise.all([
    listEmails(ctx, user, first),
    listKeys(ctx, user, first),
    listGpgKeys(ctx, user, first),
    listTokens(ctx, caller, { user_id: user.id, state: 'active', sort: 'created_desc', ...first }),
    listImpersonationTokens(ctx, user, { state: 'active', ...first }),
  ])
  return { emails, keys, gpgKeys, tokens, impersonations }
}

export const adminUserPage = page({
  at: AT,
  access: adminPage,
  input: z.object(named),
  async show({ ctx, caller, input, view }) {
    const found = await accountOf(ctx, input)
    const [user, credentials, dormant, last] = await Promise.all([
      loadUser(ctx, found.id),
      credentialsOf(ctx, caller, found),
      isDormant(ctx, ctx.db.write, found),
      isLastAdministrator(ctx, found),
    ])
    const at = adminUserPath(user.username)
    return {
      title: user.name,
      body: (
        <AdminLayout view={view} at={LIST} title={user.name}>
          <FormFaults view={view} />
          <div class="row start">
            <Avatar view={view} user={user} size="huge" />
            <span>
              <a href={`${view.links.prefix}/${inUrl(user.username)}`}>@{user.username}</a> <StateBadges user={user} />
            </span>
          </div>
          <Facts
            facts={[
              [t('Id'), String(user.id)],
              [t('E-mail'), user.email],
              [
                t('Further addresses'),
                credentials.emails.map(({ email, confirmed_at }) => (confirmed_at ? email : t('{email} (not confirmed)', { email }))).join(', '),
              ],
              [
                t('Personal projects'),
                t('{count} of at most {limit}', { count: numberText(user.personal_projects), limit: numberText(user.projects_limit) }),
              ],
              [t('May create groups'), user.can_create_group ? t('yes') : t('no')],
              [t('Second factor'), user.two_factor_enabled ? t('on') : t('off')],
              [t('Password'), user.password_hash === null ? t('none') : user.password_expired ? t('to be changed at the next sign-in') : t('set')],
              [t('Created'), <Time at={user.created_at} />],
              [t('Last active'), user.last_activity_on ? dayText(new Date(user.last_activity_on)) : t('never')],
            ]}
          />
          <p class="toolbar">
            <a class="button" href={`${view.links.prefix}${at}/edit`}>
              {t('Edit')}
            </a>
            <a class="button" href={`${view.links.prefix}/admin/audit_log?actor=${encodeURIComponent(user.username)}`}>
              {t('What they did')}
            </a>
          </p>
          <AccountActions ctx={ctx} view={view} at={at} user={user} last={last} mayDeactivate={user.state === 'active' && dormant && !last} />
          <CredentialLists view={view} at={at} user={user} credentials={credentials} />
          {!last && <Removal view={view} at={at} user={user} />}
        </AdminLayout>
      ),
    }
  },
})

interface PartProps {
  view: PageView
  at: string
  user: UserRecord
}

interface AccountActionsProps extends PartProps {
  ctx: Pick<Context, 'mail' | 'config'>
  /** They are the last active administrator. */
  last: boolean
  /** They have been away for so long that they can be deactivated. */
  mayDeactivate: boolean
}

type ActionName =
  | 'approve'
  | 'reject'
  | 'impersonate'
  | 'activate'
  | 'block'
  | 'unblock'
  | 'ban'
  | 'unban'
  | 'confirm'
  | 'reset_password'
  | 'disable_two_factor'

/** Whether an account is in a state for which its page offers an action, and its form takes it (WB-414). */
const isOffered = (name: ActionName, { config, mail }: Pick<Context, 'mail' | 'config'>, user: User): boolean =>
  ({
    approve: user.state === 'blocked_pending_approval',
    reject: user.state === 'blocked_pending_approval',
    impersonate: config.impersonation && mayBeImpersonated(user),
    activate: user.state === 'deactivated',
    block: maySignIn(user),
    unblock: user.state === 'blocked',
    ban: user.state === 'active',
    unban: user.state === 'banned',
    confirm: user.confirmed_at === null,
    reset_password: mail !== null && maySignIn(user),
    disable_two_factor: user.two_factor_enabled && !user.admin,
  })[name]

const AccountActions = ({ ctx, view, at, user, last, mayDeactivate }: AccountActionsProps) => (
  <>
    <h2>{t('Account')}</h2>
    <div class="toolbar">
      {isOffered('approve', ctx, user) && (
        <>
          <ActionButton view={view} action={`${at}/approve`} method="PUT" label={t('Approve')} class="primary" />
          <ActionButton view={view} action={`${at}/reject`} method="DELETE" label={t('Reject and remove')} class="danger" />
        </>
      )}
      {isOffered('impersonate', ctx, user) && <ActionButton view={view} action={`${at}/impersonate`} label={t('Act as this user')} />}
      {isOffered('activate', ctx, user) && <ActionButton view={view} action={`${at}/activate`} method="PUT" label={t('Activate')} class="primary" />}
      {isOffered('block', ctx, user) && !last && <ActionButton view={view} action={`${at}/block`} method="PUT" label={t('Block')} class="danger" />}
      {isOffered('ban', ctx, user) && !last && <ActionButton view={view} action={`${at}/ban`} method="PUT" label={t('Ban')} class="danger" />}
      {mayDeactivate && <ActionButton view={view} action={`${at}/deactivate`} method="PUT" label={t('Deactivate')} />}
      {isOffered('unblock', ctx, user) && <ActionButton view={view} action={`${at}/unblock`} method="PUT" label={t('Unblock')} />}
      {isOffered('unban', ctx, user) && <ActionButton view={view} action={`${at}/unban`} method="PUT" label={t('Unban')} />}
      {isOffered('confirm', ctx, user) && <ActionButton view={view} action={`${at}/confirm`} method="PUT" label={t('Confirm the address')} />}
      {isOffered('reset_password', ctx, user) && (
        <ActionButton view={view} action={`${at}/reset_password`} label={t('Mail a link to set a password')} />
      )}
      <ActionButton view={view} action={`${at}/temporary_password`} label={t('Make a temporary password')} />
      {isOffered('disable_two_factor', ctx, user) && (
        <ActionButton view={view} action={`${at}/disable_two_factor`} method="PATCH" label={t('Turn off the second factor')} class="danger" />
      )}
    </div>
    {last && <p class="dim">{t('The only administrator cannot be blocked or removed, nor lose these rights: make somebody else one first.')}</p>}
    {user.state === 'active' && !last && (
      <p class="dim">
        {t(
          'A blocked user cannot sign in, and no token or key of theirs works, nor those of a banned one, who is not let in again by unblocking. Nothing of theirs is removed.',
        )}
      </p>
    )}
    {user.state === 'deactivated' && (
      <p class="dim">{t('No token or key of theirs works and they get no mails, until they sign in again or are activated.')}</p>
    )}
    {mayDeactivate && (
      <p class="dim">
        <Phrase
          text="They have not been here in the past {dormantdays} days, and can be deactivated: no token or key of theirs works and they get no mails, until they sign in again."
          dormantdays={DORMANT_DAYS}
        />
      </p>
    )}
    {user.two_factor_enabled && user.admin && (
      <p class="dim">
        <Phrase
          text="The second factor of an administrator is turned off on the machine: {code}"
          code={<code>roost user {user.username} --no-second-factor</code>}
        />
      </p>
    )}
  </>
)

const more = (shown: number, total: number) =>
  total > shown && (
    <p class="dim">
      <Phrase text="Of {number} the first {shown} are shown." number={numberText(total)} shown={shown} />
    </p>
  )

function CredentialLists({ view, at, user, credentials: { keys, gpgKeys, tokens, impersonations } }: PartProps & { credentials: Credentials }) {
  const remove = (action: string, what: string, label = t('Revoke')) => (
    <ActionButton view={view} action={action} method="DELETE" label={label} what={what} class="danger" />
  )
  return (
    <>
      <h2>{t('Identities')}</h2>
      <Rows empty={t('They sign in with a password of this service alone.')}>
        {user.identities.map(({ provider, extern_uid }) => (
          <Row key={provider} actions={remove(`${at}/identities/${inUrl(provider)}`, provider, t('Disconnect'))}>
            <strong>{provider}</strong>
            <span class="dim">{extern_uid}</span>
          </Row>
        ))}
      </Rows>
      <h2>{t('SSH keys')}</h2>
      <Rows empty={t('None.')}>
        {keys.items.map(({ id, title, fingerprint_sha256, created_at, last_used_at }) => (
          <Row key={id} actions={remove(`${at}/keys/${id}`, title, t('Remove'))}>
            <strong>{title}</strong>
            <span class="dim">
              <Phrase text="SHA256:{fingerprintSha256}, added {time}" fingerprintSha256={fingerprint_sha256} time={<Time at={created_at} />} />
              <LastUsed at={last_used_at} />
            </span>
          </Row>
        ))}
      </Rows>
      {more(keys.items.length, keys.total)}
      <h2>{t('GPG keys')}</h2>
      <Rows empty={t('None.')}>
        {gpgKeys.items.map(({ id, fingerprint, created_at }) => (
          <Row key={id} actions={remove(`${at}/gpg_keys/${id}`, fingerprint, t('Remove'))}>
            <strong>{fingerprint}</strong>
            <span class="dim">
              <Phrase text="Added {time}" time={<Time at={created_at} />} />
            </span>
          </Row>
        ))}
      </Rows>
      <h2>{t('Active tokens')}</h2>
      <Rows empty={t('None.')}>
        {[
          ...tokens.items.map((token) => ({ token, path: 'personal_access_tokens', impersonates: false })),
          ...impersonations.items.map(({ token }) => ({ token, path: 'impersonation_tokens', impersonates: true })),
        ].map(({ token, path, impersonates }) => (
          <Row key={token.id} actions={remove(`${at}/${path}/${token.id}`, token.name)}>
            <span>
              <strong>{token.name}</strong> {impersonates && <Badge kind="waiting">{t('of an administrator')}</Badge>}{' '}
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
      {more(tokens.items.length, tokens.total)}
    </>
  )
}

const confirmation = z.object({ confirm: orDefault(documented.filled(), ''), how: oneOf(['soft', 'hard']) })

const Removal = ({ view, at, user }: PartProps) => {
  const f = fieldsOf(view, confirmation)
  return (
    <>
      <h2>{t('Remove')}</h2>
      <p>
        {t(
          'The account goes with its personal projects, snippets and keys. What it wrote elsewhere stays under the name of the ghost user, or goes too. This cannot be undone; a blocked account keeps everything.',
        )}
      </p>
      <FormTag view={view} action={at} method="DELETE">
        <Field {...f.confirm} label={t('Type {username} to confirm', { username: user.username })} autocomplete="off" />
        <div class="toolbar">
          <Submit label={t('Remove, keep what they wrote')} name={f.how.name} value="soft" class="danger" />
          <Submit label={t('Remove with what they wrote')} name={f.how.name} value="hard" class="danger" />
        </div>
      </FormTag>
    </>
  )
}

export const userRemoval = form({
  at: AT,
  method: 'DELETE',
  access: adminPage,
  input: confirmation.extend(named),
  on: adminUserPage,
  async submit({ ctx, input }) {
    const user = await accountOf(ctx, input)
    if (input.confirm.trim() !== user.username) throw invalidRecord({ confirm: ['is not the username'] })
    await removeUser(ctx, user.id, input.how === 'hard', () => undefined)
    return new Redirect(LIST, { notice: t('{username} is removed.', { username: user.username }) })
  },
})

const account = z.object({
  user: z.object({
    name: orDefault(documented.title(), ''),
    username: orDefault(documented.title(), ''),
    email: orDefault(documented.email(), ''),
    ...kinds.shape,
  }),
})

export const editUserPage = page({
  at: `${AT}/edit`,
  access: adminPage,
  input: z.object(named),
  async show({ ctx, input, view }) {
    const found = await accountOf(ctx, input)
    const [user, last] = await Promise.all([loadUser(ctx, found.id), isLastAdministrator(ctx, found)])
    const f = fieldsOf(view, account).user
    return {
      title: t('Edit {name}', { name: user.name }),
      body: (
        <AdminLayout view={view} at={LIST} title={t('Edit {name}', { name: user.name })}>
          <FormTag view={view} action={adminUserPath(user.username)} method="PUT">
            <FormFaults view={view} />
            <Field {...f.name} label={t('Name')} value={user.name} />
            <Field
              {...f.username}
              label={t('Username')}
              value={user.username}
              hint={t('Personal projects move with it. Clones need their address changed.')}
            />
            <Field
              {...f.email}
              label={t('E-mail address')}
              value={user.email}
              hint={t('A new one counts as confirmed; the present one stays as a further address.')}
            />
            <Kinds view={view} fields={f} user={user} last={last} />
            <Submit label={t('Save changes')} />
          </FormTag>
        </AdminLayout>
      ),
    }
  },
})

export const userChange = form({
  at: AT,
  method: 'PUT',
  access: adminPage,
  input: account.extend(named),
  on: editUserPage,
  async submit({ ctx, input }) {
    const before = await accountOf(ctx, input)
    const { projects_limit, email, ...given } = input.user
    const limit = limitOf(projects_limit)
    await changeAccount(ctx, before.id, {
      ...given,
      ...(email.trim().toLowerCase() !== before.email && { email, skip_reconfirmation: true }),
      // limits of external users are fixed
      ...(given.external ? { can_create_group: undefined } : { projects_limit: limit }),
    })
    return new Redirect(adminUserPath(input.user.username), { notice: t('Account updated.') })
  },
})

/** A button that does something with an account, and leads back to its page. */
const action = (
  path: ActionName | 'deactivate',
  method: 'POST' | 'PUT' | 'PATCH',
  notice: () => string,
  act: (ctx: Context, user: User) => Promise<unknown>,
) =>
  form({
    at: `${AT}/${path}`,
    method,
    access: adminPage,
    input: z.object(named),
    on: adminUserPage,
    async submit({ ctx, input }) {
      const user = await accountOf(ctx, input)
      if (path !== 'deactivate' && !isOffered(path, ctx, user)) throw conflict(t('The account is not in a state in which this can be done'))
      await act(ctx, user)
      return new Redirect(adminUserPath(user.username), { notice: notice() })
    },
  })

export const userActions = [
  action(
    'approve',
    'PUT',
    () => t('The account is approved.'),
    (ctx, { id }) => approveUser(ctx, id),
  ),
  action(
    'block',
    'PUT',
    () => t('The account is blocked.'),
    (ctx, { id }) => setBlocked(ctx, id, true),
  ),
  action(
    'unblock',
    'PUT',
    () => t('The account is no longer blocked.'),
    (ctx, { id }) => setBlocked(ctx, id, false),
  ),
  action(
    'ban',
    'PUT',
    () => t('The account is banned.'),
    (ctx, { id }) => setBanned(ctx, id, true),
  ),
  action(
    'unban',
    'PUT',
    () => t('The account is no longer banned.'),
    (ctx, { id }) => setBanned(ctx, id, false),
  ),
  action(
    'deactivate',
    'PUT',
    () => t('The account is deactivated.'),
    async (ctx, { id }) => {
      if (!(await deactivate(ctx, id))) throw conflict(t('The account is deactivated already'))
    },
  ),
  action(
    'activate',
    'PUT',
    () => t('The account is active again.'),
    (ctx, { id }) => activate(ctx, id),
  ),
  action(
    'confirm',
    'PUT',
    () => t('The address is confirmed.'),
    (ctx, { id }) => changeAccount(ctx, id, { skip_reconfirmation: true }),
  ),
  action(
    'reset_password',
    'POST',
    () => t('A link to set a password is on its way.'),
    async (ctx, user) => {
      // only a confirmed address may reset a password; the first one is set from any (ML-18)
      await mailLink(ctx, ctx.db, user.confirmed_at ? 'reset' : 'welcome', user.email.toLowerCase())
    },
  ),
  action(
    'disable_two_factor',
    'PATCH',
    () => t('The second factor is off.'),
    (ctx, user) => {
      if (user.admin) throw forbidden(t('The second factor of an administrator is turned off on the machine'))
      return disableSecondFactor(ctx, user)
    },
  ),
]

export const userRejection = form({
  at: `${AT}/reject`,
  method: 'DELETE',
  access: adminPage,
  input: z.object(named),
  on: adminUserPage,
  async submit({ ctx, input }) {
    const user = await accountOf(ctx, input)
    await refuseUser(ctx, user.id)
    await removeUser(ctx, user.id, true, () => undefined)
    return new Redirect(`${LIST}?filter=waiting`, { notice: t('{username} is rejected and removed.', { username: user.username }) })
  },
})

export const temporaryPassword = form({
  at: `${AT}/temporary_password`,
  access: adminPage,
  input: z.object(named),
  on: adminUserPage,
  async submit({ ctx, input, view }): Promise<Html> {
    const user = await accountOf(ctx, input)
    const password = ctx.random.bytes('password', 15).toString('base64url')
    await changeAccount(ctx, user.id, { password })
    return {
      title: t('Temporary password'),
      headers: { 'cache-control': 'no-store' },
      body: (
        <AdminLayout view={view} at={LIST} title={t('Temporary password of {name}', { name: user.name })}>
          <p>
            <Phrase
              text="{strong} At the first sign-in with it they set one of their own; until then it opens nothing else."
              strong={<strong>{t('This is the only time that it is shown.')}</strong>}
            />
          </p>
          <Copied id="password" label={t('Password')} value={password} />
          <p>
            <a href={view.links.prefix + adminUserPath(user.username)}>
              <Phrase text="The account of {name}" name={user.name} />
            </a>
          </p>
        </AdminLayout>
      ),
    }
  },
})

/** A button that takes something away from an account. */
const removal = (path: string, notice: () => string, remove: (ctx: Context, caller: SignedIn, user: User, id: number) => Promise<unknown>) =>
  form({
    at: `${AT}/${path}/:id`,
    method: 'DELETE',
    access: adminPage,
    input: z.object({ ...named, id: rowId() }),
    on: adminUserPage,
    async submit({ ctx, caller, input }) {
      const user = await accountOf(ctx, input)
      await remove(ctx, caller, user, input.id)
      return new Redirect(adminUserPath(user.username), { notice: notice() })
    },
  })

export const userCredentials = [
  removal(
    'keys',
    () => t('SSH key removed.'),
    async (ctx, _, user, id) => removeKey(ctx, user, await findKey(ctx, user, id)),
  ),
  removal(
    'gpg_keys',
    () => t('GPG key removed.'),
    async (ctx, _, user, id) => removeGpgKey(ctx, user, await findGpgKey(ctx, user, id)),
  ),
  removal(
    'personal_access_tokens',
    () => t('The token is revoked.'),
    async (ctx, caller, user, id) => {
      const token = await getToken(ctx, caller, String(id))
      if (token.user_id !== user.id) throw notFound()
      return markRevoked(ctx, token)
    },
  ),
  removal(
    'impersonation_tokens',
    () => t('The token is revoked.'),
    async (ctx, _, user, id) => revokeImpersonationToken(ctx, await getImpersonationToken(ctx, user, id)),
  ),
]

export const userIdentity = form({
  at: `${AT}/identities/:provider`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ ...named, provider: opt(str()) }),
  on: adminUserPage,
  async submit({ ctx, input }) {
    const user = await accountOf(ctx, input)
    await unlinkIdentity(ctx, user, input.provider ?? '')
    return new Redirect(adminUserPath(user.username), { notice: t('The account is disconnected from {provider}.', { provider: input.provider }) })
  },
})
