import { z } from 'zod'
import { nullOnFailure, refused } from '../../../failures.js'
import { listUsers } from '../../../services/identity/user-list.js'
import { getUserNamed } from '../../../services/identity/users.js'
import { listProjects, ORDERS } from '../../../services/projects/list.js'
import type { Call } from '../call.js'
import { Connection, mapped, type PAGED, paged, partOfList, partOfPages } from '../connection.js'
import { idFrom } from '../global-id.js'
import { type Fields, field, objectType } from '../object-type.js'
import { groupsOf } from './groups.js'

const text = z.string().nullish()
const flag = z.boolean().nullish()
const texts = z.array(z.string()).nullish()
const FULL_PATH = z.object({ fullPath: z.string() })
const ID = z.object({ id: z.string() })
const PROJECTS = z.object({ ...paged, ids: texts, membership: flag, search: text, searchNamespaces: flag, sort: text, topics: texts })
const USERS = z.object({ ...paged, ids: texts, search: text, usernames: texts })
const GROUPS = z.object({ ...paged, search: text, topLevelOnly: flag, ownedOnly: flag })
const SNIPPETS = z.object({ ...paged, ids: texts })

/** The most ids or names that one list takes. */
const MAX_NAMED = 100

const few = (given: string[], name: string) => {
  if (given.length > MAX_NAMED) throw refused(`${name} are too many (maximum is ${MAX_NAMED})`)
  return [...new Set(given)]
}

/** The part that is asked for of what was found. */
const existing = <T>(found: (T | null)[], args: z.infer<typeof PAGED>) =>
  partOfList(
    found.filter((each) => each !== null),
    args,
  )

/** `latest_activity_desc`, as the column and the direction. */
function projectOrder(sort: string) {
  const [, name = '', direction] = /^(\w+)_(asc|desc)$/.exec(sort.toLowerCase()) ?? []
  const column =
    name === 'latest_activity'
      ? 'last_activity_at'
      : name === 'stars'
        ? 'star_count'
        : name === 'created'
          ? 'created_at'
          : name === 'updated'
            ? 'updated_at'
            : name
  const order_by = ORDERS.find((order) => order === column && order !== 'storage_size' && order !== 'repository_size')
  if (!order_by) throw refused(`sort ${sort} is not supported`)
  return { order_by, sort: direction === 'asc' ? ('asc' as const) : ('desc' as const) }
}

async function projects(args: z.infer<typeof PROJECTS>, call: Call): Promise<Connection> {
  if (args.ids) {
    if (args.search || args.membership || args.topics?.length) throw refused('ids cannot be combined with other filters')
    const ids = few(args.ids, 'ids').map((id) => idFrom(id, 'Project'))
    return existing(await Promise.all(ids.map((id) => call.loaders.projects.load(id))), args)
  }
  call.countList()
  const filter = {
    ...projectOrder(args.sort ?? 'id_desc'),
    search: args.search ?? undefined,
    search_namespaces: args.searchNamespaces ?? undefined,
    membership: args.membership ?? undefined,
    topic: args.topics ?? undefined,
  }
  return mapped(
    partOfPages(args, (paging) => listProjects(call.ctx, call.caller, { ...filter, ...paging })),
    ({ id }) => call.loaders.projects.load(id),
  )
}

const named = async (call: Call, name: string) => {
  call.countList()
  return nullOnFailure(getUserNamed(call.ctx, call.caller, name))
}

async function users(args: z.infer<typeof USERS>, call: Call): Promise<Connection> {
  const { ctx, caller, loaders } = call
  if ([args.ids, args.usernames, args.search].filter(Boolean).length > 1) throw refused('Provide one of ids, usernames and search')
  if (!caller.user) return new Connection([], 0, 0)
  if (args.ids) {
    const ids = few(args.ids, 'ids').map((id) => idFrom(id, 'User'))
    return existing(await Promise.all(ids.map((id) => loaders.users.load(id))), args)
  }
  if (args.usernames) {
    return existing(await Promise.all(few(args.usernames, 'usernames').map((name) => named(call, name))), args)
  }
  call.countList()
  return mapped(
    partOfPages(args, (paging) => listUsers(ctx, caller, { ...paging, search: args.search ?? undefined, order_by: 'id', sort: 'desc' })),
    ({ id }) => loaders.users.load(id),
  )
}

const fields: Fields<undefined> = {
  currentUser: (_, __, { caller, loaders }) => caller.user && loaders.users.load(caller.user.id),
  echo: field(z.object({ text: z.string() }), (_: undefined, args, { caller }) => `"${caller.user?.username ?? 'nil'}" says: ${args.text}`),
  metadata: (_, __, { caller, ctx: { config } }) =>
    caller.user && {
      version: config.version,
      revision: config.revision,
      enterprise: false,
      kas: { enabled: false, externalUrl: null, version: null },
    },
  project: field(FULL_PATH, (_: undefined, { fullPath }, { loaders }) => loaders.projectsByPath.load(fullPath.toLowerCase())),
  projects: field(PROJECTS, (_: undefined, args, call) => projects(args, call)),
  group: field(
    FULL_PATH,
    async (_: undefined, { fullPath }, { loaders }) => (await loaders.groupsByPath.load(fullPath.toLowerCase()))?.group ?? null,
  ),
  groups: field(GROUPS, (_: undefined, args, call) =>
    groupsOf(call, args, {
      all_available: true,
      search: args.search ?? undefined,
      top_level_only: args.topLevelOnly ?? undefined,
      owned: args.ownedOnly ?? undefined,
    }),
  ),
  issue: field(ID, (_: undefined, { id }, { loaders }) => loaders.issues.load(idFrom(id, 'Issue', 'WorkItem'))),
  mergeRequest: field(ID, (_: undefined, { id }, { loaders }) => loaders.mergeRequests.load(idFrom(id, 'MergeRequest'))),
  user: field(z.object({ id: text, username: text }), (_: undefined, { id, username }, call) => {
    if (!id === !username) throw refused('Provide either id or username')
    return named(call, id ? String(idFrom(id, 'User')) : (username as string))
  }),
  users: field(USERS, (_: undefined, args, call) => users(args, call)),
  snippets: field(SNIPPETS, async (_: undefined, args, { loaders }) => {
    if (!args.ids) throw refused('ids are missing: snippets are listed by their ids, or in their project')
    const ids = few(args.ids, 'ids').map((id) => idFrom(id, 'Snippet', 'ProjectSnippet', 'PersonalSnippet'))
    return existing(await Promise.all(ids.map((id) => loaders.snippets.load(id))), args)
  }),
}

export const queryTypes = { Query: objectType<undefined>({ fields }) }
