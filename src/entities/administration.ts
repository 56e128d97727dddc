import { z } from 'zod'
import type { View } from '../http/view.js'
import type { ListedProvider } from '../services/identity/sign-in/provider-check.js'
import type { HeldRecord } from '../services/operations/held-texts.js'
import type { FailedJob as FailedJobRecord, JobCounts as JobCountsRecord } from '../services/operations/job-queue.js'
import type { OwnLimit } from '../services/operations/request-limits.js'
import { presentUserRef, UserRef } from './identity/user.js'

/** A text that the spam filter has marked (WB-392). */
export const HeldText = z
  .strictObject({
    id: z.int(),
    kind: z.enum(['issue', 'note', 'snippet']),
    noteable_type: z.enum(['Issue', 'MergeRequest', 'Snippet', 'Commit']).nullable(),
    project: z.string().nullable(),
    text: z.string(),
    text_truncated: z.boolean(),
    author: UserRef,
    ip_address: z.string(),
    user_agent: z.string(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'HeldText', description: 'A text that the spam filter has marked, with at most 2,000 characters of it.' })

export const presentHeldText = (record: HeldRecord, view: View): z.infer<typeof HeldText> => ({
  id: record.id,
  kind: record.kind,
  noteable_type: record.noteable_type,
  project: record.project,
  text: record.text,
  text_truncated: record.cut,
  author: presentUserRef(record.author, view),
  ip_address: record.address,
  user_agent: record.user_agent,
  created_at: record.created_at.toISOString(),
})

/** The limit of requests of one caller (WB-392). */
export const RequestLimit = z
  .strictObject({
    id: z.int(),
    username: z.string().nullable(),
    ip_address: z.string().nullable(),
    requests: z.int(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'RequestLimit', description: 'How many requests a user or an address may make in a period; 0 is no limit.' })

export const presentRequestLimit = ({ id, username, address, requests, created_at }: OwnLimit): z.infer<typeof RequestLimit> => ({
  id,
  username,
  ip_address: address,
  requests,
  created_at: created_at.toISOString(),
})

const ProviderCheck = z.strictObject({ good: z.boolean(), message: z.string(), checked_at: z.iso.datetime() })

/** A provider of the configuration (WB-392). */
export const SignInProvider = z
  .strictObject({
    name: z.string(),
    label: z.string(),
    kind: z.enum(['openid', 'ldap', 'header']),
    url: z.string().nullable(),
    enabled: z.boolean(),
    create_accounts: z.boolean(),
    link_by_address: z.boolean(),
    second_factor: z.boolean(),
    last_check: ProviderCheck.nullable(),
  })
  .meta({ id: 'SignInProvider', description: 'A provider that people sign in with, and what its last test has found.' })

export const presentSignInProvider = ({ provider, kind, address, on, check }: ListedProvider): z.infer<typeof SignInProvider> => ({
  name: provider.name,
  label: provider.label ?? provider.name,
  kind,
  url: address,
  enabled: on,
  create_accounts: provider.create_accounts,
  link_by_address: provider.link_by_address,
  second_factor: provider.second_factor,
  last_check: check && { good: check.good, message: check.message, checked_at: check.checked_at.toISOString() },
})

const JobCounts = z.strictObject({
  kind: z.string(),
  waiting: z.int(),
  later: z.int(),
  running: z.int(),
  failed: z.int(),
  delay: z.number(),
})

const FailedJob = z.strictObject({
  id: z.int(),
  kind: z.string(),
  payload: z.unknown(),
  attempts: z.int(),
  failed_at: z.iso.datetime(),
  error: z.string().nullable(),
})

/** The work in the background (WB-393). */
export const JobQueue = z
  .strictObject({ kinds: z.array(JobCounts), failed: z.array(FailedJob) })
  .meta({ id: 'JobQueue', description: 'The jobs by kind and state, and the newest of those that have failed for good.' })

export const presentJobQueue = ({ kinds, failed }: { kinds: JobCountsRecord[]; failed: FailedJobRecord[] }): z.infer<typeof JobQueue> => ({
  kinds,
  failed: failed.map((job) => ({ ...job, failed_at: new Date(job.failed_at).toISOString() })),
})

const queueMetrics = {
  queues: z.strictObject({ default: z.strictObject({ backlog: z.int(), latency: z.int() }) }),
  processes: z.array(
    z.strictObject({
      hostname: z.string(),
      pid: z.int(),
      tag: z.string(),
      started_at: z.string(),
      queues: z.array(z.string()),
      labels: z.array(z.string()),
      concurrency: z.int(),
      busy: z.int(),
    }),
  ),
  jobs: z.strictObject({ processed: z.int(), failed: z.int(), enqueued: z.int(), dead: z.int() }),
}

/** The queue in the words of Sidekiq (RX-1). */
export const QueueMetrics = z
  .strictObject(queueMetrics)
  .meta({ id: 'QueueMetrics', description: 'The backlog of the queue, the process that works, and how many jobs it has done.' })

const COUNTED = [
  'forks',
  'issues',
  'merge_requests',
  'notes',
  'snippets',
  'ssh_keys',
  'milestones',
  'users',
  'projects',
  'groups',
  'active_users',
] as const

/** What is on the instance, as numbers with separators (RX-2). */
export const InstanceStatistics = z
  .strictObject(Object.fromEntries(COUNTED.map((name) => [name, z.string()])) as Record<(typeof COUNTED)[number], z.ZodString>)
  .meta({ id: 'InstanceStatistics', description: 'How many there are of each kind on the instance. Large numbers are estimates.' })

export const presentInstanceStatistics = (counts: Record<string, number>) =>
  Object.fromEntries(COUNTED.map((name) => [name, (counts[name] ?? 0).toLocaleString('en-US')])) as z.infer<typeof InstanceStatistics>

/** What became of a line of a file of users (WB-393). */
export const ImportedUser = z
  .strictObject({ line: z.int(), username: z.string(), fault: z.string().nullable(), password: z.string().nullable() })
  .meta({ id: 'ImportedUser', description: 'A line of a file of users: why no account was made of it, or the password that was made up.' })
