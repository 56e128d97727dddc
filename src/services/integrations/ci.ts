import { branchOf, isGone, type Payload } from './payload.js'
import { address, baseOf, flag, type Sender, type Service, secret, text, textOf, url, withCredentials } from './service.js'

const verify = flag('Enable SSL verification', { fallback: true })
const EVENTS = ['push', 'merge_requests', 'tag_push'] as const

/** A program that reads webhooks, at an address of its own. */
const webhookSender = (at: Sender['address']): Sender => ({
  address: at,
  asWebhook: true,
  requests: (payload) => [{ body: JSON.stringify(payload) }],
})

const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/')

export const jenkins: Service = {
  slug: 'jenkins',
  title: 'Jenkins',
  description: 'Triggers builds of Jenkins.',
  properties: {
    jenkins_url: address('Jenkins server'),
    project_name: text('Project', { required: true, hint: 'The end of its address in Jenkins.' }),
    username: text('User name'),
    password: secret('Password'),
    enable_ssl_verification: verify,
  },
  events: EVENTS,
  off: ['merge_requests', 'tag_push'],
  sender: webhookSender((settings) =>
    withCredentials(
      `${baseOf(settings, 'jenkins_url')}/project/${encoded(textOf(settings, 'project_name'))}`,
      textOf(settings, 'username'),
      textOf(settings, 'password'),
    ),
  ),
}

export const droneCi: Service = {
  slug: 'drone-ci',
  title: 'Drone',
  description: 'Triggers builds of Drone.',
  properties: { drone_url: address('Drone server'), token: secret('Token of the project', { required: true }), enable_ssl_verification: verify },
  events: EVENTS,
  sender: {
    address: (settings) => `${baseOf(settings, 'drone_url')}/hook?access_token=${encodeURIComponent(textOf(settings, 'token'))}`,
    asWebhook: true,
    requests(payload) {
      const path = payload.project.path_with_namespace.split('/')
      const name = path.pop() ?? ''
      return [{ to: `POST ?owner=${encodeURIComponent(path.join('/'))}&name=${encodeURIComponent(name)}`, body: JSON.stringify(payload) }]
    },
  },
}

export const buildkite: Service = {
  slug: 'buildkite',
  title: 'Buildkite',
  description: 'Triggers builds of Buildkite.',
  properties: {
    project_url: url('Pipeline', { hint: 'Such as https://buildkite.com/example-org/test-pipeline' }),
    token: secret('Token', { required: true, hint: 'Buildkite shows it for a pipeline with a GitLab repository.' }),
  },
  events: EVENTS,
  // what follows a colon in the token is for reading states
  sender: webhookSender((settings) => `https://webhook.buildkite.com/deliver/${encodeURIComponent(textOf(settings, 'token').split(':')[0] ?? '')}`),
}

const inAttribute = (value: string) =>
  value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/[^\x20-\uffff]/g, '')

/** The branch that TeamCity builds; null if there is nothing to build. */
function builtBranch(payload: Payload): string | null {
  if (payload.object_kind === 'push') return isGone(payload) ? null : branchOf(payload)
  const isOpened = payload.object_kind === 'merge_request' && ['open', 'reopen'].includes(payload.object_attributes.action)
  return isOpened ? (payload.object_attributes.source_branch ?? null) : null
}

export const teamcity: Service = {
  slug: 'teamcity',
  title: 'JetBrains TeamCity',
  description: 'Triggers builds of TeamCity.',
  properties: {
    teamcity_url: address('TeamCity server'),
    build_type: text('Build configuration', { required: true, hint: 'Its id.' }),
    username: text('User name', { required: true, hint: 'Of a user who may trigger builds.' }),
    password: secret('Password', { required: true }),
    enable_ssl_verification: verify,
  },
  events: ['push', 'merge_requests'],
  sender: {
    address: (settings) =>
      withCredentials(`${baseOf(settings, 'teamcity_url')}/httpAuth/app/rest/buildQueue`, textOf(settings, 'username'), textOf(settings, 'password')),
    contentType: 'application/xml',
    requests(payload, settings) {
      const branch = builtBranch(payload)
      if (branch === null) return []
      const type = inAttribute(textOf(settings, 'build_type'))
      return [{ body: `<build branchName="${inAttribute(branch)}"><buildType id="${type}"/></build>` }]
    },
  },
}
