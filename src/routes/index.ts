import type { Endpoint } from '../http/endpoint.js'
import { branches } from './branches/branches.js'
import { protection } from './branches/protection.js'
import { picks } from './commits/cherry-pick.js'
import { commitComments } from './commits/comments.js'
import { commits } from './commits/commits.js'
import { commitRefs } from './commits/refs.js'
import { commitStatuses } from './commits/statuses.js'
import { submodules } from './commits/submodules.js'
import { customAttributes } from './custom-attributes/index.js'
import { deployKeys } from './deploy/keys.js'
import { deployTokens } from './deploy/tokens.js'
import { events } from './events/index.js'
import { files } from './files/index.js'
import { groupChanges } from './groups/changes.js'
import { groups } from './groups/index.js'
import { hooks } from './hooks/index.js'
import { instance } from './instance/index.js'
import { issueAttention } from './issues/attention.js'
import { issues } from './issues/issues.js'
import { issueLists } from './issues/lists.js'
import { labels } from './labels/index.js'
import { accessRequests } from './members/access-requests.js'
import { members } from './members/index.js'
import { mergeRequestAttention } from './merge-requests/attention.js'
import { contents as mergeRequestContents } from './merge-requests/contents.js'
import { mergeRequestLists } from './merge-requests/lists.js'
import { mergeRequests } from './merge-requests/merge-requests.js'
import { merging } from './merge-requests/merging.js'
import { milestones } from './milestones/index.js'
import { namespaces } from './namespaces/index.js'
import { awardEmoji } from './notes/award-emoji.js'
import { discussions } from './notes/discussions.js'
import { notes } from './notes/notes.js'
import { notificationSettings } from './notification-settings/index.js'
import { pipelines } from './pipelines/index.js'
import { projects } from './projects/index.js'
import { projectsOfGroups } from './projects/of-group.js'
import { releases } from './releases/index.js'
import { archives } from './repository/archive.js'
import { history } from './repository/history.js'
import { repository } from './repository/index.js'
import { search } from './search/index.js'
import { settings } from './settings/index.js'
import { snippets } from './snippets/index.js'
import { tags } from './tags/index.js'
import { todos } from './todos/index.js'
import { tokens } from './tokens/index.js'
import { uploads } from './uploads/files.js'
import { userAgents } from './user-agents/index.js'
import { activities } from './users/activities.js'
import { avatar } from './users/avatar.js'
import { currentUser } from './users/current-user.js'
import { emails } from './users/emails.js'
import { gpgKeys } from './users/gpg-keys.js'
import { impersonationTokens } from './users/impersonation-tokens.js'
import { keys } from './users/keys.js'
import { status } from './users/status.js'
import { users } from './users/users.js'
import { variables } from './variables/index.js'
import { wikis } from './wikis/index.js'

/** Every endpoint of the API, family by family. */
export const families: Endpoint[][] = [
  instance,
  currentUser,
  users,
  activities,
  avatar,
  status,
  keys,
  gpgKeys,
  emails,
  impersonationTokens,
  notificationSettings,
  tokens,
  groups,
  groupChanges,
  namespaces,
  projects,
  uploads,
  projectsOfGroups,
  members,
  accessRequests,
  branches,
  protection,
  tags,
  releases,
  repository,
  archives,
  history,
  files,
  commits,
  commitStatuses,
  pipelines,
  customAttributes,
  picks,
  commitRefs,
  submodules,
  commitComments,
  events,
  labels,
  milestones,
  issueLists,
  issues,
  issueAttention,
  mergeRequestLists,
  mergeRequests,
  mergeRequestAttention,
  mergeRequestContents,
  merging,
  notes,
  discussions,
  awardEmoji,
  todos,
  wikis,
  snippets,
  userAgents,
  search,
  variables,
  hooks,
  deployKeys,
  deployTokens,
  settings,
]
