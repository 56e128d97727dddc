import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { admin, fullPathOf, type GroupSubject, onGroupSignedIn, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import {
  GroupHook,
  HookDelivery,
  ProjectHook,
  presentGroupHook,
  presentHookDelivery,
  presentProjectHook,
  presentSystemHook,
  SystemHook,
} from '../../entities/hooks/hook.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, clearable, documentedWith, idPaging, oneOf, opt, paging, rowId, str, updateOf, where } from '../../http/params.js'
import { listAttempts, resend } from '../../services/hooks/attempts.js'
import {
  createHook,
  deleteHook,
  getHook,
  type Hook,
  type HookAttributes,
  type HookSource,
  listHooks,
  updateHook,
} from '../../services/hooks/hooks.js'
import { SYSTEM_SAMPLE, TRIGGERS, testHook, testSystemHook } from '../../services/hooks/samples.js'
import { newestProjectOf } from '../../services/hooks/sources.js'

const flags = {
  push_events: opt(bool()),
  tag_push_events: opt(bool()),
  merge_requests_events: opt(bool()),
  repository_update_events: opt(bool()),
}
const inside = {
  ...flags,
  issues_events: opt(bool()),
  confidential_issues_events: opt(bool()),
  note_events: opt(bool()),
  confidential_note_events: opt(bool()),
  pipeline_events: opt(bool()),
  job_events: opt(bool()),
  wiki_page_events: opt(bool()),
  releases_events: opt(bool()),
  deployment_events: opt(bool()),
  feature_flag_events: opt(bool()),
}
const ofGroup = { ...inside, subgroup_events: opt(bool()) }
const others = {
  token: documentedWith(clearable(), { pattern: '^[ -~]*$' }).optional(),
  name: clearable().optional(),
  description: clearable().optional(),
  push_events_branch_filter: documented.branchFilter().optional(),
  enable_ssl_verification: opt(bool()),
}

/** Maps parameters to attributes of a hook: `push_events` to the event `push`. */
const attributesOf = <Given extends { url?: string | undefined }>(given: Given): HookAttributes & Pick<Given, 'url'> => {
  const { token, name, description, push_events_branch_filter, enable_ssl_verification } = given as Omit<HookAttributes, 'events'>
  const switches = Object.entries(given).filter(([key]) => key in ofGroup)
  return {
    url: given.url,
    token,
    name,
    description,
    push_events_branch_filter,
    enable_ssl_verification,
    events: Object.fromEntries(switches.map(([key, value]) => [key.replace(/_events$/, ''), value])),
  }
}

const STATUSES = /^([1-5]\d\d|successful|client_failure|server_failure)$/
const status = () => where(str(), (text) => STATUSES.test(text), 'does not have a valid value', { pattern: STATUSES.source })
/** The URL of a receiver. */
const receiver = () => documentedWith(str(), { format: 'uri', pattern: '^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[!-~]*)?$' })

interface Family<Subject, Kind extends HookSource['kind']> {
  kind: Kind
  path: string
  access: Access<Subject, true>
  sourceOf: (subject: Subject) => HookSource
  /** The project whose data test deliveries contain. */
  testProject: (ctx: Parameters<typeof newestProjectOf>[0], subject: Subject) => Promise<number>
  flags: typeof inside
  output: z.ZodType
  present: (hook: Hook, now: Date) => unknown
}

const readingOf = <Subject>({
  kind,
  path,
  access,
  sourceOf,
  output,
  present,
}: Pick<Family<Subject, HookSource['kind']>, 'kind' | 'path' | 'access' | 'sourceOf' | 'output' | 'present'>) => {
  const of = kind === 'system' ? 'the system' : `a ${kind}`
  const byId = { hook_id: rowId() }
  return [
    endpoint({
      method: 'GET',
      path,
      summary: `List the hooks of ${of}`,
      access,
      input: z.object(idPaging),
      output: z.array(output),
      handler: async ({ ctx, subject, input }) =>
        pageOf(await listHooks(ctx, sourceOf(subject), input), input, (hook) => present(hook, ctx.now())).inOrderOfIds(input),
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:hook_id`,
      summary: `Get a hook of ${of}`,
      access,
      input: z.object(byId),
      output,
      handler: async ({ ctx, subject, input }) => present(await getHook(ctx, sourceOf(subject), input.hook_id), ctx.now()),
    }),
    endpoint({
      method: 'DELETE',
      path: `${path}/:hook_id`,
      summary: `Delete a hook of ${of}`,
      answers: [412],
      access,
      input: z.object(byId),
      async handler({ ctx, subject, input, unchangedSince }) {
        unchangedSince((await getHook(ctx, sourceOf(subject), input.hook_id)).updated_at)
        await deleteHook(ctx, sourceOf(subject), input.hook_id)
      },
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:hook_id/events`,
      summary: `List recent deliveries of a hook of ${of}`,
      access,
      input: z.object({ ...byId, ...paging, status: opt(status()) }),
      output: z.array(HookDelivery),
      handler: async ({ ctx, subject, input }) =>
        pageOf(await listAttempts(ctx, await getHook(ctx, sourceOf(subject), input.hook_id), input), input, presentHookDelivery),
    }),
    endpoint({
      method: 'POST',
      path: `${path}/:hook_id/events/:hook_event_id/resend`,
      summary: `Redeliver an event of a hook of ${of}`,
      description: 'Sends the same payload again and returns the status of the receiver.',
      answers: [422],
      access,
      input: z.object({ ...byId, hook_event_id: rowId() }),
      output: z.strictObject({ response_status: z.int() }),
      async handler({ ctx, subject, input }) {
        const { attempt } = await resend(ctx, await getHook(ctx, sourceOf(subject), input.hook_id), input.hook_event_id)
        return { response_status: attempt.status }
      },
    }),
  ]
}

const hooksIn = <Subject>(family: Family<Subject, 'project' | 'group'>) => {
  const { kind, path, access, sourceOf, testProject, output, present } = family
  return [
    ...readingOf(family),
    endpoint({
      method: 'POST',
      path,
      summary: `Create a hook of a ${kind}`,
      answers: [422],
      access,
      input: z.object({ url: receiver(), ...others, ...family.flags }),
      output,
      handler: async ({ ctx, subject, input }) =>
        present(await createHook(ctx, sourceOf(subject), { ...attributesOf(input), url: input.url }), ctx.now()),
    }),
    endpoint({
      method: 'PUT',
      path: `${path}/:hook_id`,
      summary: `Update a hook of a ${kind}`,
      answers: [422],
      access,
      input: updateOf(z.object({ hook_id: rowId(), url: opt(receiver()), ...others, ...family.flags })),
      output,
      handler: async ({ ctx, subject, input }) => present(await updateHook(ctx, sourceOf(subject), input.hook_id, attributesOf(input)), ctx.now()),
    }),
    endpoint({
      method: 'POST',
      path: `${path}/:hook_id/test/:trigger`,
      summary: `Test a hook of a ${kind}`,
      answers: [422],
      access,
      input: z.object({ hook_id: rowId(), trigger: oneOf(TRIGGERS) }),
      output: z.strictObject({ message: z.literal('201 Created') }),
      async handler({ ctx, caller, subject, input }) {
        const hook = await getHook(ctx, sourceOf(subject), input.hook_id)
        await testHook(ctx, hook, await testProject(ctx, subject), input.trigger, caller.user.id)
        return { message: '201 Created' }
      },
    }),
  ]
}

const SYSTEM: HookSource = { kind: 'system', id: 0, name: 'system hooks' }
const ofSystem = { kind: 'system' as const, path: '/hooks', access: admin, sourceOf: () => SYSTEM, output: SystemHook, present: presentSystemHook }

/** Webhooks of projects, groups and the system (HK-1 to HK-9, HK-24). */
export const hooks = [
  ...hooksIn({
    kind: 'project',
    path: '/projects/:id/hooks',
    access: onProjectSignedIn('manage_hooks'),
    sourceOf: ({ project }: ProjectSubject) => ({ kind: 'project', id: project.id, name: fullPathOf(project) }),
    testProject: async (_, { project }) => project.id,
    flags: inside,
    output: ProjectHook,
    present: presentProjectHook,
  }),
  ...hooksIn({
    kind: 'group',
    path: '/groups/:id/hooks',
    access: onGroupSignedIn('manage_hooks'),
    sourceOf: ({ group }: GroupSubject) => ({ kind: 'group', id: group.id, name: group.full_path }),
    testProject: (ctx, { group }) => newestProjectOf(ctx, group.id),
    flags: ofGroup,
    output: GroupHook,
    present: presentGroupHook,
  }),
  ...readingOf(ofSystem),
  endpoint({
    method: 'POST',
    path: '/hooks',
    summary: 'Create a hook of the system',
    answers: [422],
    access: admin,
    input: z.object({ url: receiver(), ...others, ...flags }),
    output: SystemHook,
    handler: async ({ ctx, input }) => presentSystemHook(await createHook(ctx, SYSTEM, { ...attributesOf(input), url: input.url }), ctx.now()),
  }),
  endpoint({
    method: 'PUT',
    path: '/hooks/:hook_id',
    summary: 'Update a hook of the system',
    answers: [422],
    access: admin,
    input: updateOf(z.object({ hook_id: rowId(), url: opt(receiver()), ...others, ...flags })),
    output: SystemHook,
    handler: async ({ ctx, input }) => presentSystemHook(await updateHook(ctx, SYSTEM, input.hook_id, attributesOf(input)), ctx.now()),
  }),
  endpoint({
    method: 'POST',
    path: '/hooks/:hook_id',
    summary: 'Test a hook of the system',
    answers: [422],
    access: admin,
    input: z.object({ hook_id: rowId() }),
    output: z.record(z.string(), z.unknown()),
    async handler({ ctx, input }) {
      await testSystemHook(ctx, await getHook(ctx, SYSTEM, input.hook_id))
      return SYSTEM_SAMPLE
    },
  }),
]
