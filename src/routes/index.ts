import type { Endpoint } from '../http/endpoint.js'
import type { Section } from '../http/openapi/document.js'
import { administration } from './administration/index.js'
import { applications } from './applications/index.js'
import { auditEvents } from './audit-events/index.js'
import { badges } from './badges/index.js'
import { boards } from './boards/index.js'
import { branches } from './branches/branches.js'
import { protection } from './branches/protection.js'
import { broadcastMessages } from './broadcast-messages/index.js'
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
import { featureFlags } from './feature-flags/index.js'
import { unleash } from './feature-flags/unleash.js'
import { files } from './files/index.js'
import { groupArchives } from './groups/archives.js'
import { groupChanges } from './groups/changes.js'
import { groups } from './groups/index.js'
import { groupSharing } from './groups/sharing.js'
import { hooks } from './hooks/index.js'
import { instance } from './instance/index.js'
import { projectIntegrations } from './integrations/index.js'
import { resourceEvents } from './issuables/resource-events.js'
import { issueAttention } from './issues/attention.js'
import { issues } from './issues/issues.js'
import { issueLinks } from './issues/links.js'
import { issueLists } from './issues/lists.js'
import { labels } from './labels/index.js'
import { markdown } from './markdown/index.js'
import { accessRequests } from './members/access-requests.js'
import { members } from './members/index.js'
import { invitations } from './members/invitations.js'
import { approvals } from './merge-requests/approvals.js'
import { mergeRequestAttention } from './merge-requests/attention.js'
import { contents as mergeRequestContents } from './merge-requests/contents.js'
import { mergeRequestLists } from './merge-requests/lists.js'
import { mergeRequests } from './merge-requests/merge-requests.js'
import { merging } from './merge-requests/merging.js'
import { milestones } from './milestones/index.js'
import { pullMirrors, remoteMirrors } from './mirrors/index.js'
import { namespaces } from './namespaces/index.js'
import { awardEmoji } from './notes/award-emoji.js'
import { discussions } from './notes/discussions.js'
import { draftNotes } from './notes/draft-notes.js'
import { notes } from './notes/notes.js'
import { suggestions } from './notes/suggestions.js'
import { notificationSettings } from './notification-settings/index.js'
import { packages } from './packages/index.js'
import { packageProtection } from './packages/protection.js'
import { deployed } from './pipelines/environments.js'
import { freezePeriods } from './pipelines/freeze-periods.js'
import { pipelines } from './pipelines/index.js'
import { lint } from './pipelines/lint.js'
import { protectedEnvironments } from './pipelines/protected-environments.js'
import { schedules } from './pipelines/schedules.js'
import { triggers } from './pipelines/triggers.js'
import { projects } from './projects/index.js'
import { jobTokenScope } from './projects/job-token-scope.js'
import { projectsOfGroups } from './projects/of-group.js'
import { containerRepositories } from './registry/index.js'
import { releases } from './releases/index.js'
import { archives } from './repository/archive.js'
import { history } from './repository/history.js'
import { repository } from './repository/index.js'
import { runners } from './runners/index.js'
import { search } from './search/index.js'
import { settings } from './settings/index.js'
import { snippets } from './snippets/index.js'
import { tags } from './tags/index.js'
import { templates } from './templates/index.js'
import { todos } from './todos/index.js'
import { accessTokens } from './tokens/access-tokens.js'
import { tokens } from './tokens/index.js'
import { topics } from './topics/index.js'
import { withUnsupported } from './unsupported.js'
import { uploads } from './uploads/files.js'
import { userAgents } from './user-agents/index.js'
import { accounts } from './users/accounts.js'
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

const subjects: Section[] = [
  { name: 'Search', description: 'Full-text search in projects, issues, merge requests, milestones, code and more.', endpoints: search },
  {
    name: 'Commits',
    description: 'Commits with their diffs, comments and signatures; creating, cherry-picking and reverting commits.',
    endpoints: [...commits, ...commitComments, ...picks, ...commitRefs],
  },
  { name: 'Commit statuses', description: 'Statuses of commits, reported by CI servers.', endpoints: commitStatuses },
  {
    name: 'Users',
    description: 'Users, the current user, statuses, avatars and activity.',
    endpoints: [...users, ...accounts, ...currentUser, ...status, ...activities, ...avatar],
  },
  { name: 'SSH keys', description: 'SSH keys of users.', endpoints: keys },
  { name: 'GPG keys', description: 'GPG keys of users, used to verify commit signatures.', endpoints: gpgKeys },
  { name: 'Emails', description: 'E-mail addresses of users.', endpoints: emails },
  { name: 'Impersonation tokens', description: 'Tokens that let administrators act as a user.', endpoints: impersonationTokens },
  {
    name: 'Groups',
    description: 'Groups and subgroups, and the projects in them.',
    endpoints: [...groups, ...groupArchives, ...groupChanges, ...groupSharing, ...projectsOfGroups],
  },
  {
    name: 'Merge requests',
    description: 'Merge requests with their commits, changes, versions, todos and time tracking; merging and rebasing.',
    endpoints: [...mergeRequestLists, ...mergeRequests, ...mergeRequestContents, ...approvals, ...merging, ...mergeRequestAttention],
  },
  { name: 'Application settings', description: 'Server-wide settings; administrators only.', endpoints: settings },
  {
    name: 'Project variables',
    description: 'CI variables of projects.',
    endpoints: variables.filter(({ path }) => path.startsWith('/projects/')),
  },
  { name: 'Group variables', description: 'CI variables of groups.', endpoints: variables.filter(({ path }) => path.startsWith('/groups/')) },
  {
    name: 'Instance variables',
    description: 'CI variables of all projects; administrators only.',
    endpoints: variables.filter(({ path }) => path.startsWith('/admin/')),
  },
  { name: 'Triggers and schedules', description: 'Pipelines that other programs or the time make.', endpoints: [...triggers, ...schedules] },
  { name: 'Job token scope', description: 'Which jobs may use a project with their token.', endpoints: jobTokenScope },
  { name: 'Projects', description: 'Projects with their settings, forks, stars, shares and transfers.', endpoints: projects },
  { name: 'Topics', description: 'What projects are about; administrators change them.', endpoints: topics },
  {
    name: 'Packages',
    description: 'What package managers have published to projects; docs/packages.md says how they do so.',
    endpoints: [...packages, ...packageProtection],
  },
  {
    name: 'Container registry',
    description: 'Repositories of container images; docs/packages.md says how images are pushed and pulled.',
    endpoints: containerRepositories,
  },
  {
    name: 'Mirrors',
    description: 'Repositories elsewhere that a project is pushed to, or that it follows.',
    endpoints: [...remoteMirrors, ...pullMirrors],
  },
  { name: 'Badges', description: 'Linked pictures on the pages of projects, of each project and of groups.', endpoints: badges },
  {
    name: 'Integrations',
    description: 'What projects send to chats, mail addresses and builds elsewhere, and their trackers and wikis elsewhere.',
    endpoints: projectIntegrations,
  },
  { name: 'Members', description: 'Members of projects and groups, and their roles.', endpoints: members },
  { name: 'Access requests', description: 'Requests to join a project or group.', endpoints: accessRequests },
  { name: 'Invitations', description: 'Invitations to projects and groups by e-mail.', endpoints: invitations },
  { name: 'Branches', description: 'Branches and their protection.', endpoints: branches },
  { name: 'Protected branches and tags', description: 'Who can push to and merge into branches, and create tags.', endpoints: protection },
  { name: 'Templates', description: 'Texts that new files and descriptions begin with.', endpoints: templates },
  { name: 'Tags', description: 'Tags and their release notes.', endpoints: tags },
  { name: 'Releases', description: 'Releases and their links.', endpoints: releases },
  {
    name: 'Repository',
    description: 'Trees, blobs, archives, comparisons and contributors.',
    endpoints: [...repository, ...history, ...archives, ...submodules],
  },
  { name: 'Files', description: 'Files of a repository: content, blame and changes.', endpoints: files },
  {
    name: 'Pipelines and jobs',
    description: 'Pipelines of the configuration in a repository or of commit statuses, and their jobs.',
    endpoints: pipelines,
  },
  {
    name: 'Environments',
    description: 'Environments, what was deployed to them, and resource groups.',
    endpoints: deployed,
  },
  { name: 'Feature flags', description: 'Feature flags of projects, and lists of users for whom they are on.', endpoints: featureFlags },
  { name: 'Unleash', description: 'What clients of Unleash call to get the feature flags of a project.', endpoints: unleash },
  { name: 'Protected environments', description: 'Who may deploy to an environment.', endpoints: protectedEnvironments },
  { name: 'Freeze periods', description: 'When a project is not to be deployed.', endpoints: freezePeriods },
  { name: 'Runners', description: 'Runners, and what GitLab Runner calls.', endpoints: runners },
  { name: 'CI lint', description: 'Checks of CI configurations.', endpoints: lint },
  { name: 'Resource events', description: 'What happened to labels, milestones and states of issues and merge requests.', endpoints: resourceEvents },
  { name: 'Issue links', description: 'Issues that have to do with each other.', endpoints: issueLinks },
  { name: 'Issues', description: 'Issues with their todos and time tracking.', endpoints: [...issueLists, ...issues, ...issueAttention] },
  { name: 'Labels', description: 'Labels of projects and groups.', endpoints: labels },
  { name: 'Milestones', description: 'Milestones of projects and groups.', endpoints: milestones },
  { name: 'Boards', description: 'Boards of the issues of projects and groups, and their lists.', endpoints: boards },
  { name: 'Notes', description: 'Comments on issues, merge requests and snippets.', endpoints: notes },
  { name: 'Discussions', description: 'Threaded comments, including on lines of a diff.', endpoints: discussions },
  { name: 'Draft notes', description: 'Notes of a review that are kept until they are published together.', endpoints: draftNotes },
  { name: 'Suggestions', description: 'Changes that notes suggest, applied as a commit.', endpoints: suggestions },
  { name: 'Award emoji', description: 'Emoji on issues, merge requests, snippets and notes.', endpoints: awardEmoji },
  { name: 'Todos', description: 'Todos of the caller.', endpoints: todos },
  { name: 'Events', description: 'Activity of users.', endpoints: events },
  { name: 'Wikis', description: 'Wiki pages of projects.', endpoints: wikis },
  { name: 'Snippets', description: 'Snippets of users and of projects.', endpoints: snippets },
  { name: 'Markdown', description: 'Markdown as HTML.', endpoints: markdown },
  { name: 'Uploads', description: 'Files attached to Markdown texts of a project.', endpoints: uploads },
  { name: 'Webhooks', description: 'Webhooks of projects, groups and the system, and their deliveries.', endpoints: hooks },
  { name: 'Deploy keys', description: 'SSH keys that give machines access to projects.', endpoints: deployKeys },
  { name: 'Deploy tokens', description: 'Tokens that give machines access to repositories or packages.', endpoints: deployTokens },
  { name: 'Applications', description: 'OAuth applications of the service; administrators only.', endpoints: applications },
  {
    name: 'Project and group access tokens',
    description: 'Tokens with a role in one project or group, which belong to no person.',
    endpoints: accessTokens,
  },
  { name: 'Personal access tokens', description: 'Tokens of the caller; administrators manage those of all users.', endpoints: tokens },
  {
    name: 'Custom attributes',
    description: 'Keys and values that administrators attach to users, groups and projects.',
    endpoints: customAttributes,
  },
  { name: 'Notification settings', description: 'Mail notifications of the caller.', endpoints: notificationSettings },
  { name: 'Namespaces', description: 'Users and groups as namespaces of projects.', endpoints: namespaces },
  { name: 'User agents', description: 'The clients that created issues and snippets; administrators only.', endpoints: userAgents },
  { name: 'Broadcast messages', description: 'Messages of the administrators for all pages.', endpoints: broadcastMessages },
  { name: 'Audit events', description: 'The audit log; administrators only.', endpoints: auditEvents },
  {
    name: 'Administration',
    description: 'Held texts, limits of single callers, sign-in providers, jobs and files of users; administrators only.',
    endpoints: administration,
  },
  { name: 'Server', description: 'Version and metadata of the server.', endpoints: instance },
]

/** Every endpoint of the API by subject: first in the order of the contract's parts, then all others. */
export const sections: Section[] = subjects.map(({ endpoints, ...section }) => ({ ...section, endpoints: withUnsupported(endpoints) }))

/** Every endpoint of the API, family by family. */
export const families: Endpoint[][] = sections.map(({ endpoints }) => endpoints)
