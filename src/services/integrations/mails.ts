import type { MailPart } from '../core/mail.js'
import { failedJobs } from './chat/message.js'
import { isEndWanted, isGone, isNewRef, nameOfRef, type Payload } from './payload.js'
import { branches, brokenOnly, flag, type IntegrationMail, isOn, type Property, type Service, type Settings } from './service.js'

/** The most addresses of one integration (SV-12). */
export const MAX_RECIPIENTS = 100

const recipients: Property = { kind: 'lines', label: 'Recipients', required: true, hint: `Mail addresses, at most ${MAX_RECIPIENTS}.` }

/** The addresses of a text, which stand between commas, spaces or line breaks. */
export const addressesIn = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((address) => address !== ''))]

const faults = (settings: Settings): Record<string, string[]> => {
  const all = addressesIn(String(settings['recipients'] ?? ''))
  if (all.length > MAX_RECIPIENTS) return { recipients: [`can't exceed ${MAX_RECIPIENTS}`] }
  return all.length > 0 && all.every((address) => address.length <= 254 && /^[^\s@<>"]+@[^\s@<>"]+$/.test(address))
    ? {}
    : { recipients: ['is not a list of mail addresses'] }
}

const placeOf = ({ project: { path_with_namespace, web_url } }: Payload) => ({ text: path_with_namespace.replaceAll('/', ' / '), link: web_url })
const footerOf = ({ project }: Payload): MailPart[] => [`You get this mail because of an integration of ${project.path_with_namespace}.`]

function mailOfPush(payload: Payload, settings: Settings): IntegrationMail | null {
  if (payload.object_kind !== 'push' && payload.object_kind !== 'tag_push') return null
  const { project, commits, before, after, user_name, total_commits_count: total } = payload
  const [name, kind, who] = [nameOfRef(payload), payload.object_kind === 'push' ? 'branch' : 'tag', user_name ?? 'Somebody']
  const gone = isGone(payload)
  const isChange = !gone && !isNewRef(payload) && kind === 'branch'
  const said = gone ? `removed ${kind} ${name}` : isChange ? `pushed to branch ${name}` : `pushed new ${kind} ${name}`
  const title = isChange && commits.length === 1 ? (commits[0]?.title ?? '') : `${who} ${said}`
  const link = isChange ? `${project.web_url}/-/compare/${before}...${after}` : project.web_url
  const listed = commits.map(({ id, title, url, author }): MailPart => ({ text: `${id.slice(0, 8)} ${title} (${author.name})`, link: url }))
  return {
    subject: `[${project.path_with_namespace}][${name}] ${title}`,
    heading: { place: placeOf(payload), title: { text: `${who} ${said}`, link }, lead: null },
    parts: [...listed, ...(total > commits.length ? [`${total - commits.length} more commits are not in this mail.`] : [])],
    footer: footerOf(payload),
    ...(isChange && !isOn(settings, 'disable_diffs') && { diff: { from: before, to: after } }),
  }
}

export const emailsOnPush: Service = {
  slug: 'emails-on-push',
  title: 'Emails on push',
  description: 'Mails the commits and differences of each push.',
  properties: {
    recipients,
    disable_diffs: flag('Without differences', { fallback: false }),
    branches_to_be_notified: branches('all'),
  },
  events: ['push', 'tag_push'],
  mail: mailOfPush,
  faults,
}

function mailOfPipeline(payload: Payload, settings: Settings): IntegrationMail | null {
  if (payload.object_kind !== 'pipeline' || !isEndWanted(payload, isOn(settings, 'notify_only_broken_pipelines'))) return null
  const { project, commit } = payload
  const { id, ref, status, url, sha } = payload.object_attributes
  const said = `Pipeline #${id} has ${status === 'success' ? 'passed' : 'failed'} for ${ref}`
  const failed = failedJobs(payload).map(
    (job): MailPart => ({ text: `Failed: ${job.name} (${job.stage})`, link: `${project.web_url}/-/jobs/${job.id}` }),
  )
  return {
    subject: `${project.name} | ${said} | ${sha.slice(0, 8)}`,
    heading: { place: placeOf(payload), title: { text: said, link: url }, lead: null },
    parts: [
      ...(commit ? [{ text: `${commit.id.slice(0, 8)} ${commit.title} (${commit.author.name})`, link: commit.url }] : []),
      ...failed,
      { text: 'View it', link: url, button: true },
    ],
    footer: footerOf(payload),
  }
}

export const pipelinesEmail: Service = {
  slug: 'pipelines-email',
  title: 'Pipeline status emails',
  description: 'Mails the end of pipelines.',
  properties: { recipients, notify_only_broken_pipelines: brokenOnly, branches_to_be_notified: branches('default') },
  events: ['pipeline'],
  mail: mailOfPipeline,
  faults,
}
