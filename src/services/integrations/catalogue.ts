import { asana } from './asana.js'
import { discord, hangoutsChat, mattermost, microsoftTeams, pumble, slack, telegram, unifyCircuit, webexTeams } from './chat/services.js'
import { buildkite, droneCi, jenkins, teamcity } from './ci.js'
import { jira } from './jira.js'
import { emailsOnPush, pipelinesEmail } from './mails.js'
import type { Property, Service } from './service.js'
import { bugzilla, customIssueTracker, externalWiki, redmine, youtrack } from './trackers.js'

/** The integrations that projects can have, by slug (SV-2). */
export const SERVICES: ReadonlyMap<string, Service> = new Map(
  [
    asana,
    bugzilla,
    buildkite,
    customIssueTracker,
    discord,
    droneCi,
    emailsOnPush,
    externalWiki,
    hangoutsChat,
    jenkins,
    jira,
    mattermost,
    microsoftTeams,
    pipelinesEmail,
    pumble,
    redmine,
    slack,
    teamcity,
    telegram,
    unifyCircuit,
    webexTeams,
    youtrack,
  ].map((service) => [service.slug, service]),
)

/** The properties of all, by name: one name has the same kind everywhere. */
export const PROPERTIES: Readonly<Record<string, Property>> = Object.assign({}, ...[...SERVICES.values()].map(({ properties }) => properties))
