import { branchOf, type Commit, type Payload } from './payload.js'
import { type Service, type ServiceRequest, type Settings, secret, text, textOf } from './service.js'

/** Requests for one push. */
const MAX_REQUESTS = 50
/** A task after `#` or by its address, with a word that closes it before it. */
const TASK = /(?:\b(fix|fixed|close|closed)[ \t]{1,8})?(?:#|https:\/\/app\.asana\.com\/[^\s]{0,80}\/)([0-9]{3,20})\b/gi

const restrictedTo = (settings: Settings) =>
  textOf(settings, 'restrict_to_branch')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

function ofCommit({ message, url, id }: Commit, payload: Payload, by: string): ServiceRequest[] {
  return [...message.matchAll(TASK)].flatMap(([, closes, task]): ServiceRequest[] => [
    {
      to: `POST tasks/${task}/stories`,
      body: JSON.stringify({ data: { text: `${by} pushed ${id.slice(0, 8)} of ${payload.project.path_with_namespace} (${url}):\n${message}` } }),
    },
    ...(closes ? [{ to: `PUT tasks/${task}`, body: JSON.stringify({ data: { completed: true } }) }] : []),
  ])
}

export const asana: Service = {
  slug: 'asana',
  title: 'Asana',
  description: 'Adds commit messages as comments to Asana tasks, and completes the tasks that they close.',
  properties: {
    api_key: secret('Personal access token', { required: true }),
    restrict_to_branch: text('Only branches', { hint: 'Separated by commas. Empty: all.' }),
  },
  events: ['push'],
  sender: {
    address: () => 'https://app.asana.com/api/1.0',
    bearer: (settings) => textOf(settings, 'api_key'),
    requests(payload, settings) {
      if (payload.object_kind !== 'push') return []
      const wanted = restrictedTo(settings)
      if (wanted.length > 0 && !wanted.includes(branchOf(payload) ?? '')) return []
      return payload.commits.flatMap((commit) => ofCommit(commit, payload, payload.user_name ?? 'Somebody')).slice(0, MAX_REQUESTS)
    },
  },
}
