import { z } from 'zod'
import { admin, adminFirst } from '../../access/rules.js'
import {
  HeldText,
  ImportedUser,
  InstanceStatistics,
  JobQueue,
  presentHeldText,
  presentInstanceStatistics,
  presentJobQueue,
  presentRequestLimit,
  presentSignInProvider,
  RequestLimit,
  SignInProvider,
} from '../../entities/administration.js'
import { notFound } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { file, int, needsOnlyOneOf, opt, paging, rowId, str } from '../../http/params.js'
import { slice } from '../../services/core/page.js'
import { checkProvider, listProviders } from '../../services/identity/sign-in/provider-check.js'
import { listHeldTexts, releaseText, removeText } from '../../services/operations/held-texts.js'
import { loadJobQueue, removeJob, retryJobs } from '../../services/operations/job-queue.js'
import { countInstance } from '../../services/operations/overview.js'
import { listOwnLimits, removeOwnLimit, setOwnLimit } from '../../services/operations/request-limits.js'
import { importUsers } from '../../services/operations/user-import.js'
import { instanceFeatures } from './features.js'
import { sidekiq } from './sidekiq.js'

const byId = z.object({ id: rowId() })
const Retried = z.strictObject({ retried: z.int() })

const heldTexts = [
  endpoint({
    method: 'GET',
    path: '/admin/held_texts',
    summary: 'List the texts that the spam filter holds',
    description: 'The newest comes first.',
    access: admin,
    input: z.object(paging),
    output: z.array(HeldText),
    handler: async ({ ctx, input, view }) => pageOf(await listHeldTexts(ctx, input), input, (held) => presentHeldText(held, view)),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/held_texts/:id/release',
    summary: 'Publish a held text',
    description: 'It is published as its author wrote it, and the filter is told that it was wrong.',
    access: admin,
    status: 204,
    answers: [404],
    input: byId,
    handler: async ({ ctx, input }) => releaseText(ctx, input.id),
  }),
  endpoint({
    method: 'DELETE',
    path: '/admin/held_texts/:id',
    summary: 'Remove a held text',
    description: 'The filter is told that it was right.',
    access: admin,
    answers: [404],
    input: byId,
    handler: async ({ ctx, input }) => removeText(ctx, input.id),
  }),
]

const requestLimits = [
  endpoint({
    method: 'GET',
    path: '/admin/request_limits',
    summary: 'List the limits of requests of single callers',
    description: 'The newest comes first. The settings have those of all others.',
    access: admin,
    input: z.object(paging),
    output: z.array(RequestLimit),
    handler: async ({ ctx, input }) => pageOf(slice(await listOwnLimits(ctx), input), input, presentRequestLimit),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/request_limits',
    summary: 'Set the limit of requests of a caller',
    description: 'In place of the one that the caller has.',
    access: adminFirst,
    input: z.object({ caller: documented.filled(), requests: int() }),
    output: RequestLimit,
    handler: async ({ ctx, input }) => presentRequestLimit(await setOwnLimit(ctx, input.caller, input.requests)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/admin/request_limits/:id',
    summary: 'Remove the limit of requests of a caller',
    access: admin,
    answers: [404],
    input: byId,
    handler: async ({ ctx, input }) => removeOwnLimit(ctx, input.id),
  }),
]

const providers = [
  endpoint({
    method: 'GET',
    path: '/admin/sign_in_providers',
    summary: 'List the providers that people sign in with',
    access: admin,
    input: z.object(paging),
    output: z.array(SignInProvider),
    handler: async ({ ctx, input }) => pageOf(slice(await listProviders(ctx), input), input, presentSignInProvider),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/sign_in_providers/:name/test',
    summary: 'Test a provider',
    description: 'The provider is asked, for at most five seconds.',
    access: admin,
    status: 200,
    answers: [404],
    input: z.object({ name: str() }),
    output: z.strictObject({ good: z.boolean(), message: z.string() }),
    handler: ({ ctx, input }) => checkProvider(ctx, input.name),
  }),
]

const jobs = [
  endpoint({
    method: 'GET',
    path: '/admin/jobs',
    summary: 'Show the work in the background',
    access: admin,
    output: JobQueue,
    handler: async ({ ctx }) => presentJobQueue(await loadJobQueue(ctx)),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/jobs/retry',
    summary: 'Try all failed jobs again',
    access: admin,
    status: 200,
    output: Retried,
    handler: async ({ ctx }) => ({ retried: await retryJobs(ctx, null) }),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/jobs/:id/retry',
    summary: 'Try a failed job again',
    access: admin,
    status: 200,
    answers: [404],
    input: byId,
    output: Retried,
    async handler({ ctx, input }) {
      const retried = await retryJobs(ctx, input.id)
      if (retried === 0) throw notFound('Job')
      return { retried }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/admin/jobs/:id',
    summary: 'Remove a failed job',
    description: 'It is then never done.',
    access: admin,
    answers: [404],
    input: byId,
    async handler({ ctx, input }) {
      if (!(await removeJob(ctx, input.id))) throw notFound('Job')
    },
  }),
]

/** What the pages of administration do, for programs (WB-392, WB-393). */
export const administration = [
  ...heldTexts,
  ...requestLimits,
  ...providers,
  ...jobs,
  ...sidekiq,
  ...instanceFeatures,
  endpoint({
    method: 'GET',
    path: '/application/statistics',
    summary: 'Count what is on the instance',
    access: admin,
    output: InstanceStatistics,
    handler: async ({ ctx }) => presentInstanceStatistics(await countInstance(ctx)),
  }),
  endpoint({
    method: 'POST',
    path: '/admin/users/import',
    summary: 'Create users from comma-separated values',
    description: 'Each line is done alone: those that are refused are said, and the others stand.',
    access: adminFirst,
    largeBody: true,
    input: needsOnlyOneOf(z.object({ file: opt(file()), text: opt(str()) }), 'file', 'text'),
    output: z.array(ImportedUser),
    handler: ({ ctx, input }) => importUsers(ctx, input.file?.data.toString('utf8') ?? input.text ?? ''),
  }),
]
