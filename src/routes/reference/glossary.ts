import type { Glossary } from '../../http/openapi/parameters.js'
import { PROPERTIES } from '../../services/integrations/catalogue.js'
import { ISSUABLES, KEYS_AND_HOOKS } from './glossary-collaboration.js'
import { COMMON, PLACES } from './glossary-places.js'

/** The description of the path parameter `id`, by path prefix. */
const IDS: [prefix: string, text: string][] = [
  ['/projects/', 'Id of the project, or its full path with `/` written as `%2F`.'],
  ['/groups/', 'Id of the group, or its full path with `/` written as `%2F`.'],
  ['/users/', 'Id of the user.'],
  ['/todos/', 'Id of the todo.'],
  ['/namespaces/', 'Id or full path of the namespace.'],
  ['/snippets/', 'Id of the snippet.'],
  ['/personal_access_tokens/', 'Id of the token, or `self` for the token of the call.'],
  ['/keys/', 'Id of the key.'],
  ['/audit_events/', 'Id of the entry.'],
  ['/applications/', 'Id of the application.'],
  ['/broadcast_messages/', 'Id of the message.'],
  ['/suggestions/', 'Id of the suggestion.'],
  ['/admin/held_texts/', 'Id of the text.'],
  ['/admin/request_limits/', 'Id of the limit.'],
  ['/admin/jobs/', 'Id of the job.'],
  ['/jobs/', 'Id of the job.'],
  ['/runners/', 'Id of the runner.'],
  ['/topics/', 'Id of the topic.'],
  ['/registry/repositories/', 'Id of the container repository.'],
]

const BROADCASTS = {
  'Broadcast messages: starts_at': 'When the message is shown first; now by default.',
  'Broadcast messages: ends_at': 'When it is no longer shown; an hour after the start by default.',
  'Broadcast messages: color': 'A colour as `#rgb` or `#rrggbb`; stored, and not used by pages.',
  'Broadcast messages: font': 'The colour of the text, likewise.',
  'Broadcast messages: target_path': 'The path of the pages that show it, in which `*` stands for any text; all pages by default.',
  'Broadcast messages: broadcast_type': 'Stored; both kinds are shown in the same way.',
  'Broadcast messages: dismissable': 'Whether readers can dismiss it.',
}

const ADMINISTRATION = {
  'Administration: caller': 'A username, or an IP address for requests without a credential.',
  'Administration: requests': 'The most requests in the period of the general limits; 0 is no limit.',
  'Administration: name': 'The name of the feature, or of the provider as the configuration has it.',
  'Administration: file': 'A file of comma-separated values, whose first line names the columns.',
  'Administration: text': 'The same as text.',
}

/** What the properties of integrations are called on their pages. */
const INTEGRATIONS: Record<string, string> = {
  'Integrations: slug': 'The service, such as `slack`.',
  'Integrations: notify_only_default_branch': 'In place of `branches_to_be_notified`: `default` or `all`.',
  commit_events: 'Whether commits are delivered.',
  ...Object.fromEntries(Object.entries(PROPERTIES).map(([name, { label, hint }]) => [`Integrations: ${name}`, `${label}.${hint ? ` ${hint}` : ''}`])),
}

const TEXTS: Record<string, string> = {
  ...COMMON,
  ...PLACES,
  ...ISSUABLES,
  ...KEYS_AND_HOOKS,
  ...BROADCASTS,
  ...ADMINISTRATION,
  ...INTEGRATIONS,
}

/** The description of a parameter whose declaration has none. */
export const glossary: Glossary = (name, { path, tag }) => {
  if (name === 'id') return IDS.find(([prefix]) => path.startsWith(prefix))?.[1]
  const key = `${tag}: ${name}`
  return Object.hasOwn(TEXTS, key) ? TEXTS[key] : Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined
}
