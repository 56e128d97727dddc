/** The events that integrations listen to, as attributes `<name>_events` of the API (SV-1). */
export const INTEGRATION_EVENTS = [
  'commit',
  'push',
  'tag_push',
  'issues',
  'confidential_issues',
  'merge_requests',
  'note',
  'confidential_note',
  'pipeline',
  'job',
  'wiki_page',
] as const
export type IntegrationEvent = (typeof INTEGRATION_EVENTS)[number]
