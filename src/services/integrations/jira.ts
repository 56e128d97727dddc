import { closingKeysOfShortText, referencesInPlainText } from '../../rules/references.js'
import { branchOf, type Payload } from './payload.js'
import { baseOf, flag, isOn, type Service, type ServiceRequest, type Settings, text, textOf, url, withCredentials } from './service.js'
import { credentials, jiraLinks } from './trackers.js'

/** Requests for one event. */
const MAX_REQUESTS = 50
const API = 'rest/api/2/issue'
/** How Jira is asked: with user and password, or with a token alone. */
const [BASIC, TOKEN] = [0, 1]

/** A text that mentions issues, and how a comment names it. */
interface Mention {
  /** Of its title and text. */
  text: string
  title: string
  kind: string
  href: string
  /** Whether what it says about closing has taken effect. */
  closes: boolean
}

/** Commits of the default branch, and merge requests that are opened or merged (SV-23). */
function mentionsOf(payload: Payload): { by: string; mentions: Mention[] } {
  if (payload.object_kind === 'push' && branchOf(payload) === payload.project.default_branch) {
    const mentions = payload.commits.map(({ message, title, url }) => ({ text: message, title, kind: 'a commit', href: url, closes: true }))
    return { by: payload.user_name ?? 'Somebody', mentions }
  }
  if (payload.object_kind !== 'merge_request') return { by: '', mentions: [] }
  const { action, title, description, url } = payload.object_attributes
  const mention = { text: `${title}\n\n${description ?? ''}`, title, kind: 'a merge request', href: url, closes: action === 'merge' }
  return { by: payload.user?.name ?? 'Somebody', mentions: action === 'open' || action === 'merge' ? [mention] : [] }
}

/** What Jira's texts treat as a sign. */
const plain = (text: string) => text.replace(/[[\]{}|\\]/g, ' ').replace(/\s+/g, ' ')

function requestsOf(payload: Payload, settings: Settings): ServiceRequest[] {
  const { by, mentions } = mentionsOf(payload)
  const transitions = textOf(settings, 'jira_issue_transition_id').match(/[0-9]{1,9}/g) ?? []
  const requests: ServiceRequest[] = []
  for (const { text, title, kind, href, closes } of mentions) {
    const keys = new Set(referencesInPlainText(text).flatMap((each) => (each.kind === 'external' ? [each.name] : [])))
    const isMerge = payload.object_kind === 'merge_request' && closes
    if (isOn(settings, 'comment_on_event_enabled') && !isMerge)
      for (const key of keys) {
        const where = `[${plain(payload.project.path_with_namespace)}|${payload.project.web_url}]`
        const body = `${plain(by)} mentioned this issue in [${kind}|${href}] of ${where}:\n{quote}${plain(title)}{quote}`
        requests.push({ to: `POST ${API}/${key}/comment`, body: JSON.stringify({ body }) })
      }
    if (closes)
      for (const key of new Set(closingKeysOfShortText(text).map(({ name }) => name)))
        for (const id of transitions) requests.push({ to: `POST ${API}/${key}/transitions`, body: JSON.stringify({ transition: { id } }) })
  }
  return requests.slice(0, MAX_REQUESTS)
}

const usesToken = (settings: Settings) => settings['jira_auth_type'] === TOKEN

export const jira: Service = {
  slug: 'jira',
  title: 'Jira',
  description: 'Links to issues in Jira, comments on them, and moves those that are closed here.',
  properties: {
    url: url('Address of Jira'),
    api_url: { kind: 'url', label: 'Address of the API', hint: 'Empty: the same.' },
    jira_auth_type: {
      kind: 'number',
      label: 'Authentication',
      choices: ['0', '1'],
      labels: { 0: 'User name and password', 1: 'A personal access token' },
      fallback: BASIC,
    },
    ...credentials,
    jira_issue_transition_id: text('Transitions that close', { hint: 'Their ids, separated by commas. Empty: issues stay as they are.' }),
    comment_on_event_enabled: flag('Comment on issues', { fallback: true, beside: true }),
  },
  events: ['commit', 'merge_requests'],
  tracker: jiraLinks,
  sender: {
    address: (settings) => {
      const base = baseOf(settings, 'api_url') || baseOf(settings, 'url')
      return usesToken(settings) ? base : withCredentials(base, textOf(settings, 'username'), textOf(settings, 'password'))
    },
    bearer: (settings) => (usesToken(settings) ? textOf(settings, 'password') : undefined),
    requests: requestsOf,
  },
  faults: (settings): Record<string, string[]> =>
    usesToken(settings) || textOf(settings, 'username') !== '' ? {} : { username: ["can't be blank"] },
}
