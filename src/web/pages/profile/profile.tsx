import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { bool, clearable, file, opt, orDefault, str } from '../../../http/params.js'
import { removeAvatar } from '../../../services/identity/avatars.js'
import { listEmails } from '../../../services/identity/emails.js'
import { getUser } from '../../../services/identity/users.js'
import { changeAccount } from '../../components/accounts/change-account.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { Avatar, PictureField, pictureOf } from '../../components/people/avatar.js'
import { fieldsOf } from '../../fields.js'
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
      title: 'Profile',
      body: (
        <SettingsLayout view={view} at={AT} title="Profile">
          <FormTag view={view} action={AT} method="PUT" files>
            <FormFaults view={view} />
            <div class="row start">
              <Avatar view={view} user={user} size="huge" />
              <PictureField {...f.avatar} />
            </div>
            <Field {...f.name} label="Name" value={user.name} autocomplete="name" />
            <SelectField
              {...f.public_email}
              label="Public e-mail"
              value={user.public_email}
              choices={[{ value: '', label: 'None: no address is shown' }, ...addresses.map((value) => ({ value, label: value }))]}
            />
            <TextField {...f.bio} label="About you" value={user.bio} rows={3} hint="At most 255 characters." />
            <div class="columns">
              <Field {...f.location} label="Location" value={user.location} />
              <Field {...f.organization} label="Organization" value={user.organization} autocomplete="organization" />
              <Field {...f.website_url} label="Website" value={user.website_url} type="url" autocomplete="url" />
              <Field {...f.messenger} label="Messenger" value={user.messenger} />
              <Field {...f.jobsnet} label="Job network" value={user.jobsnet} />
              <Field {...f.microblog} label="Microblog" value={user.microblog} />
            </div>
            <Checkbox
              {...f.private_profile}
              label="Keep my activity private"
              hint="Only you and administrators see when you were active and what you did."
              checked={user.private_profile}
            />
            <Submit label="Save profile" />
          </FormTag>
          {hasAvatar && <ActionButton view={view} action="/-/profile/avatar" method="DELETE" label="Remove avatar" class="danger" />}
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
    const { avatar, ...rest } = user
    await changeAccount(ctx, caller.user.id, { ...rest, avatar: pictureOf(avatar) })
    return new Redirect(AT, { notice: 'Profile updated.' })
  },
})

export const avatarRemoval = form({
  at: '/-/profile/avatar',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  async submit({ ctx, caller }) {
    await removeAvatar(ctx, 'user', caller.user.id)
    return new Redirect(AT, { notice: 'Avatar removed.' })
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
      title: 'Account',
      body: (
        <SettingsLayout view={view} at={ACCOUNT} title="Account">
          <h2>Username</h2>
          <FormTag view={view} action="/-/profile/update_username" method="PUT">
            <FormFaults view={view} />
            <Field
              {...username}
              label="Username"
              value={caller.user.username}
              hint="Your personal projects move with it. Clones need their address changed."
              autocomplete="username"
            />
            <Submit label="Change username" class="" />
          </FormTag>
          {await identitiesSection(ctx, caller.user, view)}
          <h2>Remove this account</h2>
          <p>
            Your personal projects, snippets and keys are removed at once. What you wrote elsewhere stays, under the name of a user that stands for
            removed accounts. This cannot be undone.
          </p>
          <FormTag view={view} action="/users" method="DELETE">
            {password_hash === null ? (
              <Field {...removal.username} label="Your username" hint="Typed once more, as this account has no password." />
            ) : (
              <Field {...removal.password} label="Your password" type="password" autocomplete="current-password" />
            )}
            <Submit label="Remove my account" class="danger" />
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
    return new Redirect(ACCOUNT, { notice: 'Username updated.' })
  },
})
