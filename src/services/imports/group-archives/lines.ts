import { z } from 'zod'
import { namespaces } from '../../../db/schema/index.js'
import { SETTINGS } from '../../groups/attributes.js'

/** The format of archives of groups; an import refuses higher numbers. */
export const FORMAT = 1

/** What is copied of a group as it is (EX-69). */
export const ARCHIVED_SETTINGS = [...SETTINGS, 'default_branch'] as const

const Settings = z.object({
  lfs_enabled: z.boolean(),
  request_access_enabled: z.boolean(),
  share_with_group_lock: z.boolean(),
  project_creation_level: z.enum(namespaces.project_creation_level.enumValues),
  subgroup_creation_level: z.enum(namespaces.subgroup_creation_level.enumValues),
  default_branch_protection: z.int().min(0).max(4).nullable(),
  default_branch: z.string().nullable(),
  emails_disabled: z.boolean(),
  mentions_disabled: z.boolean(),
  auto_devops_enabled: z.boolean(),
  require_two_factor_authentication: z.boolean(),
  two_factor_grace_period: z.int().min(0).max(1_000_000),
} satisfies Record<(typeof ARCHIVED_SETTINGS)[number], z.ZodType>)

/** A group by its path below the exported one, which is empty for that itself. */
const group = z.string().max(1_024)
const day = z.iso.date().nullable()
const titled = z.object({ group, title: z.string() })

/** A line of `group.jsonl`: groups come first, those above others before them, and boards after what their lists are of. */
export const Line = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('group'),
    group,
    name: z.string(),
    description: z.string(),
    visibility: z.enum(['private', 'internal', 'public']),
    settings: Settings.partial(),
  }),
  z.object({
    kind: z.literal('label'),
    group,
    title: z.string(),
    color: z.string(),
    description: z.string().nullable(),
    priority: z.int().min(0).max(2_147_483_647).nullable(),
  }),
  z.object({
    kind: z.literal('milestone'),
    group,
    iid: z.int().min(1).max(2_147_483_647),
    title: z.string(),
    description: z.string(),
    closed: z.boolean(),
    start_date: day,
    due_date: day,
  }),
  z.object({ kind: z.literal('badge'), group, name: z.string().nullable(), link_url: z.string(), image_url: z.string() }),
  z.object({
    kind: z.literal('board'),
    group,
    name: z.string(),
    lists: z.array(z.union([z.object({ label: titled }), z.object({ milestone: titled })])).max(1_000),
  }),
])
export type Line = z.infer<typeof Line>
