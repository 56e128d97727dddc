import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, clearable, file, oneOfOrBlank, opt, orDefault, str } from '../../../http/params.js'
import { removeAvatar } from '../../../services/identity/avatars.js'
import { listEmails } from '../../../services/identity/emails.js'
import { getUser } from '../../../services/identity/users.js'
import { changeAccount } from '../../components/accounts/change-account.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { Avatar, PictureField, pictureOf } from '../../components/people/avatar.js'
import { fieldsOf } from '../../fields.js'
import { LANGUAGE_NAMES, LANGUAGES, t } from '../../language/language.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'
import { identitiesSection } from './identities-section.js'

const AT = '/-/profile'

const text = opt(str())
const profile = z.object({
  user: z.object({
    name: opt(documented.title()),
    public_email: text,
    bio: clearable().optional(),
    location: clearable().optional(),
    organization: text,
    website_url: text,
    messenger: text,
    jobsnet: text,
    microblog: text,
    private_profile: orDefault(bool(), false),
    preferred_language: opt(oneOfOrBlank(LANGUAGE_NAMES)),
    avatar: opt(file()),
  }),
})

export const profilePage = page({
  at: AT,
  formerly: ['/profile', '/-/user_settings/profile'],
  robots: 'disallow',
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const [user, { items: emails }] = await Promise.all([getUser(ctx, caller.user.id), listEmails(ctx, caller.user, { page: 1, per_page: 100 })])
    const addresses = [user.email, ...emails.filter(({ confirmed_at }) => confirmed_at !== null).map(({ email }) => email)]
    const hasAvatar = user.avatar_file !== null
    const f = fieldsOf(view, profile).user
    return {
      title: t('Profile'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('Profile')}>
          <FormTag view={view} action={AT} method="PUT" files>
            <FormFaults view={view} />
            <div class="row start">
              <Avatar view={view} user={user} size="huge" />
              <PictureField {...f.avatar} />
            </div>
            <Field {...f.name} label={t('Name')} value={user.name} autocomplete="name" />
            <SelectField
              {...f.public_email}
              label={t('Public e-mail')}
              value={user.public_email}
              choices={[{ value: '', label: t('None: no address is shown') }, ...addresses.map((value) => ({ value, label: value }))]}
            />
            <TextField {...f.bio} label={t('About you')} value={user.bio} rows={3} hint={t('At most 255 characters.')} />
            <div class="columns">
              <Field {...f.location} label={t('Location')} value={user.location} />
              <Field {...f.organization} label={t('Organization')} value={user.organization} autocomplete="organization" />
              <Field {...f.website_url} label={t('Website')} value={user.website_url} type="url" autocomplete="url" />
              <Field {...f.messenger} label={t('Messenger')} value={user.messenger} />
              <Field {...f.jobsnet} label={t('Job network')} value={user.jobsnet} />
              <Field {...f.microblog} label={t('Microblog')} value={user.microblog} />
            </div>
            <SelectField
              {...f.preferred_language}
              label={t('Language of pages')}
              value={user.preferred_language}
              choices={[{ value: '', label: t('That of the browser') }, ...Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))]}
            />
            <Checkbox
              {...f.private_profile}
              label={t('Keep my activity private')}
              hint={t('Only you and administrators see when you were active and what you did.')}
              checked={user.private_profile}
            />
            <Submit label={t('Save profile')} />
          </FormTag>
          {hasAvatar && <ActionButton view={view} action="/-/profile/avatar" method="DELETE" label={t('Remove avatar')} class="danger" />}
        </SettingsLayout>
      ),
    }
  },
})

export const profileForm = form({
  at: AT,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: profile,
  files: true,
  on: profilePage,
  async submit({ ctx, caller, input: { user } }) {
    const { avatar, preferred_language: chosen, ...rest } = user
    // a form without the field leaves it
    const language = 'preferred_language' in user ? { preferred_language: chosen || null } : {}
    await changeAccount(ctx, caller.user.id, { ...rest, ...language, avatar: pictureOf(avatar) })
    return new Redirect(AT, { notice: t('Profile updated.') })
  },
})

export const avatarRemoval = form({
  at: '/-/profile/avatar',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  async submit({ ctx, caller }) {
    await removeAvatar(ctx, 'user', caller.user.id)
    return new Redirect(AT, { notice: t('Avatar removed.') })
  },
})

const newUsername = z.object({ user: z.object({ username: orDefault(documented.namespacePath(), '') }) })

/** An account without a password is removed by its name. */
export const accountRemoval = z.object({ password: orDefault(documented.filled(), ''), username: orDefault(documented.filled(), '') })

const ACCOUNT = '/-/profile/account'

export const accountPage = page({
  at: ACCOUNT,
  formerly: ['/profile/account'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const { password_hash } = await getUser(ctx, caller.user.id)
    const { username } = fieldsOf(view, newUsername).user
    const removal = fieldsOf(view, accountRemoval)
    return {
      title: t('Account'),
      body: (
        <SettingsLayout view={view} at={ACCOUNT} title={t('Account')}>
          <h2>{t('Username')}</h2>
          <FormTag view={view} action="/-/profile/update_username" method="PUT">
            <FormFaults view={view} />
            <Field
              {...username}
              label={t('Username')}
              value={caller.user.username}
              hint={t('Your personal projects move with it. Clones need their address changed.')}
              autocomplete="username"
            />
            <Submit label={t('Change username')} class="" />
          </FormTag>
          {await identitiesSection(ctx, caller.user, view)}
          <h2>{t('Remove this account')}</h2>
          <p>
            {t(
              'Your personal projects, snippets and keys are removed at once. What you wrote elsewhere stays, under the name of a user that stands for removed accounts. This cannot be undone.',
            )}
          </p>
          <FormTag view={view} action="/users" method="DELETE">
            {password_hash === null ? (
              <Field {...removal.username} label={t('Your username')} hint={t('Typed once more, as this account has no password.')} />
            ) : (
              <Field {...removal.password} label={t('Your password')} type="password" autocomplete="current-password" />
            )}
            <Submit label={t('Remove my account')} class="danger" />
          </FormTag>
        </SettingsLayout>
      ),
    }
  },
})

export const usernameForm = form({
  at: '/-/profile/update_username',
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: newUsername,
  on: accountPage,
  async submit({ ctx, caller, input }) {
    await changeAccount(ctx, caller.user.id, { username: input.user.username })
    return new Redirect(ACCOUNT, { notice: t('Username updated.') })
  },
})
