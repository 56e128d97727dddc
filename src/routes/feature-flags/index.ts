import { z } from 'zod'
import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { FeatureFlag, FeatureFlagUserList, presentFeatureFlag, presentUserList } from '../../entities/projects/feature-flag.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, list, oneOf, opt, paging, rowId, str, updateOf } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { STRATEGIES } from '../../rules/features/feature-flags.js'
import { createFlag, deleteFlag, FLAG_SCOPES, getFlag, listFlags, updateFlag } from '../../services/projects/feature-flags/flags.js'
import {
  createUserList,
  deleteUserList,
  getUserList,
  listUserLists,
  type UserList,
  updateUserList,
} from '../../services/projects/feature-flags/user-lists.js'

const read = onProjectSignedIn('read_feature_flag')
const manage = onProjectSignedIn('manage_feature_flag')

const FLAGS = '/projects/:id/feature_flags'
const FLAG = `${FLAGS}/:feature_flag_name`
const byName = { feature_flag_name: str() }

/** An object, or the same as JSON in a text, which forms send. */
const parameters = z.preprocess(
  (value) => {
    if (typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  },
  z.record(z.string(), z.unknown(), 'is invalid'),
)
const MAX_GIVEN = 100
const strategyName = oneOf(STRATEGIES)
const user_list_id = opt(rowId())

const newStrategy = z.object({
  name: strategyName,
  parameters,
  user_list_id,
  scopes: opt(list(z.object({ environment_scope: str() }), MAX_GIVEN)),
})
const changedStrategy = z.object({
  id: opt(rowId()),
  name: opt(strategyName),
  parameters: parameters.optional(),
  user_list_id,
  _destroy: opt(bool()),
  scopes: opt(list(z.object({ id: opt(rowId()), environment_scope: opt(str()), _destroy: opt(bool()) }), MAX_GIVEN)),
})

/** Feature flags of projects (FF-1 to FF-6). */
const flags = [
  endpoint({
    method: 'GET',
    path: FLAGS,
    summary: 'List feature flags',
    access: read,
    input: z.object({ scope: opt(oneOf(FLAG_SCOPES)), ...paging }),
    output: z.array(FeatureFlag),
    handler: async ({ ctx, subject, input }) => pageOf(await listFlags(ctx, subject, input), input, presentFeatureFlag),
  }),
  endpoint({
    method: 'GET',
    path: FLAG,
    summary: 'Get a feature flag',
    access: read,
    input: z.object(byName),
    output: FeatureFlag,
    handler: async ({ ctx, subject, input }) => presentFeatureFlag(await getFlag(ctx, subject, input.feature_flag_name)),
  }),
  endpoint({
    method: 'POST',
    path: FLAGS,
    summary: 'Create a feature flag',
    access: manage,
    input: z.object({
      name: documented.filled({ minLength: 2, maxLength: 63, pattern: '^[a-z]([-_a-z0-9]*[a-z0-9])?$' }),
      version: opt(oneOf(['new_version_flag'])),
      description: opt(clearable()),
      active: opt(bool()),
      strategies: opt(list(newStrategy, MAX_GIVEN)),
    }),
    output: FeatureFlag,
    handler: async ({ ctx, subject, input }) => presentFeatureFlag(await createFlag(ctx, subject, input)),
  }),
  endpoint({
    method: 'PUT',
    path: FLAG,
    summary: 'Change a feature flag',
    description: 'Strategies and scopes that are named by their `id` are changed, or removed with `_destroy`; those without one are added.',
    access: manage,
    input: updateOf(
      z.object({
        ...byName,
        name: opt(documented.filled({ minLength: 2, maxLength: 63, pattern: '^[a-z]([-_a-z0-9]*[a-z0-9])?$' })),
        description: opt(clearable()),
        active: opt(bool()),
        strategies: opt(list(changedStrategy, MAX_GIVEN)),
      }),
    ),
    output: FeatureFlag,
    handler: async ({ ctx, subject, input: { feature_flag_name, ...given } }) =>
      presentFeatureFlag(await updateFlag(ctx, subject, feature_flag_name, given)),
  }),
  endpoint({
    method: 'DELETE',
    path: FLAG,
    summary: 'Delete a feature flag',
    access: manage,
    input: z.object(byName),
    output: FeatureFlag,
    status: 200,
    handler: async ({ ctx, subject, input }) => presentFeatureFlag(await deleteFlag(ctx, subject, input.feature_flag_name)),
  }),
]

const LISTS = '/projects/:id/feature_flags_user_lists'
const LIST = `${LISTS}/:iid`
const byIid = { iid: rowId() }
const present = (userList: UserList, { project }: ProjectSubject, view: View) => presentUserList(userList, fullPathOf(project), view)

/** Lists of users for whom flags are on (FF-8). */
const userLists = [
  endpoint({
    method: 'GET',
    path: LISTS,
    summary: 'List the user lists of feature flags',
    access: read,
    input: z.object({ search: opt(str()), ...paging }),
    output: z.array(FeatureFlagUserList),
    handler: async ({ ctx, subject, input, view }) => pageOf(await listUserLists(ctx, subject, input), input, (each) => present(each, subject, view)),
  }),
  endpoint({
    method: 'GET',
    path: LIST,
    summary: 'Get a user list',
    access: read,
    input: z.object(byIid),
    output: FeatureFlagUserList,
    handler: async ({ ctx, subject, input, view }) => present(await getUserList(ctx, subject, input.iid), subject, view),
  }),
  endpoint({
    method: 'POST',
    path: LISTS,
    summary: 'Create a user list',
    access: manage,
    input: z.object({ name: documented.title(), user_xids: str() }),
    output: FeatureFlagUserList,
    handler: async ({ ctx, subject, input, view }) => present(await createUserList(ctx, subject, input), subject, view),
  }),
  endpoint({
    method: 'PUT',
    path: LIST,
    summary: 'Change a user list',
    access: manage,
    input: updateOf(z.object({ ...byIid, name: opt(documented.title()), user_xids: opt(str()) })),
    output: FeatureFlagUserList,
    handler: async ({ ctx, subject, input: { iid, ...given }, view }) => present(await updateUserList(ctx, subject, iid, given), subject, view),
  }),
  endpoint({
    method: 'DELETE',
    path: LIST,
    summary: 'Delete a user list',
    description: 'Unless a strategy names it.',
    access: manage,
    input: z.object(byIid),
    answers: [409],
    handler: ({ ctx, subject, input }) => deleteUserList(ctx, subject, input.iid),
  }),
]

export const featureFlags = [...flags, ...userLists]
