import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { UserRecord } from '../../services/identity/users.js'
import { noted } from '../custom-attribute.js'
import { presentUserRef, UserRef } from './user.js'

const moment = z.iso.datetime()

/** A user as others see them (U-2). */
export const User = z
  .strictObject({
    ...UserRef.shape,
    created_at: moment,
    bio: z.string().nullable(),
    location: z.string().nullable(),
    messenger: z.string(),
    jobsnet: z.string(),
    microblog: z.string(),
    website_url: z.string(),
    organization: z.string(),
    public_email: z.string().nullable(),
    /** Of the bot of a project or group alone (PT-8). */
    bot: z.literal(true).optional(),
  })
  .meta({ id: 'User', description: 'A user, as others see them.' })

/** The account of a user at an external sign-in provider. */
const Identity = z
  .strictObject({ provider: z.string(), extern_uid: z.string() })
  .meta({ id: 'Identity', description: 'Who a user is at another service that signs them in.' })

/** A user as they see themselves (U-3). */
export const OwnUser = z
  .strictObject({
    ...User.shape,
    last_sign_in_at: moment.nullable(),
    confirmed_at: moment.nullable(),
    last_activity_on: z.string().nullable(),
    email: z.string(),
    theme_id: z.int(),
    color_scheme_id: z.int(),
    projects_limit: z.int(),
    current_sign_in_at: moment.nullable(),
    identities: z.array(Identity),
    can_create_group: z.boolean(),
    can_create_project: z.boolean(),
    two_factor_enabled: z.boolean(),
    external: z.boolean(),
    private_profile: z.boolean(),
  })
  .meta({ id: 'OwnUser' })

/** A user as administrators see them (U-4). */
export const AdminUser = z
  .strictObject({ ...OwnUser.shape, is_admin: z.boolean(), bot: z.boolean(), ...noted })
  .meta({ id: 'AdminUser', description: 'A user, as administrators see them.' })

const currentOnly = { commit_email: z.string(), namespace_id: z.int().nullable() }

/** The response of `GET /user`. */
export const CurrentUser = z
  .union([z.strictObject({ ...OwnUser.shape, ...currentOnly }), z.strictObject({ ...AdminUser.shape, ...currentOnly })])
  .meta({ id: 'CurrentUser', description: 'The user of the token.' })

function presentUser(user: UserRecord, view: View): z.infer<typeof User> {
  const { bio, location, messenger, jobsnet, microblog, website_url, organization } = user
  return Object.assign(presentUserRef(user, view), {
    created_at: user.created_at.toISOString(),
    bio,
    location,
    messenger,
    jobsnet,
    microblog,
    website_url,
    organization,
    public_email: user.public_email || null,
    ...(user.kind === 'bot' && { bot: true as const }),
  })
}

function presentOwnUser(user: UserRecord, view: View): z.infer<typeof OwnUser> {
  return Object.assign(presentUser(user, view), {
    last_sign_in_at: user.last_sign_in_at?.toISOString() ?? null,
    confirmed_at: user.confirmed_at?.toISOString() ?? null,
    last_activity_on: user.last_activity_on,
    email: user.email,
    theme_id: user.theme_id,
    color_scheme_id: user.color_scheme_id,
    projects_limit: user.projects_limit,
    current_sign_in_at: user.current_sign_in_at?.toISOString() ?? null,
    identities: user.identities,
    can_create_group: user.can_create_group,
    can_create_project: user.projects_limit - user.personal_projects > 0,
    two_factor_enabled: user.two_factor_enabled,
    external: user.external,
    private_profile: user.private_profile,
  })
}

export function presentAdminUser(user: UserRecord, view: View): z.infer<typeof AdminUser> {
  return Object.assign(presentOwnUser(user, view), { is_admin: user.admin, bot: user.kind === 'bot' })
}

/** A user in a list; administrators see more fields (U-9). */
export function presentListedUser(user: UserRecord, view: View): z.infer<typeof AdminUser> | z.infer<typeof UserRef> {
  return view.viewer?.admin ? presentAdminUser(user, view) : presentUserRef(user, view)
}

/** A user in the single view, with the fields that the viewer may see (U-17, US-61). */
export function presentShownUser(user: UserRecord, view: View): z.infer<typeof AdminUser> | z.infer<typeof User> | z.infer<typeof UserRef> {
  if (view.viewer?.admin) return presentAdminUser(user, view)
  return user.private_profile && user.id !== view.viewer?.id ? presentUserRef(user, view) : presentUser(user, view)
}

export function presentCurrentUser(user: UserRecord, view: View): z.infer<typeof CurrentUser> {
  const own = user.admin ? presentAdminUser(user, view) : presentOwnUser(user, view)
  return { ...own, commit_email: user.email, namespace_id: user.namespace_id }
}
