import type { Endpoint } from '../http/endpoint.js'
import type { Section } from '../http/openapi/document.js'
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

/** Every endpoint of the API by subject: first those of the contract's parts in their order, then all others. */
export const sections: Section[] = [
  { name: 'Search', description: 'Find projects, issues, merge requests, milestones, code and more by a text.', endpoints: search },
  {
    name: 'Commits',
    description: 'Commits of a repository: their lists, diffs, comments and signatures; new ones, picked and reverted ones.',
    endpoints: [...commits, ...commitComments, ...picks, ...commitRefs],
  },
  { name: 'Commit statuses', description: 'What CI servers report about commits.', endpoints: commitStatuses },
  {
    name: 'Users',
    description: 'Accounts, the current user, statuses, avatars and activity.',
    endpoints: [...users, ...currentUser, ...status, ...activities, ...avatar],
  },
  { name: 'SSH keys', description: 'SSH keys of users.', endpoints: keys },
  { name: 'GPG keys', description: 'GPG keys of users, with which signatures of commits are verified.', endpoints: gpgKeys },
  { name: 'Emails', description: 'E-mail addresses of users.', endpoints: emails },
  { name: 'Impersonation tokens', description: 'Tokens with which administrators act as a user.', endpoints: impersonationTokens },
  { name: 'Groups', description: 'Groups and subgroups, and the projects in them.', endpoints: [...groups, ...groupChanges, ...projectsOfGroups] },
  {
    name: 'Merge requests',
    description: 'Proposals to merge a branch: their lists, contents, versions, todos and time; and merging them.',
    endpoints: [...mergeRequestLists, ...mergeRequests, ...mergeRequestContents, ...merging, ...mergeRequestAttention],
  },
  { name: 'Application settings', description: 'Settings of the whole server, for administrators.', endpoints: settings },
  {
    name: 'Project variables',
    description: 'Variables of projects, for CI.',
    endpoints: variables.filter(({ path }) => path.startsWith('/projects/')),
  },
  { name: 'Group variables', description: 'Variables of groups, for CI.', endpoints: variables.filter(({ path }) => path.startsWith('/groups/')) },
  { name: 'Projects', description: 'Projects: their lists, settings, forks, stars, shares and transfers.', endpoints: projects },
  { name: 'Members', description: 'Members of projects and groups, and their roles.', endpoints: members },
  { name: 'Access requests', description: 'Requests of users to become a member.', endpoints: accessRequests },
  { name: 'Branches', description: 'Branches, and those that are protected.', endpoints: branches },
  { name: 'Protected branches and tags', description: 'Who may push to and merge into branches, and create tags.', endpoints: protection },
  { name: 'Tags', description: 'Tags and their release notes.', endpoints: tags },
  { name: 'Releases', description: 'Releases and their links.', endpoints: releases },
  {
    name: 'Repository',
    description: 'Trees, blobs, archives, comparisons and contributors.',
    endpoints: [...repository, ...history, ...archives, ...submodules],
  },
  { name: 'Files', description: 'Files of a repository: reading, blaming and changing them.', endpoints: files },
  { name: 'Pipelines and jobs', description: 'Pipelines and jobs, made of the statuses of commits.', endpoints: pipelines },
  { name: 'Issues', description: 'Issues: their lists, changes, todos and time.', endpoints: [...issueLists, ...issues, ...issueAttention] },
  { name: 'Labels', description: 'Labels of projects and groups.', endpoints: labels },
  { name: 'Milestones', description: 'Milestones of projects and groups.', endpoints: milestones },
  { name: 'Notes', description: 'Comments on issues, merge requests and snippets.', endpoints: notes },
  { name: 'Discussions', description: 'Threads of comments, also on lines of a diff.', endpoints: discussions },
  { name: 'Award emoji', description: 'Emoji on issues, merge requests, snippets and notes.', endpoints: awardEmoji },
  { name: 'Todos', description: 'What waits for the caller.', endpoints: todos },
  { name: 'Events', description: 'What users have done.', endpoints: events },
  { name: 'Wikis', description: 'Wiki pages of projects.', endpoints: wikis },
  { name: 'Snippets', description: 'Snippets of users and of projects.', endpoints: snippets },
  { name: 'Uploads', description: 'Files that texts of a project refer to.', endpoints: uploads },
  { name: 'Webhooks', description: 'Hooks of projects, groups and the server, and their deliveries.', endpoints: hooks },
  { name: 'Deploy keys', description: 'SSH keys of machines that read or write projects.', endpoints: deployKeys },
  { name: 'Deploy tokens', description: 'Tokens of machines that read projects.', endpoints: deployTokens },
  { name: 'Personal access tokens', description: 'Tokens of the caller, and of users for administrators.', endpoints: tokens },
  {
    name: 'Custom attributes',
    description: 'Keys and values that administrators attach to users, groups and projects.',
    endpoints: customAttributes,
  },
  { name: 'Notification settings', description: 'What the caller is mailed about.', endpoints: notificationSettings },
  { name: 'Namespaces', description: 'Users and groups, as places of projects.', endpoints: namespaces },
  { name: 'User agents', description: 'The clients that issues and snippets were created with, for administrators.', endpoints: userAgents },
  { name: 'Server', description: 'The version of the server.', endpoints: instance },
]

/** Every endpoint of the API, family by family. */
export const families: Endpoint[][] = sections.map(({ endpoints }) => endpoints)
