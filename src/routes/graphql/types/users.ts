import { z } from 'zod'
import { presentUserRef, UserRef } from '../../../entities/identity/user.js'
import { presentShownUser } from '../../../entities/identity/user-views.js'
import { refused } from '../../../failures.js'
import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import type { IssuableSource } from '../../../services/issuables/list.js'
import { listMergeRequests, type MergeRequestFilter } from '../../../services/issuables/merge-requests/reading/list.js'
import type { MergeRequestRecord } from '../../../services/issuables/merge-requests/reading/load.js'
import { listProjects } from '../../../services/projects/list.js'
import type { Call } from '../call.js'
import { Connection, mapped, paged, partOfPages } from '../connection.js'
import { globalId, idFrom } from '../global-id.js'
import { type Fields, field, namesOf, objectType } from '../object-type.js'
import { requestArguments, requestFilter } from './issuable-filters.js'

/** A user; `request`: the merge request that shows them. */
export type UserNode = UserRefRecord & { request?: MergeRequestRecord }

const PROJECT = { projectId: z.string().nullish(), projectPath: z.string().nullish() }
const REQUESTS = z.object({ ...paged, ...PROJECT, ...requestArguments })

async function sourceOf({ projectId, projectPath }: z.infer<typeof REQUESTS>, call: Call): Promise<IssuableSource | null> {
  if (projectId && projectPath) throw refused('Only one of projectId and projectPath may be given')
  if (!projectId && !projectPath) return 'everywhere'
  const project = projectId
    ? await call.loaders.projects.load(idFrom(projectId, 'Project'))
    : await call.loaders.projectsByPath.load((projectPath as string).toLowerCase())
  return project?.can('read_own_merge_request') ? { project } : null
}

/** Merge requests of a user in all projects, or in one. */
const requestsOf = (as: (id: number) => Partial<MergeRequestFilter>) =>
  field<UserNode, typeof REQUESTS>(REQUESTS, async ({ id }, args, call) => {
    call.countList()
    const at = call.caller.user && (await sourceOf(args, call))
    if (!at) return new Connection([], 0, 0)
    return partOfPages(args, (paging) => listMergeRequests(call.ctx, call.caller, at, { ...requestFilter(args, paging), ...as(id) }))
  })

const details = async ({ id }: UserNode, call: Call) => {
  const user = await call.loaders.users.load(id)
  return user && presentShownUser(user, call.view)
}

const detail = (name: 'public_email' | 'location') => async (user: UserNode, _: unknown, call: Call) => {
  const shown = await details(user, call)
  return shown && name in shown ? Object.entries(shown).find(([key]) => key === name)?.[1] : null
}

const STARRED = z.object({ ...paged, search: z.string().nullish() })

const interaction = async ({ id, request }: UserNode, _: unknown, call: Call) => {
  const opinions = request ? await call.loaders.opinions.load(request.request.id) : null
  const own = opinions?.find(({ user }) => user.id === id)
  return {
    approved: own?.approved ?? false,
    reviewed: own !== undefined,
    reviewState: own?.approved ? 'APPROVED' : (own?.state?.toUpperCase() ?? 'UNREVIEWED'),
  }
}

const fields: Fields<UserNode> = {
  id: ({ id }) => globalId('User', id),
  active: ({ state }) => state === 'active',
  bot: async ({ id }, _, call) => (await call.loaders.users.load(id))?.kind === 'bot',
  webPath: ({ username }, _, call) => call.pathOf(call.view.links.user(username)),
  publicEmail: detail('public_email'),
  location: detail('location'),
  userPermissions: ({ id }, _, { caller }) => ({ createSnippet: caller.user?.id === id }),
  authoredMergeRequests: requestsOf((id) => ({ author_id: [id] })),
  assignedMergeRequests: requestsOf((id) => ({ assignee_id: [id] })),
  reviewRequestedMergeRequests: requestsOf((id) => ({ reviewer_id: [id] })),
  starredProjects: field(STARRED, async ({ id: starredBy }: UserNode, args, call) => {
    call.countList()
    const { caller } = call
    const user = await call.loaders.users.load(starredBy)
    if (user?.private_profile && starredBy !== caller.user?.id && !caller.user?.admin) return null
    const listed = partOfPages(args, (paging) =>
      listProjects(call.ctx, caller, { ...paging, search: args.search ?? undefined, starredBy, order_by: 'id', sort: 'desc' }),
    )
    return mapped(listed, ({ id }) => call.loaders.projects.load(id))
  }),
  mergeRequestInteraction: interaction,
}

const user = objectType<UserNode>({
  fields,
  shown: (record, call) => presentUserRef(record, call.view),
  entity: namesOf(UserRef),
})

export const userTypes = { UserCore: user, MergeRequestAuthor: user, MergeRequestAssignee: user, MergeRequestReviewer: user }
