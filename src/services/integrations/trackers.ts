import { baseOf, type Property, type Service, secret, text, textOf, url } from './service.js'

const tracker = (
  slug: string,
  title: string,
  description: string,
  more: Record<string, Property> = { new_issue_url: url('New issue') },
): Service => ({
  slug,
  title,
  description,
  properties: {
    project_url: url('Project'),
    issues_url: url('Issue', { hint: 'With :id where the key of an issue stands.' }),
    ...more,
  },
  events: [],
  tracker: {
    keys: 'any',
    links: (settings) => ({
      project_url: textOf(settings, 'project_url'),
      issues_url: textOf(settings, 'issues_url'),
      new_issue_url: textOf(settings, 'new_issue_url') || undefined,
    }),
  },
  faults: (settings): Record<string, string[]> => (textOf(settings, 'issues_url').includes(':id') ? {} : { issues_url: ['must contain :id'] }),
})

export const customIssueTracker = tracker('custom-issue-tracker', 'Custom issue tracker', 'Links to issues in another issue tracker.')
export const redmine = tracker('redmine', 'Redmine', 'Links to issues in Redmine.')
export const bugzilla = tracker('bugzilla', 'Bugzilla', 'Links to issues in Bugzilla.')
export const youtrack = tracker('youtrack', 'YouTrack', 'Links to issues in YouTrack.', {})

export const externalWiki: Service = {
  slug: 'external-wiki',
  title: 'External wiki',
  description: 'Links to a wiki elsewhere.',
  properties: { external_wiki_url: url('Address of the wiki') },
  events: [],
}

/** What jira.ts adds requests to. */
export const jiraLinks = {
  keys: 'long',
  links: (settings: Parameters<NonNullable<Service['tracker']>['links']>[0]) => {
    const base = baseOf(settings, 'url')
    return { project_url: base, issues_url: `${base}/browse/:id`, new_issue_url: `${base}/secure/CreateIssue!default.jspa` }
  },
} as const

export const credentials = { username: text('User name'), password: secret('Password or token', { required: true }) }
