import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { Failure, invalidRecord } from '../../../failures.js'
import { bool, clearable, file, opt, orDefault, str } from '../../../http/params.js'
import { removeAvatar } from '../../../services/identity/avatars.js'
import { listEmails } from '../../../services/identity/emails.js'
import { type UserChange, updateUser } from '../../../services/identity/user-update.js'
import { getUser } from '../../../services/identity/users.js'
import { Avatar, PictureField, pictureOf } from '../../components/avatar.js'
import { ActionButton, Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../components/form.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'
import { identitiesSection } from './identities-section.js'

const AT = '/-/profile'

/** Changes the caller's own account; what is wrong is said as of any other record. */
export async function changeOwn(ctx: Context, id: number, change: UserChange): Promise<void> {
  await updateUser(ctx, id, change).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'not_found' || typeof error.body === 'string') throw error
    const { message } = error.body as { message: Record<string, string[]> | string }
    throw invalidRecord(typeof message === 'string' ? { base: [message] } : message)
  })
}

const FIELDS = ['name', 'avatar', 'public_email', 'bio', 'location', 'organization', 'website_url', 'messenger', 'jobsnet', 'microblog']

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
    return {
      title: 'Profile',
      body: (
        <SettingsLayout view={view} at={AT} title="Profile">
          <FormTag view={view} action={AT} method="PUT" files>
            <FormFaults view={view} fields={FIELDS} />
            <div class="row start">
              <Avatar view={view} user={user} size={64} />
              <PictureField view={view} name="user[avatar]" />
            </div>
            <Field view={view} name="user[name]" label="Name" value={user.name} autocomplete="name" maxlength={255} required />
            <SelectField
              view={view}
              name="user[public_email]"
              label="Public e-mail"
              value={user.public_email}
              choices={[{ value: '', label: 'None: no address is shown' }, ...addresses.map((value) => ({ value, label: value }))]}
            />
            <TextField view={view} name="user[bio]" label="About you" value={user.bio} rows={3} hint="At most 255 characters." />
            <div class="columns">
              <Field view={view} name="user[location]" label="Location" value={user.location} />
              <Field view={view} name="user[organization]" label="Organization" value={user.organization} autocomplete="organization" />
              <Field view={view} name="user[website_url]" label="Website" value={user.website_url} type="url" autocomplete="url" />
              <Field view={view} name="user[messenger]" label="Messenger" value={user.messenger} />
              <Field view={view} name="user[jobsnet]" label="Job network" value={user.jobsnet} />
              <Field view={view} name="user[microblog]" label="Microblog" value={user.microblog} />
            </div>
            <Checkbox
              view={view}
              name="user[private_profile]"
              label="Keep my activity private"
              hint="Only you and administrators see when you were active and what you did."
              checked={user.private_profile}
            />
            <Submit label="Save profile" />
          </FormTag>
          {hasAvatar && <ActionButton view={view} action="/-/profile/avatar" method="DELETE" label="Remove the picture" class="danger" />}
        </SettingsLayout>
      ),
    }
  },
})

const text = opt(str())

export const profileForm = form({
  at: AT,
  method: 'PUT',
  access: signedIn,
  ownerOnly: true,
  input: z.object({
    user: z.object({
      name: text,
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
  }),
  files: true,
  on: profilePage,
  async submit({ ctx, caller, input: { user } }) {
    const { avatar, ...rest } = user
    await changeOwn(ctx, caller.user.id, { ...rest, avatar: pictureOf(avatar) })
    return new Redirect(AT, { notice: 'Your profile is saved.' })
  },
})

export const avatarRemoval = form({
  at: '/-/profile/avatar',
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  async submit({ ctx, caller }) {
    await removeAvatar(ctx, 'user', caller.user.id)
    return new Redirect(AT, { notice: 'Your picture is removed.' })
  },
})

const ACCOUNT = '/-/profile/account'

export const accountPage = page({
  at: ACCOUNT,
  formerly: ['/profile/account'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const { password_hash } = await getUser(ctx, caller.user.id)
    return {
      title: 'Account',
      body: (
        <SettingsLayout view={view} at={ACCOUNT} title="Account">
          <h2>Username</h2>
          <FormTag view={view} action="/-/profile/update_username" method="PUT">
            <FormFaults view={view} fields={['username', 'password']} />
            <Field
              view={view}
              name="user[username]"
              label="Username"
              value={caller.user.username}
              hint="Your personal projects move with it. Clones need their address changed."
              autocomplete="username"
              required
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
              <Field view={view} name="username" label="Your username" hint="Typed once more, as this account has no password." required />
            ) : (
              <Field view={view} name="password" label="Your password" type="password" autocomplete="current-password" required />
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
  input: z.object({ user: z.object({ username: orDefault(str(), '') }) }),
  on: accountPage,
  async submit({ ctx, caller, input }) {
    await changeOwn(ctx, caller.user.id, { username: input.user.username })
    return new Redirect(ACCOUNT, { notice: 'Your username is changed.' })
  },
})
