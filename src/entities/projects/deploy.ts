import { z } from 'zod'
import type { SshKey } from '../../services/identity/keys.js'
import type { AnyKey, DeployKey as DeployKeyRecord } from '../../services/projects/deploy-keys.js'
import type { DeployToken as TokenRecord } from '../../services/projects/deploy-tokens.js'
import { AdminUser } from '../identity/user-views.js'

/** A deploy key as administrators see it, independent of projects. */
export const DeployKey = z
  .strictObject({
    id: z.int(),
    title: z.string(),
    key: z.string(),
    fingerprint: z.string(),
    fingerprint_sha256: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'DeployKey', description: 'An SSH key of a machine.' })

export const ProjectDeployKey = z
  .strictObject({ ...DeployKey.shape, can_push: z.boolean() })
  .meta({ id: 'ProjectDeployKey', description: 'An SSH key of a machine, as a project has it.' })

export const presentDeployKey = (key: SshKey): z.infer<typeof DeployKey> => ({
  id: key.id,
  title: key.title,
  key: key.key,
  fingerprint: key.fingerprint,
  fingerprint_sha256: `SHA256:${key.fingerprint_sha256}`,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
})

export const presentProjectDeployKey = ({ key, can_push }: DeployKeyRecord): z.infer<typeof ProjectDeployKey> =>
  Object.assign(presentDeployKey(key), {
    can_push,
  })

/** Any SSH key, for administrators: with its owner, or for a deploy key with its creator and projects (OT-6). */
export const KeyWithUser = z
  .strictObject({
    id: z.int(),
    title: z.string(),
    key: z.string(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable(),
    user: AdminUser.nullable(),
    deploy_keys_projects: z.array(z.strictObject({ id: z.int(), project_id: z.int(), can_push: z.boolean() })).optional(),
  })
  .meta({ id: 'SSHKeyWithUser', description: 'An SSH key and its user.' })

export const presentKeyWithUser = ({ key, projects }: AnyKey, user: z.infer<typeof AdminUser> | null): z.infer<typeof KeyWithUser> => ({
  id: key.id,
  title: key.title,
  key: key.key,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
  user,
  ...(key.user_id === null && { deploy_keys_projects: projects }),
})

export const DeployToken = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    username: z.string(),
    expires_at: z.iso.datetime().nullable(),
    revoked: z.literal(false),
    expired: z.boolean(),
    scopes: z.array(z.string()),
  })
  .meta({ id: 'DeployToken', description: 'A token of a machine.' })

/** The response after creation, the only one that contains the value. */
export const NewDeployToken = z
  .strictObject({ ...DeployToken.shape, token: z.string() })
  .meta({ id: 'NewDeployToken', description: 'A new token of a machine; its value is shown only here.' })

export const presentDeployToken = (token: TokenRecord, now: Date): z.infer<typeof DeployToken> => ({
  id: token.id,
  name: token.name,
  username: token.username,
  expires_at: token.expires_at?.toISOString() ?? null,
  revoked: false,
  expired: token.expires_at !== null && token.expires_at <= now,
  scopes: token.scopes,
})
