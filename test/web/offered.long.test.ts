// @module-tag long
import { type CheerioAPI, load } from 'cheerio'
import { beforeAll, expect, it } from 'vitest'
import { PROPERTIES } from '../../src/services/integrations/catalogue.js'
import { forms, pages } from '../../src/web/index.js'
import type { Form } from '../../src/web/page.js'
import { CALLERS, MATRIX, rowOf } from '../access/matrix.js'
import { registryOf } from '../routes/packages/packages.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const ROLES = ['guest', 'reporter', 'developer', 'maintainer', 'owner'] as const
type Role = (typeof ROLES)[number]

const cast = {} as Record<Role, TestUser>
const browsers = {} as Record<Role, TestBrowser>
/** What the forms name. */
let stranger: TestUser
let group: string
let elsewhere: TestProject

beforeAll(async () => {
  for (const role of ROLES) {
    cast[role] = await aUser(t.ctx)
    browsers[role] = new TestBrowser(t.url)
    await browsers[role].signIn(cast[role])
  }
  stranger = await aUser(t.ctx)
  const { reporter, owner } = cast
  group = (await t.api('get', (await aGroup(t.ctx, { creator: owner, visibility: 'public' })).path, owner).expect(200)).body.full_path
  elsewhere = await aProject(t.ctx, { creator: owner, visibility: 'private', reporter })
})

/** A private project with something on every page, of which each role has written some. */
async function makeProject(): Promise<TestProject> {
  const { guest, reporter, developer, maintainer, owner } = cast
  // of pushes nothing is run: the pipelines are those of statuses
  const ci = `workflow: { rules: [{ if: '$CI_PIPELINE_SOURCE == "web"' }] }\njob: { script: x }\n`
  const files = { 'a.txt': 'one\ntwo\nthree\n', 'README.md': '# One', '.gitlab-ci.yml': ci }
  const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files, guest, reporter, developer, maintainer })
  const say = (path: string, body: object, who = owner) => t.api('post', `${project.path}${path}`, who).send(body).expect(201)
  for (const branch of ['topic', 'other'])
    await say('/repository/commits', {
      branch,
      start_branch: 'main',
      commit_message: 'Work',
      actions: [{ action: 'update', file_path: 'a.txt', content: `one\n${branch}\nthree\n` }],
    })
  await say('/labels', { name: 'one', color: '#112233', priority: 1 })
  await say('/milestones', { title: 'one' })
  const idOf = async (path: string) => (await t.api('get', `${project.path}${path}`, owner).expect(200)).body
  await say('/boards', { name: 'one' })
  const [[board], label, [milestone]] = [await idOf('/boards'), await idOf('/labels/one'), await idOf('/milestones')]
  for (const of of [{ label_id: label.id }, { milestone_id: milestone.id }]) await say(`/boards/${board.id}/lists`, of)
  // none of the guest's: who has written an issue may change it
  for (const who of [owner, reporter, developer]) await say('/issues', { title: 'one', description: '- [ ] task', labels: 'one' }, who)
  await say('/merge_requests', { title: 'one', source_branch: 'topic', target_branch: 'main', description: '- [ ] task' }, developer)
  await t.ctx.jobs.drain()
  const { diff_refs: refs, sha } = (await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)).body
  const position = { ...refs, position_type: 'text', new_path: 'a.txt', old_path: 'a.txt', new_line: 2 }
  for (const who of [owner, guest, reporter, developer]) await say('/issues/1/notes', { body: 'one' }, who)
  for (const who of [owner, reporter, developer]) {
    await say('/merge_requests/1/discussions', { body: '```suggestion\n2\n```', position }, who)
    await say('/merge_requests/1/draft_notes', { note: 'one' }, who)
    await say(`/repository/commits/${sha}/discussions`, { body: 'one' }, who)
    await say('/snippets', { title: 'one', file_name: 'one.txt', content: 'one', visibility: 'private' }, who)
  }
  await say('/wikis', { title: 'one', content: 'one' })
  for (const tag_name of ['v1', 'v2']) await say('/repository/tags', { tag_name, ref: 'main' })
  await say('/releases', { tag_name: 'v1', name: 'one', description: 'one' })
  await say(`/statuses/${sha}`, { state: 'running', name: 'test', ref: 'topic' })
  await say('/hooks', { url: 'https://hooks.example/' })
  await say('/remote_mirrors', { url: 'https://mirrors.example/a.git', enabled: true })
  await say('/badges', { link_url: 'https://badges.example/', image_url: 'https://badges.example/one.svg' })
  await t.api('put', `${project.path}/integrations/external-wiki`, owner).send({ external_wiki_url: 'https://wiki.example/' }).expect(200)
  await say('/variables', { key: 'ONE', value: 'one' })
  await t.api('put', `${project.path}/packages/generic/one/1.0/one.txt`, owner).send('one').expect(201)
  await registryOf(t).image({ name: project.fullPath, tag: 'one', by: owner })
  await say('/freeze_periods', { freeze_start: '0 23 * * 5', freeze_end: '0 7 * * 1' })
  await say('/packages/protection/rules', { package_type: 'npm', package_name_pattern: 'one*', minimum_access_level_for_push: 'owner' })
  await say('/protected_environments', { name: 'production', deploy_access_levels: [{ access_level: 40 }, { access_level: 30 }] })
  await say('/invitations', { email: 'waiting@example.net', access_level: 10 })
  await say('/triggers', { description: 'one' })
  await say('/feature_flags', { name: 'one', strategies: [{ name: 'default', parameters: {} }] })
  await say('/feature_flags_user_lists', { name: 'one', user_xids: 'one' })
  const schedule = { description: 'one', ref: 'main', cron: '0 4 * * *' }
  for (const who of [owner, maintainer, developer]) {
    const { id } = (await say('/pipeline_schedules', schedule, who)).body
    await say(`/pipeline_schedules/${id}/variables`, { key: 'ONE', value: 'one' }, who)
  }
  await say('/protected_branches', { name: 'release' })
  await say('/protected_tags', { name: 'x*' })
  await say('/deploy_tokens', { name: 'one', scopes: ['read_repository'] })
  await say('/access_tokens', { name: 'one', scopes: ['api'] })
  // developers write to it, too
  await t.api('delete', `${project.path}/protected_branches/main`, owner).expect(204)
  await t.ctx.jobs.drain()
  return project
}

const own = forms.filter(({ at }) => at.startsWith('P'))
const nameOf = ({ method, at }: Form) => `${method} ${at}`
const patternOf = (at: string) =>
  new RegExp(
    `^${at
      .slice(1)
      .replace(/\/-/, '(?:/-)?')
      .replace(/:[a-z_]+(\([^)]*\))?/g, '[^/]+')
      .replace('*', '.*')}$`,
  )
/** The names before those with parameters. */
const patterns = own
  .map((form) => ({ form, pattern: patternOf(form.at), vague: (form.at.match(/[:*]/g) ?? []).length }))
  .sort((a, b) => a.vague - b.vague)

interface Offered {
  page: string
  form: Form
  element: ReturnType<CheerioAPI>[number]
  $: CheerioAPI
}

async function opened(who: TestBrowser, path: string) {
  const cookie = [...who.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const answer = await fetch(t.url + path, { redirect: 'manual', headers: { accept: 'text/html', cookie } })
  return { status: answer.status, html: await answer.text() }
}

/** The forms of a project on a page. */
function formsOn(page: string, $: CheerioAPI, project: TestProject): Offered[] {
  return $('form[method="post"]')
    .toArray()
    .flatMap((element) => {
      const action = String($(element).attr('action')).split('?')[0] as string
      const method = String($(element).find('[name=_method]').val() ?? 'POST').toUpperCase()
      if (!action.startsWith(`/${project.fullPath}`)) return []
      const rest = action.slice(project.fullPath.length + 1)
      const found = patterns.find(({ form, pattern }) => form.method === method && pattern.test(rest))
      return found ? [{ page, form: found.form, element, $ }] : []
    })
}

/**
 * The forms of a project that a role is offered, each with the first page that has it: all, or until these are found. It
 * begins with the pages that are likely to have them.
 */
async function offeredTo(role: Role, project: TestProject, wanted?: string[], likely: string[] = []): Promise<Map<string, Offered>> {
  const seen = new Set<string>()
  const all = pages
    .filter(({ at }) => at.startsWith('P'))
    .map(({ at }) =>
      at
        .replace(/^P/, `/${project.fullPath}`)
        .replace(/:[a-z_]+(\([^)]*\))?/g, (name) => (name === ':sha' ? 'topic' : '1'))
        .replace('*', 'main/a.txt'),
    )
  const queue = [...likely, ...all]
  const found = new Map<string, Offered>()
  for (let path = queue.shift(); path !== undefined && seen.size < 1_500 && !wanted?.every((name) => found.has(name)); path = queue.shift()) {
    if (seen.has(path)) continue
    seen.add(path)
    const { status, html } = await opened(browsers[role], path)
    if (status !== 200) {
      seen.delete(path)
      continue
    }
    const $ = load(html)
    for (const each of formsOn(path, $, project)) if (!found.has(nameOf(each.form))) found.set(nameOf(each.form), each)
    for (const link of $('main a[href]').toArray()) {
      const to = String($(link).attr('href')).split('#')[0] as string
      // a state of a page by itself, and not with each other one
      if (path.includes('?') && to.includes('&')) continue
      // one of a kind, however it is sorted or filtered
      const kind = to
        .replace(/[0-9a-f]{40}/g, 'SHA')
        .replace(/=[^&]*/g, '=')
        .replace(/\d+/g, '1')
      if (!to.startsWith(`/${project.fullPath}/`) || seen.has(kind) || /\/(raw|archive|uploads)\//.test(to)) continue
      seen.add(kind)
      queue.push(to)
    }
  }
  return found
}

/** The lowest role, where it is not that of the rule: these forms do what needs more, or their rules are of pages alone. */
const HIGHER: Record<string, Role> = {
  'POST P/-/issues/bulk_update': 'reporter',
  'POST P/-/boards': 'reporter',
  'POST P/-/boards/lists': 'reporter',
  'POST P/-/boards/lists/move': 'reporter',
  'POST P/-/boards/lists/remove': 'reporter',
  'POST P/-/boards/move': 'reporter',
  'PUT P/-/boards/:board_id': 'reporter',
  'DELETE P/-/boards/:board_id': 'reporter',
  'POST P/-/issues/:issue_iid/create_merge_request': 'developer',
  'POST P/-/merge_requests/bulk_update': 'developer',
  'POST P/-/merge_requests/:merge_request_iid/suggestions': 'developer',
  'POST P/-/merge_requests/:merge_request_iid/merge': 'developer',
  'PUT P/-/snippets/:snippet_id': 'maintainer',
  'DELETE P/-/snippets/:snippet_id': 'maintainer',
  'DELETE P/-/tags/*': 'maintainer',
  'POST P/-/merge_requests/:merge_request_iid/pipelines': 'developer',
  'POST P/-/pipeline_schedules/:schedule_id/take_ownership': 'maintainer',
}

/** Its answer is that of another service, or of a configuration that makes pipelines of merge requests, or it takes a file. */
const NOT_SENT = new Set([
  'POST P/-/issues/:issue_iid/links',
  'POST P/-/hooks/:hook_id/test',
  'POST P/-/merge_requests/:merge_request_iid/pipelines',
  'POST P/-/replace/*',
  'POST P/-/upload/*',
])

/** Stand on pages of a project in another state alone, or are sent by scripts; their tests are those of their pages. */
const SELDOM = [
  'POST P/-/issues/export_csv',
  'POST P/-/merge_requests/export_csv',
  'DELETE P/-/job_token_scope/group/:allowed',
  'DELETE P/-/job_token_scope/project/:allowed',
  'POST P/-/environments/:environment_id/stop',
  'DELETE P/-/runners/:runner_id',
  'POST P/-/settings/mirrors/pull',
  'POST P/-/runners/:runner_id/pause',
  'POST P/-/runners/:runner_id/resume',
  'POST P/-/jobs/:job_id/cancel',
  'POST P/-/jobs/:job_id/erase',
  'POST P/-/jobs/:job_id/play',
  'POST P/-/jobs/:job_id/retry',
  'POST P/-/pipelines/:pipeline_id/retry',
  'POST P/-/merge_requests/:merge_request_iid/another_review',
  'POST P/-/commit/:sha/lines',
  'DELETE P/-/releases/:tag_name/links/:link_id',
  'POST P/-/issues/:issue_iid/discussions/:discussion_id/notes',
  'POST P/-/labels/:label_id/promote',
  'PUT P/-/deploy_keys/:key_id/enable',
  'POST P/-/milestones/:iid/promote',
  'DELETE P/-/issues/:issue_iid/links/:link_id',
  'POST P/-/merge_requests/:merge_request_iid/discussions',
  'POST P/-/merge_requests/:merge_request_iid/resolve_conflicts',
  'POST P/-/merge_requests/:merge_request_iid/ready',
  'POST P/-/merge_requests/:merge_request_iid/cancel_merge_when_pipeline_succeeds',
  'POST P/-/merge_requests/:merge_request_iid/rebase',
  'POST P/-/merge_requests/:merge_request_iid/unapprove',
  'DELETE P/-/merge_requests/:merge_request_iid/source_branch',
  'POST P/-/merge_requests/:merge_request_iid/source_branch',
  'POST P/-/merge_requests/:merge_request_iid/revert',
  'POST P/-/merge_requests/:merge_request_iid/cherry_pick',
  'POST P/-/snippets/:snippet_id/discussions/:discussion_id/notes',
  'PUT P/-/snippets/:snippet_id/notes/:note_id',
  'DELETE P/-/snippets/:snippet_id/notes/:note_id',
  'POST P/-/snippets/:snippet_id/notes/:note_id/toggle_award_emoji',
  'DELETE P/-/avatar',
  'POST P/-/unarchive',
  'DELETE P/-/fork',
  'POST P/-/restore',
  'PUT P/-/group_links/:group_id',
  'DELETE P/-/group_links/:group_id',
  'PUT P/-/deploy_keys/:key_id',
  'DELETE P/-/deploy_keys/:key_id',
  'POST P/-/project_members/request_access',
  'DELETE P/-/project_members/request_access',
  'POST P/-/project_members/:user_id/approve_access_request',
  'POST P/-/project_members/:user_id/deny',
  'POST P/-/hooks/:hook_id/hook_logs/:attempt_id/retry',
]

/** What people type into a form of this project, by the names of the fields. */
const typedFor = ({ fullPath }: TestProject, { at }: Form): Record<string, string> => ({
  ...(at.endsWith('revert') && { start_branch: 'topic' }),
  ...(at.endsWith('rename/*') && { file_path: 'renamed.txt' }),
  ...(at.endsWith('boards/move') && { issue_iid: '1', from: 'opened', to: 'closed' }),
  duration: '1h',
  duplicate_of: '2',
  to_project: elsewhere.fullPath,
  full_path: fullPath,
  'link[url]': 'https://links.example/',
  'hook[url]': 'https://hooks.example/',
  'invitation[emails]': 'someone@example.net',
  'flag[name]': 'two',
  'badge[link_url]': 'https://badges.example/',
  'badge[image_url]': 'https://badges.example/one.svg',
  // what integrations require
  ...Object.fromEntries(
    Object.entries(PROPERTIES).map(([name, { kind }]) => [
      `service[${name}]`,
      { recipients: 'one@mail.example', issues_url: 'https://issues.example/:id' }[name] ??
        (kind === 'url' || kind === 'address' ? 'https://service.example/' : 'one'),
    ]),
  ),
  'share[group]': group,
  'project[namespace]': group,
  'deploy_key[key]': 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl one',
  'member[usernames]': stranger.username,
  'allowed[path]': group,
  'mirror[url]': 'https://mirrors.example/b.git',
  'protected_environment[name]': 'staging',
  'rule[package_name_pattern]': 'two*',
  'period[freeze_start]': '0 23 * * 5',
  'period[freeze_end]': '0 7 * * 1',
  'schedule[cron]': '0 4 * * *',
  'schedule[cron_timezone]': 'UTC',
  'schedule[ref]': 'main',
})

/** A form as somebody fills it who types into every field that has to be filled. */
function filled({ $, element }: Offered, typed: Record<string, string>): URLSearchParams {
  const body = new URLSearchParams()
  const id = $(element).attr('id')
  for (const field of $(
    id ? `#${id} :is(input, select, textarea), [form="${id}"]:not(button)` : $(element).find('input, select, textarea'),
  ).toArray()) {
    const [name, type] = [$(field).attr('name'), $(field).attr('type') ?? '']
    if (name === undefined || type === 'file') continue
    const value = [$(field).val() ?? ''].flat().map(String)
    const isNeeded = $(field).is('[required]') || typed[name] !== undefined
    if (/checkbox|radio/.test(type)) {
      if ($(field).is('[checked]') || (isNeeded && !body.has(name)) || (/(ids|scopes)\]?\[\]$/.test(name) && !body.has(name)))
        body.append(name, value[0] ?? '')
    } else if ($(field).is('select')) {
      const options = $(field)
        .find('option')
        .toArray()
        .map((each) => String($(each).attr('value') ?? $(each).text()))
      body.append(name, typed[name] ?? (isNeeded && !value[0] ? (options.find((each) => each !== '') ?? '') : (value[0] ?? options[0] ?? '')))
    } else body.append(name, typed[name] ?? (value[0] || (isNeeded ? 'word' : '')))
  }
  const button = $(element).find('button[name]').first()
  if (button.length > 0 && !body.has(String(button.attr('name'))) && button.attr('name') !== 'preview')
    body.append(String(button.attr('name')), String(button.attr('value') ?? ''))
  return body
}

/** Sends a form; resolves with what is wrong with the answer. */
async function refusalOf(who: TestBrowser, offered: Offered, project: TestProject): Promise<string | null> {
  const cookie = [...who.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const action = String(offered.$(offered.element).attr('action'))
  const body = filled(offered, typedFor(project, offered.form))
  const answer = await fetch(t.url + action, { method: 'POST', redirect: 'manual', headers: { accept: 'text/html', cookie }, body })
  const html = await answer.text()
  if (answer.status === 200 || answer.status === 303) return null
  const $ = load(html)
  return `${answer.status} ${$('.error p, .flash.alert, .fault').text().replace(/\s+/g, ' ').slice(0, 150)} ${body}`
}

/** What ends or moves the project is sent last. */
const ENDS = /^(DELETE P$|.*(transfer|archive|leave|P\/-\/path|restore))/

it('forms are offered to those whom the API allows what they do, and to no others (SEC-6, WB-385)', async () => {
  const project = await makeProject()
  const offered = {} as Record<Role, Map<string, Offered>>
  for (const role of ROLES) offered[role] = await offeredTo(role, project)
  const wrong: string[] = []
  const never: string[] = []
  for (const form of own) {
    const row = MATRIX[rowOf(form.access.rule)]?.private.trim().split(/\s+/)
    const mayAt = (role: Role) => row?.[CALLERS.indexOf(role)] === 'in'
    const at = ROLES.filter((role) => offered[role].has(nameOf(form)))
    const may = HIGHER[nameOf(form)] ?? ROLES.find(mayAt)
    for (const role of at) if (!mayAt(role) && row) wrong.push(`${nameOf(form)} is offered to ${role}: ${form.access.rule}`)
    if (at.length === 0) never.push(`${nameOf(form)}`)
    else if (at[0] !== may)
      wrong.push(
        `${nameOf(form)}: the lowest who may is ${may}, who is offered it ${at[0]} on ${offered[at[0] as Role].get(nameOf(form))?.page}: ${form.access.rule}`,
      )
  }
  expect(wrong).toEqual([])

  // the lowest who may do it do it
  const refused: string[] = []
  let done = 0
  for (const role of ROLES) {
    const mine = own.filter((form) => ROLES.find((each) => offered[each].has(nameOf(form))) === role && !NOT_SENT.has(nameOf(form))).map(nameOf)
    mine.sort((a, b) => Number(ENDS.test(a)) - Number(ENDS.test(b)))
    let fresh: TestProject
    let places: Map<string, Offered>
    const renew = async (wanted: string[]) => {
      fresh = await makeProject()
      const likely = wanted.map((name) => String(offered[role].get(name)?.page).replace(`/${project.fullPath}`, `/${fresh.fullPath}`))
      places = await offeredTo(role, fresh, wanted, likely)
    }
    const send = async (name: string) => {
      const page = places.get(name)?.page
      const found = page && formsOn(page, load((await opened(browsers[role], page)).html), fresh).find(({ form }) => nameOf(form) === name)
      const refusal = found ? await refusalOf(browsers[role], found, fresh) : 'is no longer offered'
      await t.ctx.jobs.drain()
      return refusal
    }
    await renew(mine)
    for (const [i, name] of mine.entries()) {
      let refusal = await send(name)
      // what was done before stands in its way
      if (refusal !== null) {
        await renew(mine.slice(i))
        refusal = await send(name)
      }
      if (refusal === null) done++
      else refused.push(`${role} ${name}: ${refusal}`)
    }
  }
  expect(refused).toEqual([])
  expect(never.sort()).toEqual(SELDOM.sort())
  process.stdout.write(`${done} of ${own.length} forms are offered to the lowest role that may send them, and do what they say\n`)
}, 900_000)
