import { createHash } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { gpgKey, pushImage, sshKey } from './seed.mjs'

const fingerprint = (key) =>
  `SHA256:${createHash('sha256')
    .update(Buffer.from(key.split(' ')[1], 'base64'))
    .digest('base64')
    .replace(/=+$/, '')}`

const PAGES =
  'a page of 20 with authors, assignees, milestones and labels, by 3 to 5 statements; the two cores serve 16 clients, Postgres and the service'
const STEPS =
  'a statement each for the caller, the project and the thing, as each decides whether the next is asked, then its record and what is counted'
/** Reads that may miss the bench's limits, with the reason. */
export const BELOW_BAR = [
  { reads: /\/search$/, why: `counted and sorted by relevance, then ${PAGES}` },
  { reads: /\/closes_issues$/, why: `${STEPS}, the issues that it closes, those of them that are visible, and their records` },
  { reads: /\/(issues|merge_requests|closed_by|related_merge_requests)$/, why: PAGES },
  {
    reads: /\/(notes|discussions)$/,
    why: 'a statement each for the caller, the project, the thing and the page, then awards and resolvers of 20 notes',
  },
  { reads: /\/events$/, why: 'each event shows its author, and its target or its commits as the reader may see them' },
  { reads: /\/(:merge_request_iid|:issue_iid|changes)$/, why: STEPS },
  { reads: /^GET \/keys/, why: 'the key, then its user with everything that administrators see of them' },
]

/** An address of a documentation network. */
const address = (n) => `2001:db8::${n.toString(16)}`

/** Query strings of reads; entries that do not use the first seeded objects say which they use. */
const READS = {
  'GET /version': '',
  'GET /metadata': '',
  'GET /user': '',
  'GET /users': '',
  'GET /users/:id': '',
  'GET /user/activities': '',
  'GET /audit_events': '',
  'GET /broadcast_messages': '',
  'GET /admin/held_texts': '',
  'GET /admin/request_limits': '',
  'GET /admin/sign_in_providers': '',
  'GET /admin/jobs': '',
  'GET /sidekiq/queue_metrics': '',
  'GET /sidekiq/process_metrics': '',
  'GET /sidekiq/job_stats': '',
  'GET /sidekiq/compound_metrics': '',
  'GET /application/statistics': '',
  'GET /admin/ci/variables': '',
  'GET /admin/ci/variables/:key': async (k) => ({ fill: await instanceVariable(k) }),
  'GET /avatar': '?email=user1@example.com',
  'GET /user/status': '',
  'GET /users/:user_id/status': '',
  'GET /user/keys': '',
  'GET /users/:id/keys': '',
  'GET /user/keys/:key_id': '',
  'GET /users/:id/keys/:key_id': '',
  'GET /user/gpg_keys': '',
  'GET /user/gpg_keys/:key_id': '',
  'GET /users/:id/gpg_keys': '',
  'GET /users/:id/gpg_keys/:key_id': '',
  'GET /user/emails': '',
  'GET /users/:id/emails': '',
  'GET /user/emails/:email_id': '',
  'GET /users/:user_id/impersonation_tokens': '',
  'GET /users/:user_id/impersonation_tokens/:impersonation_token_id': '',
  'GET /notification_settings': '',
  'GET /projects/:id/notification_settings': '',
  'GET /groups/:id/notification_settings': '',
  'GET /personal_access_tokens': '',
  'GET /applications': '',
  'GET /personal_access_tokens/:id': '',
  'GET /groups': '',
  'GET /groups/:id/subgroups': '',
  'GET /groups/:id': '',
  'GET /namespaces': '',
  'GET /namespaces/:id': '',
  'GET /namespaces/:id/exists': '',
  'GET /projects': '',
  'GET /users/:user_id/projects': '',
  'GET /projects/:id': '',
  'GET /projects/:id/forks': '',
  'GET /projects/:id/users': '',
  'GET /projects/:id/groups': '',
  'GET /projects/:id/languages': '',
  'GET /projects/:id/import': '',
  'GET /projects/:id/export': '',
  'GET /groups/:id/projects': '',
  'GET /groups/:id/projects/shared': '',
  'GET /projects/:id/members': '',
  'GET /projects/:id/members/all': '',
  'GET /projects/:id/members/:user_id': '',
  'GET /projects/:id/members/all/:user_id': '',
  'GET /groups/:id/members': '',
  'GET /groups/:id/members/all': '',
  'GET /groups/:id/members/:user_id': ({ s }) => ({ fill: { user_id: s.groupMember } }),
  'GET /groups/:id/members/all/:user_id': ({ s }) => ({ fill: { user_id: s.groupMember } }),
  'GET /projects/:id/invitations': '',
  // one at a time is made of each project, so that each call has another
  'GET /projects/:id/snapshot': async (k) => ({
    fill: { id: (await k.post('/projects', { name: `snapshot ${k.n}`, initialize_with_readme: true })).id },
  }),
  'GET /groups/:id/invitations': '',
  'GET /projects/:id/access_requests': '',
  'GET /groups/:id/access_requests': '',
  'GET /projects/:id/repository/branches': '',
  'GET /projects/:id/repository/branches/:branch': '',
  'HEAD /projects/:id/repository/branches/:branch': '',
  'GET /projects/:id/protected_branches': '',
  'GET /projects/:id/protected_branches/:name': '',
  'GET /projects/:id/protected_tags': '',
  'GET /projects/:id/protected_tags/:name': '',
  'GET /projects/:id/repository/tags': '',
  'GET /projects/:id/repository/tags/:tag_name': '',
  'GET /projects/:id/releases': '',
  'GET /projects/:id/releases/:tag_name': '',
  'GET /projects/:id/releases/:tag_name/assets/links': '',
  'GET /projects/:id/releases/:tag_name/assets/links/:link_id': '',
  'GET /projects/:id/repository/tree': '',
  'GET /projects/:id/repository/blobs/:sha': '',
  'GET /projects/:id/repository/blobs/:sha/raw': '',
  'GET /projects/:id/repository/compare': '?from=topic1&to=main',
  'GET /projects/:id/repository/archive': '',
  'HEAD /projects/:id/repository/archive': '',
  'GET /projects/:id/repository/archive.:format': '',
  'HEAD /projects/:id/repository/archive.:format': '',
  'GET /projects/:id/repository/merge_base': '?refs[]=main&refs[]=topic1',
  'GET /projects/:id/repository/contributors': '',
  'GET /projects/:id/repository/files/:file_path': '?ref=main',
  'HEAD /projects/:id/repository/files/:file_path': '?ref=main',
  'GET /projects/:id/repository/files/:file_path/raw': '?ref=main',
  'GET /projects/:id/repository/files/:file_path/blame': '?ref=main',
  'HEAD /projects/:id/repository/files/:file_path/blame': '?ref=main',
  'GET /projects/:id/repository/commits': '',
  'GET /projects/:id/repository/commits/:sha': '',
  'GET /projects/:id/repository/commits/:sha/diff': '',
  'GET /projects/:id/repository/commits/:sha/statuses': '',
  'GET /projects/:id/pipelines': '',
  'GET /projects/:id/pipelines/latest': '',
  'GET /projects/:id/pipelines/:pipeline_id': '',
  'GET /projects/:id/pipelines/:pipeline_id/jobs': '',
  'GET /projects/:id/jobs/:job_id/trace': '',
  'GET /projects/:id/jobs/:job_id/artifacts': '',
  'GET /projects/:id/jobs/:job_id/artifacts/:artifact_path': () => ({ fill: { artifact_path: 'a' } }),
  'GET /projects/:id/jobs/artifacts/:ref_name/download': () => ({ fill: { ref_name: 'main' }, query: '?job=test' }),
  'GET /projects/:id/jobs/artifacts/:ref_name/raw/:artifact_path': () => ({ fill: { ref_name: 'main', artifact_path: 'a' }, query: '?job=test' }),
  'GET /projects/:id/pipelines/:pipeline_id/bridges': '',
  'GET /projects/:id/pipelines/:pipeline_id/variables': '',
  'GET /projects/:id/protected_environments': '',
  'GET /projects/:id/protected_environments/:name': async (k) => ({ fill: await newProtected(k) }),
  'GET /projects/:id/freeze_periods': '',
  'GET /projects/:id/freeze_periods/:freeze_period_id': async (k) => ({ fill: await newFreeze(k) }),
  'GET /topics': '',
  'GET /topics/:id': async (k) => ({ fill: await newTopic(k) }),
  'GET /features': '',
  'GET /projects/:id/feature_flags': '',
  'GET /projects/:id/feature_flags/:feature_flag_name': async (k) => ({ fill: await newFlag(k) }),
  'GET /projects/:id/feature_flags_user_lists': '',
  'GET /projects/:id/feature_flags_user_lists/:iid': async (k) => ({ fill: await newUserList(k) }),
  'GET /feature_flags/unleash/:project_id': guess,
  'GET /feature_flags/unleash/:project_id/features': guess,
  'GET /feature_flags/unleash/:project_id/client/features': guess,
  'GET /projects/:id/triggers': '',
  'GET /projects/:id/triggers/:trigger_id': async (k) => ({ fill: await newTrigger(k) }),
  'GET /projects/:id/pipeline_schedules': '',
  'GET /projects/:id/pipeline_schedules/:pipeline_schedule_id': async (k) => ({ fill: await newSchedule(k) }),
  'GET /projects/:id/pipeline_schedules/:pipeline_schedule_id/pipelines': async (k) => ({ fill: await newSchedule(k) }),
  'GET /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key': async (k) => ({ fill: await scheduleVariable(k) }),
  'GET /projects/:id/environments': '',
  'GET /projects/:id/environments/:environment_id': async (k) => ({ fill: await newEnvironment(k) }),
  'GET /projects/:id/deployments': '',
  'GET /projects/:id/deployments/:deployment_id/merge_requests': async (k) => ({ fill: await newDeployment(k) }),
  'GET /projects/:id/deployments/:deployment_id': async (k) => ({ fill: await newDeployment(k) }),
  'GET /projects/:id/resource_groups': '',
  'GET /projects/:id/resource_groups/:key': async (k) => ({ fill: await newResourceGroup(k) }),
  'GET /projects/:id/resource_groups/:key/upcoming_jobs': async (k) => ({ fill: await newResourceGroup(k) }),
  'GET /job': () => ({ skipped: 'no job runs' }),
  'GET /projects/:id/pipelines/:pipeline_id/test_report': '',
  'GET /projects/:id/pipelines/:pipeline_id/test_report_summary': '',
  'GET /projects/:id/job_token_scope': '',
  'GET /projects/:id/job_token_scope/allowlist': '',
  'GET /projects/:id/job_token_scope/groups_allowlist': '',
  'GET /runners': '',
  'GET /runners/all': '',
  'GET /runners/:id': async (k) => ({ fill: { id: (await newRunner(k)).id } }),
  'GET /runners/:id/jobs': async (k) => ({ fill: { id: (await newRunner(k)).id } }),
  'GET /projects/:id/runners': '',
  'GET /groups/:id/runners': '',
  'GET /projects/:id/ci/lint': '',
  'GET /projects/:id/jobs': '',
  'GET /projects/:id/jobs/:job_id': '',
  'GET /users/:id/custom_attributes': '',
  'GET /users/:id/custom_attributes/:key': '',
  'GET /groups/:id/custom_attributes': '',
  'GET /groups/:id/custom_attributes/:key': '',
  'GET /projects/:id/custom_attributes': '',
  'GET /projects/:id/custom_attributes/:key': '',
  'GET /projects/:id/repository/commits/:sha/refs': '',
  'GET /projects/:id/repository/commits/:sha/signature': ({ s }) => ({ fill: { sha: s.signed } }),
  'GET /projects/:id/repository/commits/:sha/merge_requests': '',
  'GET /projects/:id/repository/commits/:sha/comments': '',
  'GET /events': '',
  'GET /users/:user_id/events': '',
  'GET /projects/:id/events': '',
  'GET /projects/:id/labels': '',
  'GET /projects/:id/labels/:label_id': '',
  'GET /groups/:id/labels': '',
  'GET /groups/:id/labels/:label_id': '',
  'GET /projects/:id/milestones': '',
  'GET /projects/:id/milestones/:milestone_id': '',
  'GET /projects/:id/milestones/:milestone_id/issues': '',
  'GET /projects/:id/milestones/:milestone_id/merge_requests': '',
  'GET /groups/:id/milestones': '',
  'GET /groups/:id/milestones/:milestone_id': '',
  'GET /groups/:id/milestones/:milestone_id/issues': '',
  'GET /groups/:id/milestones/:milestone_id/merge_requests': '',
  'GET /projects/:id/boards': '',
  'GET /projects/:id/boards/:board_id': '',
  'GET /projects/:id/boards/:board_id/lists': '',
  'GET /projects/:id/boards/:board_id/lists/:list_id': '',
  'GET /groups/:id/boards': '',
  'GET /groups/:id/boards/:board_id': '',
  'GET /groups/:id/boards/:board_id/lists': '',
  'GET /groups/:id/boards/:board_id/lists/:list_id': '',
  'GET /issues': '',
  'GET /groups/:id/issues': '',
  'GET /projects/:id/issues': '',
  'GET /projects/:id/issues/:issue_iid': '',
  'GET /projects/:id/issues/:issue_iid/participants': '',
  'GET /projects/:id/issues/:issue_iid/closed_by': '',
  'GET /projects/:id/issues/:issue_iid/related_merge_requests': '',
  'GET /projects/:id/issues/:issue_iid/time_stats': '',
  'GET /merge_requests': '',
  'GET /groups/:id/merge_requests': '',
  'GET /projects/:id/merge_requests': '',
  'GET /projects/:id/merge_requests/:merge_request_iid': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/participants': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/closes_issues': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/time_stats': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/commits': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/merge_ref': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/changes': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/diffs': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/pipelines': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/versions': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/versions/:version_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/approvals': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/approval_state': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/reviewers': '',
  'GET /projects/:id/issues/:issue_iid/notes': '',
  'GET /projects/:id/issues/:issue_iid/notes/:note_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/notes': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/notes/:note_id': '',
  'GET /projects/:id/snippets/:snippet_id/notes': '',
  'GET /projects/:id/snippets/:snippet_id/notes/:note_id': '',
  'GET /projects/:id/issues/:issue_iid/discussions': '',
  'GET /projects/:id/issues/:issue_iid/discussions/:discussion_id': '',
  'GET /projects/:id/issues/:issue_iid/discussions/:discussion_id/notes': '',
  'GET /projects/:id/issues/:issue_iid/discussions/:discussion_id/notes/:note_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/discussions': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes/:note_id': '',
  'GET /projects/:id/snippets/:snippet_id/discussions': '',
  'GET /projects/:id/snippets/:snippet_id/discussions/:discussion_id': '',
  'GET /projects/:id/snippets/:snippet_id/discussions/:discussion_id/notes': '',
  'GET /projects/:id/snippets/:snippet_id/discussions/:discussion_id/notes/:note_id': '',
  'GET /projects/:id/repository/commits/:sha/discussions': '',
  'GET /projects/:id/repository/commits/:sha/discussions/:discussion_id': '',
  'GET /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes': '',
  'GET /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes/:note_id': '',
  'GET /projects/:id/issues/:issue_iid/award_emoji': '',
  'GET /projects/:id/issues/:issue_iid/award_emoji/:award_id': '',
  'GET /projects/:id/issues/:issue_iid/notes/:note_id/award_emoji': '',
  'GET /projects/:id/issues/:issue_iid/notes/:note_id/award_emoji/:award_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/award_emoji': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/award_emoji/:award_id': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/notes/:note_id/award_emoji': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/notes/:note_id/award_emoji/:award_id': '',
  'GET /projects/:id/snippets/:snippet_id/award_emoji': '',
  'GET /projects/:id/snippets/:snippet_id/award_emoji/:award_id': '',
  'GET /projects/:id/snippets/:snippet_id/notes/:note_id/award_emoji': '',
  'GET /projects/:id/snippets/:snippet_id/notes/:note_id/award_emoji/:award_id': '',
  'GET /todos': '',
  'GET /projects/:id/wikis': '',
  'GET /projects/:id/wikis/:slug': '',
  'GET /snippets': '',
  'GET /snippets/all': '',
  'GET /snippets/public': '',
  'GET /snippets/:id': '',
  'GET /snippets/:id/raw': '',
  'GET /projects/:id/snippets': '',
  'GET /projects/:id/snippets/:snippet_id': '',
  'GET /projects/:id/snippets/:snippet_id/raw': '',
  'GET /projects/:id/issues/:issue_iid/user_agent_detail': '',
  'GET /projects/:id/snippets/:snippet_id/user_agent_detail': '',
  'GET /snippets/:id/user_agent_detail': '',
  'GET /search': '?scope=projects&search=every',
  'GET /groups/:id/-/search': '?scope=projects&search=every',
  'GET /groups/:id/search': '?scope=projects&search=every',
  'GET /projects/:id/-/search': '?scope=issues&search=issue',
  'GET /projects/:id/search': '?scope=issues&search=issue',
  'GET /projects/:id/variables': '',
  'GET /projects/:id/variables/:key': '',
  'GET /groups/:id/variables': '',
  'GET /groups/:id/variables/:key': '',
  ...Object.fromEntries(
    ['/projects/:id', '/groups/:id'].flatMap((at) => [
      [`GET ${at}/badges`, ''],
      [`GET ${at}/badges/render`, '?link_url=https://example.com&image_url=https://example.com/a.svg'],
      [`GET ${at}/badges/:badge_id`, ''],
    ]),
  ),
  ...Object.fromEntries(
    Object.entries({ licenses: 'mit', gitignores: 'Ada', dockerfiles: 'Node', gitlab_ci_ymls: 'Go' }).flatMap(([type, name]) => [
      [`GET /templates/${type}`, ''],
      [`GET /templates/${type}/:name`, async () => ({ fill: { name } })],
    ]),
  ),
  'GET /projects/:id/templates/:type': async () => ({ fill: { type: 'dockerfiles' } }),
  'GET /projects/:id/templates/:type/:name': async () => ({ fill: { type: 'licenses', name: 'mit' } }),
  'GET /projects/:id/packages': '',
  'GET /projects/:id/packages/:package_id': '',
  'GET /projects/:id/packages/:package_id/package_files': '',
  'GET /groups/:id/packages': '',
  'GET /projects/:id/packages/protection/rules': '',
  'GET /projects/:id/registry/repositories': '',
  'GET /projects/:id/registry/repositories/:repository_id/tags': '',
  'GET /projects/:id/registry/repositories/:repository_id/tags/:tag_name': '',
  'GET /groups/:id/registry/repositories': '',
  'GET /registry/repositories/:id': '',
  'GET /projects/:id/statistics': '',
  'GET /projects/:id/remote_mirrors': '',
  'GET /projects/:id/remote_mirrors/:mirror_id': '',
  // of a new project, which pulls from nowhere
  'GET /projects/:id/mirror/pull': async (k) => ({ fill: await aFollower(k) }),
  'GET /projects/:id/hooks': '',
  ...Object.fromEntries(
    ['services', 'integrations'].flatMap((name) => [`GET /projects/:id/${name}`, `GET /projects/:id/${name}/:slug`].map((call) => [call, ''])),
  ),
  'GET /projects/:id/hooks/:hook_id': '',
  'GET /projects/:id/hooks/:hook_id/events': '',
  'GET /groups/:id/hooks': '',
  'GET /groups/:id/hooks/:hook_id': '',
  'GET /groups/:id/hooks/:hook_id/events': '',
  'GET /hooks': '',
  'GET /hooks/:hook_id': '',
  'GET /hooks/:hook_id/events': '',
  'GET /deploy_keys': '',
  'GET /projects/:id/deploy_keys': '',
  'GET /projects/:id/deploy_keys/:key_id': '',
  'GET /keys/:id': '',
  'GET /broadcast_messages/:id': async ({ post }) => ({ fill: { id: (await post('/broadcast_messages', { message: 'x' })).id } }),
  'GET /projects/:id/merge_requests/:merge_request_iid/draft_notes': '',
  'GET /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id': async (k) => ({ fill: await newDraft(k) }),
  'GET /audit_events/:id': async ({ get }) => ({ fill: { id: (await get('/audit_events?per_page=1'))[0].id } }),
  'GET /keys': ({ s }) => ({ query: `?fingerprint=${encodeURIComponent(fingerprint(s.ownKey.key))}` }),
  'GET /deploy_tokens': '',
  'GET /projects/:id/deploy_tokens': '',
  'GET /projects/:id/deploy_tokens/:token_id': '',
  'GET /groups/:id/deploy_tokens': '',
  'GET /groups/:id/deploy_tokens/:token_id': '',
  ...Object.fromEntries(
    ['issues/:issue_iid', 'merge_requests/:merge_request_iid'].flatMap((of) =>
      ['label', 'milestone', 'state'].flatMap((kind) => [
        [`GET /projects/:id/${of}/resource_${kind}_events`, ''],
        [`GET /projects/:id/${of}/resource_${kind}_events/:event_id`, async (k) => ({ fill: await resourceEvent(k, of, kind) })],
      ]),
    ),
  ),
  'GET /groups/:id/descendant_groups': '',
  'GET /users/:user_id/starred_projects': '',
  'GET /users/:user_id/contributed_projects': '',
  'GET /issues_statistics': '',
  'GET /groups/:id/issues_statistics': '',
  'GET /projects/:id/issues_statistics': '',
  'GET /users/:id/memberships': '',
  'GET /projects/:id/releases/permalink/latest': '',
  'GET /projects/:id/issues/:issue_iid/links': '',
  'GET /projects/:id/issues/:issue_iid/links/:issue_link_id': async (k) => ({ fill: await issueLink(k) }),
  'GET /projects/:id/access_tokens': '',
  'GET /projects/:id/access_tokens/:token_id': async (k) => ({ fill: await accessToken(k, 'projects') }),
  'GET /groups/:id/access_tokens': '',
  'GET /groups/:id/access_tokens/:token_id': async (k) => ({ fill: await accessToken(k, 'groups') }),
  'GET /application/settings': '',
}

/** A URL without a listener: deliveries fail immediately, and the call reports it. */
const NOWHERE = 'http://127.0.0.1:9/'
/** A call that is refused in the current state, which costs the same. */
const refused = (fill) => () => ({ fill, refused: true })

/** A draft note on a new merge request: of one there are at most 500. */
async function newDraft(k) {
  const fill = await newRequest(k)
  return { ...fill, draft_note_id: (await k.post(`${REQUEST}/draft_notes`, { note: 'x' }, fill)).id }
}

/** Calls that issues, merge requests and snippets have in common. */
const ON = { issues: ':issue_iid', merge_requests: ':merge_request_iid', snippets: ':snippet_id' }

const NOTES = Object.fromEntries(
  Object.entries(ON).flatMap(([things, id]) => {
    const at = `/projects/:id/${things}/${id}`
    const note = async ({ post, n }) => ({ note_id: (await post(`${at}/notes`, { body: `a note ${n}` })).id })
    const thread = async ({ post, n }) => {
      const made = await post(`${at}/discussions`, { body: `a thread ${n}` })
      return { discussion_id: made.id, note_id: made.notes[0].id }
    }
    // each user can award an emoji only once
    const own = async (k) => ({ ...(await note(k)), award_id: 0 })
    const award = async (k) => {
      const fill = await own(k)
      return { ...fill, award_id: (await k.post(`${at}/notes/:note_id/award_emoji`, { name: 'tada' }, fill)).id }
    }
    const fresh = (k) => FRESH[things](k)
    return [
      [`POST ${at}/notes`, ({ n }) => ({ body: { body: `A note that says something, number ${n}` } })],
      [`PUT ${at}/notes/:note_id`, async (k) => ({ fill: await note(k), body: { body: `changed ${k.n}` } })],
      [`DELETE ${at}/notes/:note_id`, async (k) => ({ fill: await note(k) })],
      [`POST ${at}/discussions`, ({ n }) => ({ body: { body: `A thread, number ${n}` } })],
      [`POST ${at}/discussions/:discussion_id/notes`, ({ n }) => ({ body: { body: `A reply, number ${n}` } })],
      [`PUT ${at}/discussions/:discussion_id/notes/:note_id`, async (k) => ({ fill: await thread(k), body: { body: `changed ${k.n}` } })],
      [`DELETE ${at}/discussions/:discussion_id/notes/:note_id`, async (k) => ({ fill: await thread(k) })],
      [`POST ${at}/award_emoji`, async (k) => ({ fill: await fresh(k), body: { name: 'tada' } })],
      [
        `DELETE ${at}/award_emoji/:award_id`,
        async (k) => {
          const fill = await fresh(k)
          return { fill: { ...fill, award_id: (await k.post(`${at}/award_emoji`, { name: 'tada' }, fill)).id } }
        },
      ],
      [`POST ${at}/notes/:note_id/award_emoji`, async (k) => ({ fill: await own(k), body: { name: 'tada' } })],
      [`DELETE ${at}/notes/:note_id/award_emoji/:award_id`, async (k) => ({ fill: await award(k) })],
    ]
  }),
)

const newRunner = ({ post }, given = { runner_type: 'instance_type', paused: true }) => post('/user/runners', given)
/** A pipeline of one job that waits for somebody. */
async function newJob(k) {
  const actions = [{ action: 'create', file_path: '.gitlab-ci.yml', content: 'job: { script: x, when: manual, allow_failure: false }\n' }]
  await k.post('/projects/:id/repository/commits', { branch: `ci${k.n}`, start_branch: 'main', commit_message: `ci ${k.n}`, actions })
  const { id: pipeline_id } = await k.post('/projects/:id/pipeline', { ref: `ci${k.n}` })
  const [{ id: job_id }] = await k.get('/projects/:id/pipelines/:pipeline_id/jobs', { pipeline_id })
  return { pipeline_id, job_id, ref: `ci${k.n}` }
}
/** Of a new project: of one there are at most 200 flags, and 100 lists. */
async function newFlag(k) {
  const project = await newProject(k)
  const strategies = [{ name: 'default', parameters: {}, scopes: [{ environment_scope: '*' }] }]
  return { ...project, feature_flag_name: (await k.post('/projects/:id/feature_flags', { name: 'flag', strategies }, project)).name }
}

const DEPLOYERS = { deploy_access_levels: [{ access_level: 40 }] }
async function newProtected(k) {
  const project = await newProject(k)
  await k.post('/projects/:id/protected_environments', { name: 'production', ...DEPLOYERS }, project)
  return { ...project, name: 'production' }
}

async function newPackageRule(k) {
  const project = await newProject(k)
  return { ...project, package_protection_rule_id: (await k.post('/projects/:id/packages/protection/rules', packageRule(k), project)).id }
}
const packageRule = ({ n }) => ({ package_type: 'npm', package_name_pattern: `name${n}`, minimum_access_level_for_push: 'owner' })

const FREEZE = { freeze_start: '0 23 * * 5', freeze_end: '0 7 * * 1' }
async function newFreeze(k) {
  const project = await newProject(k)
  return { ...project, freeze_period_id: (await k.post('/projects/:id/freeze_periods', FREEZE, project)).id }
}

async function newTopic(k, kind = 'new') {
  return { id: (await k.post('/topics', { name: `${kind} topic ${k.n}`, title: 'Topic' }, {})).id }
}

async function newFeature(k) {
  const fill = { name: `bench_${k.n}` }
  await k.post('/features/:name', { value: 'true' }, fill)
  return fill
}

async function newUserList(k) {
  const project = await newProject(k)
  return { ...project, iid: (await k.post('/projects/:id/feature_flags_user_lists', { name: 'list', user_xids: 'a,b' }, project)).iid }
}

/** A client without the token, which no call of the API makes. */
function guess() {
  return { fill: { project_id: 1 }, refused: true }
}

/** A trigger of a new project: of one there are at most 100. */
async function newTrigger(k) {
  const project = await newProject(k)
  return { ...project, trigger_id: (await k.post('/projects/:id/triggers', { description: 'trigger' }, project)).id }
}
const SCHEDULE = { description: 'schedule', ref: 'main', cron: '0 4 1 1 *' }
/** A schedule of a new project: of one there are at most 50. */
async function newSchedule(k) {
  const project = await newProject(k)
  return { ...project, pipeline_schedule_id: (await k.post('/projects/:id/pipeline_schedules', SCHEDULE, project)).id }
}
async function scheduleVariable(k) {
  const made = await newSchedule(k)
  await k.post('/projects/:id/pipeline_schedules/:pipeline_schedule_id/variables', { key: 'KEY', value: 'value' }, made)
  return { ...made, key: 'KEY' }
}
const newEnvironment = async ({ post, n }) => ({ environment_id: (await post('/projects/:id/environments', { name: `environment ${n}` })).id })
async function stoppedEnvironment(k) {
  const made = await newEnvironment(k)
  await k.post('/projects/:id/environments/:environment_id/stop', {}, made)
  return made
}
const deployment = async ({ get, n }, status) => {
  const [{ id: sha }] = await get('/projects/:id/repository/commits', {})
  return { environment: `environment ${n}`, sha, ref: 'main', status }
}
const newDeployment = async (k) => ({ deployment_id: (await k.post('/projects/:id/deployments', await deployment(k, 'failed'))).id })
/** A resource group, of a job that waits for somebody. */
async function newResourceGroup(k) {
  const job = 'job: { script: x, when: manual, resource_group: $CI_COMMIT_REF_NAME }\n'
  const actions = [{ action: 'create', file_path: '.gitlab-ci.yml', content: job }]
  await k.post('/projects/:id/repository/commits', { branch: `group${k.n}`, start_branch: 'main', commit_message: `group ${k.n}`, actions })
  await k.post('/projects/:id/pipeline', { ref: `group${k.n}` })
  return { key: `group${k.n}` }
}
async function canceledJob(k) {
  const made = await newJob(k)
  await k.post('/projects/:id/jobs/:job_id/cancel', {}, made)
  return made
}

const ISSUE = '/projects/:id/issues/:issue_iid'
const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'

const newIssue = async ({ post, n }) => ({ issue_iid: (await post('/projects/:id/issues', { title: `an issue ${n}` })).iid })
const newBranch = async ({ post, n }) => {
  const actions = [{ action: 'create', file_path: `calls/${n}`, content: `${n}\n` }]
  await post('/projects/:id/repository/commits', { branch: `call${n}`, start_branch: 'main', commit_message: `call ${n}`, actions })
  return `call${n}`
}
async function newRequestWithCi(k) {
  const source_branch = `request${k.n}`
  const actions = [
    { action: 'create', file_path: '.gitlab-ci.yml', content: 'job: { script: x, when: manual, allow_failure: false, only: [merge_requests] }\n' },
  ]
  await k.post('/projects/:id/repository/commits', { branch: source_branch, start_branch: 'main', commit_message: `ci ${k.n}`, actions })
  const { iid } = await k.post('/projects/:id/merge_requests', { title: `a request ${k.n}`, source_branch, target_branch: 'main' })
  return { merge_request_iid: iid }
}
const newRequest = async (k) => {
  const source_branch = await newBranch(k)
  return { merge_request_iid: (await k.post('/projects/:id/merge_requests', { title: `call ${k.n}`, source_branch, target_branch: 'main' })).iid }
}
const newSnippet = async ({ post, n }) => ({
  snippet_id: (await post('/projects/:id/snippets', { title: `${n}`, file_name: 'a', content: 'a', visibility: 'private' })).id,
})
const FRESH = { issues: newIssue, merge_requests: newRequest, snippets: newSnippet }
const newPackage = async ({ put, n }) => {
  const { id, package_id } = await put(`/projects/:id/packages/generic/call/${n}/file?select=package_file`, { n })
  return { package_id, package_file_id: id }
}
const newTag = async ({ s, origin, n }) => {
  await pushImage(origin, s.project.path_with_namespace, `call${n}`)
  return { tag_name: `call${n}` }
}
/** A repository of images in a new project. */
const newImage = async ({ post, get, origin, n }) => {
  const { id, path_with_namespace } = await post('/projects', { name: `images ${n}`, path: `images${n}` })
  await pushImage(origin, path_with_namespace, 'v1')
  return { id, repository_id: (await get('/projects/:id/registry/repositories', { id }))[0].id }
}
const newProject = async ({ post, n }) => ({ id: (await post('/projects', { name: `project ${n}` })).id })
const aFollower = async ({ post, n }) => ({ id: (await post('/projects', { name: `follower ${n}`, import_url: NOWHERE, mirror: true })).id })
const newGroup = async ({ post, n }) => ({ id: (await post('/groups', { name: `group ${n}`, path: `group${n}` })).id })
const newUser = async ({ post, n }) =>
  (
    await post('/users', {
      name: `New ${n}`,
      username: `new${n}`,
      email: `new${n}@example.com`,
      password: 'sufficiently long',
      skip_confirmation: true,
    })
  ).id
/** A user who has signed up and waits for approval. */
const waitingUser = async (k) => {
  const [username, visitor] = [`waiting${k.n}`, k.visitor()]
  const given = { name: 'x', username, email: `${username}@example.com`, password: 'sufficiently long' }
  await visitor.send('/users', Object.fromEntries(Object.entries(given).map(([name, value]) => [`user[${name}]`, value])), '/users/sign_up')
  return (await k.get(`/users?username=${username}`))[0].id
}
/** A user who has turned the second factor on. */
const userWithSecondFactor = async (k) => {
  const [id, at, password] = [await newUser(k), '/-/profile/two_factor_auth', 'sufficiently long']
  const visitor = k.visitor()
  await visitor.send('/users/sign_in', { 'user[login]': `new${k.n}`, 'user[password]': password })
  const setup = await visitor.valueOn(at, 'name="setup"')
  const secret = Secret.fromBase32((await visitor.valueOn(`${at}?setup=${encodeURIComponent(setup)}`, 'id="otp_key"')).replaceAll(' ', ''))
  await visitor.send(at, { setup, pin_code: new TOTP({ secret }).generate(), current_password: password })
  return id
}
const user = async (k) => ({ user_id: await newUser(k) })
const label = async ({ post, n }, of) => (await post(`/${of}/:id/labels`, { name: `call ${n}`, color: '#112233' })).id
const milestone = async ({ post, n }, of) => ({ milestone_id: (await post(`/${of}/:id/milestones`, { title: `call ${n}` })).id })
const variable = async ({ post, n }, of) => ({ key: (await post(`/${of}/:id/variables`, { key: `KEY_${n}`, value: 'value' })).key })
const instanceVariable = async ({ post, n }) => ({ key: (await post('/admin/ci/variables', { key: `KEY_${n}`, value: 'value' })).key })
const tag = async ({ post, s, n }) => ({ tag_name: (await post('/projects/:id/repository/tags', { tag_name: `call${n}`, ref: s.head })).name })
const release = async (k) => {
  const fill = await tag(k)
  await k.post('/projects/:id/releases', { ...fill, description: 'x' })
  return fill
}
const protectedBranch = async ({ post, n }) => ({ name: (await post('/projects/:id/protected_branches', { name: `call${n}-*` })).name })

/** Calls that projects and groups have in common. */
const IN_BOTH = Object.fromEntries(
  ['projects', 'groups'].flatMap((of) => {
    const at = `/${of}/:id`
    const hook = async ({ post }) => ({ hook_id: (await post(`${at}/hooks`, { url: NOWHERE })).id })
    const asker = async (k) => {
      const id = await newUser(k)
      const { token } = await k.post('/users/:user_id/personal_access_tokens', { name: 'x', scopes: ['api'] }, { user_id: id })
      return { id, token }
    }
    const place = async (k) =>
      of === 'projects'
        ? { id: (await k.post('/projects', { name: `open ${k.n}`, visibility: 'public', request_access_enabled: true })).id }
        : { id: (await k.post('/groups', { name: `open ${k.n}`, path: `open${k.n}`, visibility: 'public', request_access_enabled: true })).id }
    const request = async (k) => {
      const [fill, { id, token }] = [await place(k), await asker(k)]
      await k.post(`${at}/access_requests`, undefined, fill, token)
      return { ...fill, user_id: id }
    }
    const invitationOf = ({ n }) => ({ email: `invited${n}@example.net`, access_level: 30 })
    const invited = async (k) => {
      const fill = await place(k)
      await k.post(`${at}/invitations`, invitationOf(k), fill)
      return { ...fill, email: encodeURIComponent(invitationOf(k).email) }
    }
    const attempt = async (k) => {
      const fill = await hook(k)
      await k.post(`${at}/hooks/:hook_id/test/push_events`, undefined, fill).catch(() => undefined)
      return { ...fill, hook_event_id: (await k.get(`${at}/hooks/:hook_id/events`, fill))[0]?.id ?? 1 }
    }
    // of a new place: there may be 50 boards, and 20 lists on each
    const board = async (k) => {
      const fill = of === 'projects' ? await newProject(k) : await newGroup(k)
      return { ...fill, board_id: (await k.post(`${at}/boards`, { name: 'x' }, fill)).id }
    }
    const aLabel = async (k, fill, name) => (await k.post(`${at}/labels`, { name, color: '#112233' }, fill)).id
    const list = async (k) => {
      const fill = await board(k)
      const made = []
      for (const name of ['one', 'two']) made.push((await k.post(`${at}/boards/:board_id/lists`, { label_id: await aLabel(k, fill, name) }, fill)).id)
      return { ...fill, list_id: made[1] }
    }
    const badge = { link_url: 'https://example.com/%{project_path}', image_url: 'https://example.com/%{project_id}.svg' }
    return [
      // of a new place: there may be 50 badges
      [`POST ${at}/badges`, async (k) => ({ fill: of === 'projects' ? await newProject(k) : await newGroup(k), body: badge })],
      [`PUT ${at}/badges/:badge_id`, ({ n }) => ({ body: { name: `badge ${n}` } })],
      [
        `DELETE ${at}/badges/:badge_id`,
        async (k) => {
          const fill = of === 'projects' ? await newProject(k) : await newGroup(k)
          return { fill: { ...fill, badge_id: (await k.post(`${at}/badges`, badge, fill)).id } }
        },
      ],
      [`POST ${at}/boards`, async (k) => ({ fill: of === 'projects' ? await newProject(k) : await newGroup(k), body: { name: 'x' } })],
      [`PUT ${at}/boards/:board_id`, ({ n }) => ({ body: { name: `board ${n}` } })],
      [`DELETE ${at}/boards/:board_id`, async (k) => ({ fill: await board(k) })],
      [
        `POST ${at}/boards/:board_id/lists`,
        async (k) => {
          const fill = await board(k)
          return { fill, body: { label_id: await aLabel(k, fill, 'one') } }
        },
      ],
      [`PUT ${at}/boards/:board_id/lists/:list_id`, async (k) => ({ fill: await list(k), body: { position: 0 } })],
      [`DELETE ${at}/boards/:board_id/lists/:list_id`, async (k) => ({ fill: await list(k) })],
      [`PUT ${at}/notification_settings`, ({ n }) => ({ body: { level: n % 2 ? 'watch' : 'participating' } })],
      [`POST ${at}/members`, async (k) => ({ body: { ...(await user(k)), access_level: 30 } })],
      [`PUT ${at}/members/:user_id`, async (k) => ({ fill: await member(k, at), body: { access_level: 20 } })],
      [`DELETE ${at}/members/:user_id`, async (k) => ({ fill: await member(k, at) })],
      [`POST ${at}/invitations`, async (k) => ({ fill: await place(k), body: invitationOf(k) })],
      [`PUT ${at}/invitations/:email`, async (k) => ({ fill: await invited(k), body: { access_level: 20 } })],
      [`DELETE ${at}/invitations/:email`, async (k) => ({ fill: await invited(k) })],
      [`POST ${at}/access_requests`, async (k) => ({ fill: await place(k), token: (await asker(k)).token })],
      [`PUT ${at}/access_requests/:user_id/approve`, async (k) => ({ fill: await request(k) })],
      [`DELETE ${at}/access_requests/:user_id`, async (k) => ({ fill: await request(k) })],
      [`PUT ${at}/custom_attributes/:key`, ({ n }) => ({ body: { value: `${n}` } })],
      [`DELETE ${at}/custom_attributes/:key`, async (k) => ({ fill: await attribute(k, at) })],
      [`POST ${at}/labels`, ({ n }) => ({ body: { name: `call ${n}`, color: '#112233' } })],
      [`PUT ${at}/labels`, async (k) => ({ body: { name: `call ${k.n}`, new_name: `changed ${k.n} ${await label(k, of)}` } })],
      [`DELETE ${at}/labels`, async (k) => ({ query: `?name=call%20${k.n}`, made: await label(k, of) })],
      [`PUT ${at}/labels/:label_id`, async (k) => ({ fill: { label_id: await label(k, of) }, body: { description: `${k.n}` } })],
      [`DELETE ${at}/labels/:label_id`, async (k) => ({ fill: { label_id: await label(k, of) } })],
      [`POST ${at}/milestones`, ({ n }) => ({ body: { title: `call ${n}` } })],
      [`PUT ${at}/milestones/:milestone_id`, async (k) => ({ fill: await milestone(k, of), body: { description: `${k.n}` } })],
      [`DELETE ${at}/milestones/:milestone_id`, async (k) => ({ fill: await milestone(k, of) })],
      [`POST ${at}/variables`, ({ n }) => ({ body: { key: `KEY_${n}`, value: 'value' } })],
      [`PUT ${at}/variables/:key`, async (k) => ({ fill: await variable(k, of), body: { value: `${k.n}` } })],
      [`DELETE ${at}/variables/:key`, async (k) => ({ fill: await variable(k, of) })],
      [`POST ${at}/hooks`, async (k) => ({ fill: of === 'projects' ? await newProject(k) : await newGroup(k), body: { url: NOWHERE } })],
      [`PUT ${at}/hooks/:hook_id`, ({ n }) => ({ body: { name: `hook ${n}` } })],
      [`DELETE ${at}/hooks/:hook_id`, async (k) => ({ fill: await hook(k) })],
      [`POST ${at}/hooks/:hook_id/test/:trigger`, refused({ trigger: 'push_events' })],
      [`POST ${at}/hooks/:hook_id/events/:hook_event_id/resend`, async (k) => ({ fill: await attempt(k), refused: true })],
      [
        `POST ${at}/access_tokens`,
        async (k) => ({ fill: of === 'projects' ? await newProject(k) : await newGroup(k), body: { name: `${k.n}`, scopes: ['read_api'] } }),
      ],
      [`POST ${at}/access_tokens/:token_id/rotate`, async (k) => ({ fill: await accessToken(k, of) })],
      [`POST ${at}/access_tokens/self/rotate`, refused({})],
      [`DELETE ${at}/access_tokens/:token_id`, async (k) => ({ fill: await accessToken(k, of) })],
      [`POST ${at}/deploy_tokens`, ({ n }) => ({ body: { name: `${n}`, scopes: ['read_repository'] } })],
      [
        `DELETE ${at}/deploy_tokens/:token_id`,
        async ({ post, n }) => ({ fill: { token_id: (await post(`${at}/deploy_tokens`, { name: `${n}`, scopes: ['read_repository'] })).id } }),
      ],
    ]
  }),
)

/** An issue or merge request of the seeded project, with an event of the kind. */
async function resourceEvent({ get, put, post, n }, of, kind) {
  const at = `/projects/:id/${of}`
  if (kind === 'label') await put(at, { labels: `label ${n}` })
  else if (kind === 'milestone') await put(at, { milestone_id: (await post('/projects/:id/milestones', { title: `of event ${n}` })).id })
  else for (const state_event of ['close', 'reopen']) await put(at, { state_event })
  return { event_id: (await get(`${at}/resource_${kind}_events?per_page=1`))[0].id }
}

/** Two issues of a new project: one has few links. */
async function twoIssues(k) {
  const { id } = await newProject(k)
  const [iid, other] = [
    (await k.post(`/projects/${id}/issues`, { title: 'one' })).iid,
    (await k.post(`/projects/${id}/issues`, { title: 'other' })).iid,
  ]
  return { id, iid, other }
}

async function issueLink(k) {
  const { id, iid, other } = await twoIssues(k)
  const { id: issue_link_id } = await k.post(`/projects/${id}/issues/${iid}/links`, { target_project_id: id, target_issue_iid: other })
  return { id, issue_iid: iid, issue_link_id }
}

/** A label or milestone of a new project in a new group. */
async function inOwnGroup(k, what, sent) {
  const { id: namespace_id } = await newGroup(k)
  const { id } = await k.post('/projects', { name: `project ${k.n}`, namespace_id })
  return { id, [what === 'labels' ? 'label_id' : 'milestone_id']: (await k.post(`/projects/${id}/${what}`, sent)).id }
}

/** A token of a new project or group: one has few of them. */
async function accessToken(k, of) {
  const { id } = of === 'projects' ? await newProject(k) : await newGroup(k)
  return { id, token_id: (await k.post(`/${of}/${id}/access_tokens`, { name: `${k.n}`, scopes: ['read_api'] })).id }
}

async function member(k, at) {
  const fill = await user(k)
  await k.post(`${at}/members`, { ...fill, access_level: 30 })
  return fill
}

async function attribute(k, at) {
  const fill = { key: `key${k.n}` }
  await k.put(`${at}/custom_attributes/:key`, { value: 'x' }, fill)
  return fill
}

/** The body of each write, and its unmeasured preparation. */
const WRITES = {
  ...NOTES,
  ...IN_BOTH,
  'PUT /user/password': () => ({ skipped: 'ends all credentials of its caller' }),
  'POST /users': ({ n }) => ({
    body: { name: `Call ${n}`, username: `call${n}`, email: `call${n}@example.com`, password: 'sufficiently long', skip_confirmation: true },
  }),
  'PUT /users/:id': ({ n }) => ({ body: { bio: `${n}` } }),
  'DELETE /users/:id': async (k) => ({ fill: { id: await newUser(k) } }),
  'POST /users/:id/block': async (k) => ({ fill: { id: await newUser(k) } }),
  'POST /users/:id/unblock': async (k) => {
    const fill = { id: await newUser(k) }
    await k.post('/users/:id/block', undefined, fill)
    return { fill }
  },
  'POST /groups/:id/share': async (k) => ({ body: { group_id: (await newGroup(k)).id, group_access: 30 } }),
  'DELETE /groups/:id/share/:group_id': async (k) => {
    const fill = { group_id: (await newGroup(k)).id }
    await k.post('/groups/:id/share', { ...fill, group_access: 30 })
    return { fill }
  },
  'POST /users/:id/deactivate': async (k) => ({ fill: { id: await newUser(k) } }),
  'POST /users/:id/activate': async (k) => {
    const fill = { id: await newUser(k) }
    await k.post('/users/:id/deactivate', undefined, fill)
    return { fill }
  },
  'POST /users/:id/ban': async (k) => ({ fill: { id: await newUser(k) } }),
  'POST /users/:id/unban': async (k) => {
    const fill = { id: await newUser(k) }
    await k.post('/users/:id/ban', undefined, fill)
    return { fill }
  },
  'POST /users/:id/approve': async (k) => ({ fill: { id: await waitingUser(k) } }),
  'POST /users/:id/reject': async (k) => ({ fill: { id: await waitingUser(k) } }),
  'PATCH /users/:id/disable_two_factor': async (k) => ({ fill: { id: await userWithSecondFactor(k) } }),
  'PUT /user/status': ({ n }) => ({ body: { emoji: 'tada', message: `${n}` } }),
  'POST /markdown': ({ n }) => ({ body: { text: `# Call ${n}\n\n- [ ] #1 and @user1`, gfm: true } }),
  'POST /user/keys': () => ({ body: { title: 'k', key: sshKey() } }),
  'DELETE /user/keys/:key_id': async ({ post }) => ({ fill: { key_id: (await post('/user/keys', { title: 'k', key: sshKey() })).id } }),
  'POST /users/:id/keys': () => ({ body: { title: 'k', key: sshKey() } }),
  'DELETE /users/:id/keys/:key_id': async ({ post }) => ({ fill: { key_id: (await post('/users/:id/keys', { title: 'k', key: sshKey() })).id } }),
  'POST /user/gpg_keys': async () => ({ body: { key: await gpgKey() } }),
  'DELETE /user/gpg_keys/:key_id': async ({ post }) => ({ fill: { key_id: (await post('/user/gpg_keys', { key: await gpgKey() }))[0].id } }),
  'POST /users/:id/gpg_keys': async () => ({ body: { key: await gpgKey() } }),
  'DELETE /users/:id/gpg_keys/:key_id': async ({ post }) => ({
    fill: { key_id: (await post('/users/:id/gpg_keys', { key: await gpgKey() }))[0].id },
  }),
  'POST /user/emails': ({ n }) => ({ body: { email: `more${n}@example.com` } }),
  'DELETE /user/emails/:email_id': async ({ post, n }) => ({
    fill: { email_id: (await post('/user/emails', { email: `gone${n}@example.com` })).id },
  }),
  'POST /users/:id/emails': ({ n }) => ({ body: { email: `theirs${n}@example.com`, skip_confirmation: true } }),
  'DELETE /users/:id/emails/:email_id': async ({ post, n }) => ({
    fill: { email_id: (await post('/users/:id/emails', { email: `gone${n}@example.com` })).id },
  }),
  'POST /users/:user_id/impersonation_tokens': ({ n }) => ({ body: { name: `${n}`, scopes: ['api'] } }),
  'DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id': async ({ post }) => ({
    fill: { impersonation_token_id: (await post('/users/:user_id/impersonation_tokens', { name: 'x', scopes: ['api'] })).id },
  }),
  'PUT /notification_settings': ({ n }) => ({ body: { level: n % 2 ? 'watch' : 'participating' } }),
  'POST /broadcast_messages': () => ({ body: { message: 'x' } }),
  'PUT /broadcast_messages/:id': async ({ post }) => ({
    fill: { id: (await post('/broadcast_messages', { message: 'x' })).id },
    body: { message: 'y' },
  }),
  'DELETE /broadcast_messages/:id': async ({ post }) => ({ fill: { id: (await post('/broadcast_messages', { message: 'x' })).id } }),
  'POST /admin/held_texts/:id/release': () => ({ skipped: 'no spam filter holds a text' }),
  'DELETE /admin/held_texts/:id': () => ({ skipped: 'no spam filter holds a text' }),
  'POST /admin/request_limits': ({ n }) => ({ body: { caller: address(n), requests: 9 } }),
  'DELETE /admin/request_limits/:id': async ({ post, n }) => ({
    fill: { id: (await post('/admin/request_limits', { caller: address(n), requests: 9 })).id },
  }),
  'POST /admin/sign_in_providers/:name/test': () => ({ skipped: 'no provider is configured' }),
  'POST /admin/ci/variables': ({ n }) => ({ body: { key: `KEY_${n}`, value: 'value' } }),
  'PUT /admin/ci/variables/:key': async (k) => ({ fill: await instanceVariable(k), body: { value: `${k.n}` } }),
  'DELETE /admin/ci/variables/:key': async (k) => ({ fill: await instanceVariable(k) }),
  'POST /projects/:id/remote_mirrors': async (k) => ({ fill: await newProject(k), body: { url: NOWHERE } }),
  'PUT /projects/:id/remote_mirrors/:mirror_id': ({ n }) => ({ body: { keep_divergent_refs: n % 2 === 0 } }),
  'DELETE /projects/:id/remote_mirrors/:mirror_id': async (k) => {
    const fill = await newProject(k)
    return { fill: { ...fill, mirror_id: (await k.post('/projects/:id/remote_mirrors', { url: NOWHERE }, fill)).id } }
  },
  'POST /projects/:id/remote_mirrors/:mirror_id/sync': async (k) => {
    const fill = await newProject(k)
    return { fill: { ...fill, mirror_id: (await k.post('/projects/:id/remote_mirrors', { url: NOWHERE, enabled: true }, fill)).id } }
  },
  'POST /projects/:id/mirror/pull': async (k) => ({ fill: await aFollower(k) }),
  ...Object.fromEntries(
    ['services', 'integrations'].flatMap((name) => [
      [`PUT /projects/:id/${name}/:slug`, ({ n }) => ({ body: { external_wiki_url: `https://example.com/${n}` } })],
      [
        `DELETE /projects/:id/${name}/:slug`,
        async (k) => {
          await k.put(`/projects/:id/${name}/:slug`, { external_wiki_url: 'https://example.com' })
          return {}
        },
      ],
    ]),
  ),
  'PATCH /projects/:id/job_token_scope': ({ n }) => ({ body: { enabled: n % 2 === 0 } }),
  'POST /projects/:id/job_token_scope/allowlist': async (k) => ({ body: { target_project_id: (await newProject(k)).id } }),
  'DELETE /projects/:id/job_token_scope/allowlist/:target_project_id': async (k) => {
    const target_project_id = (await newProject(k)).id
    await k.post('/projects/:id/job_token_scope/allowlist', { target_project_id })
    return { fill: { target_project_id } }
  },
  'POST /projects/:id/job_token_scope/groups_allowlist': async (k) => ({ body: { target_group_id: (await newGroup(k)).id } }),
  'DELETE /projects/:id/job_token_scope/groups_allowlist/:target_group_id': async (k) => {
    const target_group_id = (await newGroup(k)).id
    await k.post('/projects/:id/job_token_scope/groups_allowlist', { target_group_id })
    return { fill: { target_group_id } }
  },
  'POST /admin/jobs/retry': () => ({}),
  'POST /admin/jobs/:id/retry': () => ({ skipped: 'no job has failed' }),
  'DELETE /admin/jobs/:id': () => ({ skipped: 'no job has failed' }),
  'POST /admin/users/import': ({ n }) => ({
    body: { text: `username,email,password\nlisted${n},listed${n}@example.com,long enough ${n}` },
    few: true,
  }),
  'POST /applications': ({ n }) => ({ body: { name: `${n}`, redirect_uri: 'https://ci.example.com/callback', scopes: 'api' } }),
  'DELETE /applications/:id': async ({ post }) => ({
    fill: { id: (await post('/applications', { name: 'x', redirect_uri: 'https://ci.example.com/callback', scopes: 'api' })).id },
  }),
  'POST /user/personal_access_tokens': ({ n }) => ({ body: { name: `${n}`, scopes: ['read_user'] } }),
  'POST /users/:user_id/personal_access_tokens': ({ n }) => ({ body: { name: `${n}`, scopes: ['read_user'] } }),
  'DELETE /personal_access_tokens/:id': async ({ post }) => ({
    fill: { id: (await post('/user/personal_access_tokens', { name: 'x', scopes: ['read_user'] })).id },
  }),
  'POST /personal_access_tokens/:id/rotate': async ({ post }) => ({
    fill: { id: (await post('/user/personal_access_tokens', { name: 'x', scopes: ['read_user'] })).id },
  }),
  'POST /groups': ({ n }) => ({ body: { name: `call ${n}`, path: `call${n}` } }),
  'PUT /groups/:id': async ({ n }) => ({ body: { description: `${n}` } }),
  'DELETE /groups/:id': async (k) => ({ fill: await newGroup(k) }),
  'POST /groups/:id/restore': async (k) => {
    const fill = await newGroup(k)
    await k.remove('/groups/:id', fill)
    return { fill }
  },
  'POST /groups/:id/transfer': async (k) => ({ fill: await newGroup(k), body: { group_id: (await newGroup(k)).id } }),
  'POST /groups/:id/projects/:project_id': async (k) => ({ fill: { project_id: (await newProject(k)).id } }),
  'POST /projects': ({ n }) => ({ body: { name: `call ${n}` } }),
  'PUT /projects/:id': ({ n }) => ({ body: { description: `${n}` } }),
  'DELETE /projects/:id': async (k) => ({ fill: await newProject(k) }),
  'POST /projects/user/:user_id': ({ n }) => ({ body: { name: `theirs ${n}` } }),
  'POST /projects/:id/restore': async (k) => {
    const fill = await newProject(k)
    await k.remove('/projects/:id', fill)
    return { fill }
  },
  'POST /projects/:id/archive': async (k) => ({ fill: await newProject(k) }),
  'POST /projects/:id/unarchive': async (k) => {
    const fill = await newProject(k)
    await k.post('/projects/:id/archive', undefined, fill)
    return { fill }
  },
  'POST /projects/:id/star': async (k) => ({ fill: await newProject(k) }),
  'POST /projects/:id/unstar': async (k) => {
    const fill = await newProject(k)
    await k.post('/projects/:id/star', undefined, fill)
    return { fill }
  },
  'PUT /projects/:id/transfer': async (k) => ({ fill: await newProject(k), body: { namespace: k.s.group.id } }),
  'POST /projects/:id/fork': ({ n }) => ({ body: { path: `fork${n}`, name: `fork ${n}` } }),
  'DELETE /projects/:id/fork': async ({ post, n }) => ({
    fill: { id: (await post('/projects/:id/fork', { path: `gone${n}`, name: `gone ${n}` })).id },
  }),
  'POST /projects/:id/fork/:forked_from_id': async (k) => ({ fill: { ...(await newProject(k)), forked_from_id: k.s.project.id } }),
  'POST /projects/:id/share': async (k) => ({ body: { group_id: (await newGroup(k)).id, group_access: 30 } }),
  'DELETE /projects/:id/share/:group_id': async (k) => {
    const { id: group_id } = await newGroup(k)
    await k.post('/projects/:id/share', { group_id, group_access: 30 })
    return { fill: { group_id } }
  },
  'GET /projects/:id/export/download': refused(),
  'POST /projects/:id/export': async (k) => ({ fill: await newProject(k) }),
  // the file is no archive, and the project stays empty: what is measured is taking it
  'GET /groups/:id/export/download': refused(),
  'POST /groups/:id/export': async (k) => ({ fill: await newGroup(k) }),
  // likewise
  'POST /groups/import': ({ n }) => ({ fields: { path: `imported-group${n}`, name: `Imported ${n}` }, file: `no archive ${n}` }),
  'POST /projects/import': ({ n }) => ({ fields: { path: `imported${n}` }, file: `no archive ${n}` }),
  'POST /projects/:id/uploads': ({ n }) => ({ file: `the content of file ${n}` }),
  'POST /projects/:id/repository/branches': ({ n }) => ({ body: { branch: `call${n}`, ref: 'main' } }),
  'DELETE /projects/:id/repository/branches/:branch': async ({ post, n }) => ({
    fill: { branch: (await post('/projects/:id/repository/branches', { branch: `gone${n}`, ref: 'main' })).name },
  }),
  'DELETE /projects/:id/repository/merged_branches': () => ({}),
  'PUT /projects/:id/repository/branches/:branch/protect': ({ n }) => ({ fill: { branch: `topic${n % 200}` } }),
  'PUT /projects/:id/repository/branches/:branch/unprotect': async ({ put, n }) => {
    const fill = { branch: `topic${n % 200}` }
    await put('/projects/:id/repository/branches/:branch/protect', {}, fill)
    return { fill }
  },
  'POST /projects/:id/protected_branches': ({ n }) => ({ body: { name: `call${n}-*` } }),
  'PATCH /projects/:id/protected_branches/:name': async (k) => ({ fill: await protectedBranch(k), body: { allow_force_push: true } }),
  'DELETE /projects/:id/protected_branches/:name': async (k) => ({ fill: await protectedBranch(k) }),
  'POST /projects/:id/protected_tags': ({ n }) => ({ body: { name: `call${n}-*` } }),
  'DELETE /projects/:id/protected_tags/:name': async ({ post, n }) => ({
    fill: { name: (await post('/projects/:id/protected_tags', { name: `call${n}-*` })).name },
  }),
  'POST /projects/:id/repository/tags': ({ s, n }) => ({ body: { tag_name: `call${n}`, ref: s.head } }),
  'DELETE /projects/:id/repository/tags/:tag_name': async (k) => ({ fill: await tag(k) }),
  'POST /projects/:id/repository/tags/:tag_name/release': async (k) => ({ fill: await tag(k), body: { description: 'x' } }),
  'PUT /projects/:id/repository/tags/:tag_name/release': async (k) => ({ fill: await release(k), body: { description: 'y' } }),
  'POST /projects/:id/releases': async (k) => ({ body: { ...(await tag(k)), description: 'x' } }),
  'PUT /projects/:id/releases/:tag_name': async (k) => ({ fill: await release(k), body: { description: 'y' } }),
  'DELETE /projects/:id/releases/:tag_name': async (k) => ({ fill: await release(k) }),
  'POST /projects/:id/releases/:tag_name/assets/links': ({ n }) => ({ body: { name: `call ${n}`, url: `https://example.com/${n}` } }),
  'PUT /projects/:id/releases/:tag_name/assets/links/:link_id': ({ n }) => ({ body: { name: `changed ${n}` } }),
  'DELETE /projects/:id/releases/:tag_name/assets/links/:link_id': async ({ post, n }) => ({
    fill: { link_id: (await post('/projects/:id/releases/:tag_name/assets/links', { name: `gone ${n}`, url: `https://example.com/gone/${n}` })).id },
  }),
  'POST /projects/:id/repository/files/:file_path': async (k) => ({
    fill: { file_path: `new${k.n}` },
    body: { branch: await newBranch(k), content: 'a', commit_message: 'a' },
  }),
  'PUT /projects/:id/repository/files/:file_path': async (k) => ({ body: { branch: await newBranch(k), content: `${k.n}`, commit_message: 'a' } }),
  'DELETE /projects/:id/repository/files/:file_path': async (k) => ({ query: `?branch=${await newBranch(k)}&commit_message=a` }),
  'POST /projects/:id/repository/commits': ({ n }) => ({
    body: {
      branch: `commit${n}`,
      start_branch: 'main',
      commit_message: `commit ${n}`,
      actions: [{ action: 'create', file_path: `commits/${n}`, content: `${n}` }],
    },
  }),
  'POST /projects/:id/statuses/:sha': ({ n }) => ({ body: { state: 'success', name: `call ${n}` } }),
  'POST /projects/:id/pipelines/:pipeline_id/cancel': () => ({}),
  'POST /projects/:id/merge_requests/:merge_request_iid/pipelines': async (k) => ({ fill: await newRequestWithCi(k) }),
  'POST /projects/:id/pipeline': async (k) => ({ body: { ref: (await newJob(k)).ref } }),
  'POST /projects/:id/pipelines/:pipeline_id/retry': async (k) => ({ fill: await canceledJob(k) }),
  'DELETE /projects/:id/pipelines/:pipeline_id': async (k) => ({ fill: await newJob(k) }),
  'POST /projects/:id/jobs/:job_id/cancel': async (k) => ({ fill: await newJob(k) }),
  'POST /projects/:id/jobs/:job_id/retry': async (k) => ({ fill: await canceledJob(k) }),
  'POST /projects/:id/jobs/:job_id/play': async (k) => ({ fill: await newJob(k) }),
  'POST /projects/:id/jobs/:job_id/erase': async (k) => ({ fill: await canceledJob(k) }),
  'POST /projects/:id/jobs/:job_id/artifacts/keep': refused({}),
  'DELETE /projects/:id/jobs/:job_id/artifacts': refused({}),
  'POST /projects/:id/protected_environments': async (k) => ({ fill: await newProject(k), body: { name: 'production', ...DEPLOYERS } }),
  'PUT /projects/:id/protected_environments/:name': async (k) => ({ fill: await newProtected(k), body: DEPLOYERS }),
  'DELETE /projects/:id/protected_environments/:name': async (k) => ({ fill: await newProtected(k) }),
  'POST /projects/:id/packages/protection/rules': async (k) => ({ fill: await newProject(k), body: packageRule(k) }),
  'PATCH /projects/:id/packages/protection/rules/:package_protection_rule_id': async (k) => ({
    fill: await newPackageRule(k),
    body: { minimum_access_level_for_delete: 'admin' },
  }),
  'DELETE /projects/:id/packages/protection/rules/:package_protection_rule_id': async (k) => ({ fill: await newPackageRule(k) }),
  'POST /projects/:id/freeze_periods': async (k) => ({ fill: await newProject(k), body: FREEZE }),
  'PUT /projects/:id/freeze_periods/:freeze_period_id': async (k) => ({ fill: await newFreeze(k), body: { freeze_end: '0 8 * * 1' } }),
  'DELETE /projects/:id/freeze_periods/:freeze_period_id': async (k) => ({ fill: await newFreeze(k) }),
  'POST /topics': ({ n }) => ({ body: { name: `topic ${n}`, title: 'Topic' } }),
  'PUT /topics/:id': async (k) => ({ fill: await newTopic(k), body: { title: 'Other' } }),
  'DELETE /topics/:id': async (k) => ({ fill: await newTopic(k) }),
  'POST /topics/merge': async (k) => ({ body: { source_topic_id: (await newTopic(k)).id, target_topic_id: (await newTopic(k, 'into')).id } }),
  'POST /features/:name': () => ({ fill: { name: 'bench' }, body: { value: 'true' } }),
  'DELETE /features/:name': async (k) => ({ fill: await newFeature(k) }),
  'POST /projects/:id/feature_flags': async (k) => ({ fill: await newProject(k), body: { name: 'flag' } }),
  'PUT /projects/:id/feature_flags/:feature_flag_name': async (k) => ({ fill: await newFlag(k), body: { active: false } }),
  'DELETE /projects/:id/feature_flags/:feature_flag_name': async (k) => ({ fill: await newFlag(k) }),
  'POST /projects/:id/feature_flags_user_lists': async (k) => ({ fill: await newProject(k), body: { name: 'list', user_xids: 'a,b' } }),
  'PUT /projects/:id/feature_flags_user_lists/:iid': async (k) => ({ fill: await newUserList(k), body: { user_xids: 'a' } }),
  'DELETE /projects/:id/feature_flags_user_lists/:iid': async (k) => ({ fill: await newUserList(k) }),
  'POST /feature_flags/unleash/:project_id/client/register': guess,
  'POST /feature_flags/unleash/:project_id/client/metrics': guess,
  'POST /projects/:id/triggers': async (k) => ({ fill: await newProject(k), body: { description: 'trigger' } }),
  'PUT /projects/:id/triggers/:trigger_id': async (k) => ({ fill: await newTrigger(k), body: { description: `changed ${k.n}` } }),
  'DELETE /projects/:id/triggers/:trigger_id': async (k) => ({ fill: await newTrigger(k) }),
  'POST /projects/:id/trigger/pipeline': ({ n }) => ({ body: { token: `none ${n}`, ref: 'main' }, refused: true }),
  'POST /projects/:id/ref/:ref/trigger/pipeline': ({ n }) => ({ fill: { ref: 'main' }, body: { token: `none ${n}`, ref: 'main' }, refused: true }),
  'POST /projects/:id/pipeline_schedules': async (k) => ({ fill: await newProject(k), body: SCHEDULE }),
  'PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id': async (k) => ({
    fill: await newSchedule(k),
    body: { description: `changed ${k.n}` },
  }),
  'POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/take_ownership': async (k) => ({ fill: await newSchedule(k) }),
  'POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/play': async (k) => ({ fill: await newSchedule(k) }),
  'DELETE /projects/:id/pipeline_schedules/:pipeline_schedule_id': async (k) => ({ fill: await newSchedule(k) }),
  'POST /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables': async (k) => ({
    fill: await newSchedule(k),
    body: { key: 'KEY', value: 'value' },
  }),
  'PUT /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key': async (k) => ({
    fill: await scheduleVariable(k),
    body: { value: 'x' },
  }),
  'DELETE /projects/:id/pipeline_schedules/:pipeline_schedule_id/variables/:key': async (k) => ({ fill: await scheduleVariable(k) }),
  'POST /projects/:id/environments': ({ n }) => ({ body: { name: `environment ${n}`, external_url: 'https://example.com' } }),
  'PUT /projects/:id/environments/:environment_id': async (k) => ({ fill: await newEnvironment(k), body: { external_url: 'https://example.com' } }),
  'DELETE /projects/:id/environments/:environment_id': async (k) => ({ fill: await stoppedEnvironment(k) }),
  'POST /projects/:id/environments/:environment_id/stop': async (k) => ({ fill: await newEnvironment(k) }),
  'POST /projects/:id/deployments': async (k) => ({ body: await deployment(k, 'success') }),
  'PUT /projects/:id/deployments/:deployment_id': async (k) => ({ fill: await newDeployment(k), body: { status: 'success' } }),
  'DELETE /projects/:id/environments/review_apps': { body: { dry_run: false } },
  'DELETE /projects/:id/deployments/:deployment_id': async (k) => ({ fill: await newDeployment(k) }),
  'PUT /projects/:id/resource_groups/:key': async (k) => ({ fill: await newResourceGroup(k), body: { process_mode: 'oldest_first' } }),
  'POST /runners': async ({ post, n }) => ({ body: { token: (await post('/runners/reset_registration_token')).token, description: `runner ${n}` } }),
  'POST /runners/verify': async (k) => ({ body: { token: (await newRunner(k)).token } }),
  'DELETE /runners': async (k) => ({ body: { token: (await newRunner(k)).token } }),
  'POST /runners/reset_authentication_token': async (k) => ({ body: { token: (await newRunner(k)).token } }),
  'POST /jobs/request': async (k) => ({
    body: { token: (await newRunner(k, { runner_type: 'instance_type', tag_list: 'none', run_untagged: false })).token },
  }),
  'PUT /jobs/:id': () => ({ body: { token: 'x', state: 'running' }, refused: true }),
  'POST /user/runners': ({ n }) => ({ body: { runner_type: 'instance_type', description: `runner ${n}`, paused: true } }),
  'PUT /runners/:id': async (k) => ({ fill: { id: (await newRunner(k)).id }, body: { description: `changed ${k.n}` } }),
  'DELETE /runners/:id': async (k) => ({ fill: { id: (await newRunner(k)).id } }),
  'POST /runners/:id/reset_authentication_token': async (k) => ({ fill: { id: (await newRunner(k)).id } }),
  'POST /runners/reset_registration_token': () => ({}),
  'POST /projects/:id/runners': refused({}),
  'DELETE /projects/:id/runners/:runner_id': refused({ runner_id: 1 }),
  'POST /projects/:id/runners/reset_registration_token': () => ({}),
  'POST /groups/:id/runners/reset_registration_token': () => ({}),
  'POST /ci/lint': ({ n }) => ({ body: { content: `job${n}: {script: make}` } }),
  'POST /projects/:id/ci/lint': ({ n }) => ({ body: { content: `job${n}: {script: make}` } }),
  'PUT /users/:id/custom_attributes/:key': ({ n }) => ({ body: { value: `${n}` } }),
  'DELETE /users/:id/custom_attributes/:key': async (k) => ({ fill: await attribute(k, '/users/:id') }),
  'POST /projects/:id/repository/commits/:sha/cherry_pick': async (k) => {
    const { id } = await k.post('/projects/:id/repository/commits', {
      branch: `pick${k.n}`,
      start_branch: 'main',
      commit_message: 'x',
      actions: [{ action: 'create', file_path: `picks/${k.n}`, content: 'x' }],
    })
    return { fill: { sha: id }, body: { branch: await newBranch(k) } }
  },
  'POST /projects/:id/repository/commits/:sha/revert': async (k) => {
    const branch = await newBranch(k)
    return { fill: { sha: (await k.get('/projects/:id/repository/branches/:branch', { branch })).commit.id }, body: { branch } }
  },
  'PUT /projects/:id/repository/submodules/:submodule': () => ({ skipped: 'needs a submodule' }),
  'POST /projects/:id/repository/commits/:sha/comments': ({ n }) => ({ body: { note: `A comment, number ${n}` } }),
  'POST /projects/:id/labels/:label_id/subscribe': async (k) => ({ fill: { label_id: await label(k, 'projects') } }),
  'POST /projects/:id/labels/:label_id/unsubscribe': async (k) => {
    const fill = { label_id: await label(k, 'projects') }
    await k.post('/projects/:id/labels/:label_id/subscribe', undefined, fill)
    return { fill }
  },
  'POST /projects/:id/issues': ({ n }) => ({
    body: { title: `Call ${n}`, description: 'As people write them, in a few words.', labels: 'label1,label2' },
  }),
  [`PUT ${ISSUE}`]: ({ n }) => ({ body: { title: `Changed ${n}` } }),
  [`DELETE ${ISSUE}`]: async (k) => ({ fill: await newIssue(k) }),
  [`POST ${ISSUE}/move`]: async (k) => ({ fill: await newIssue(k), body: { to_project_id: k.s.other.id } }),
  [`POST ${ISSUE}/subscribe`]: async (k) => subscribed(k, ISSUE, await newIssue(k), 'unsubscribe'),
  [`POST ${ISSUE}/unsubscribe`]: async (k) => ({ fill: await newIssue(k) }),
  [`POST ${ISSUE}/todo`]: async (k) => ({ fill: await newIssue(k) }),
  ...timesOf(ISSUE),
  'POST /projects/:id/merge_requests': async (k) => ({ body: { title: `Call ${k.n}`, source_branch: await newBranch(k), target_branch: 'main' } }),
  [`PUT ${REQUEST}`]: ({ n }) => ({ body: { title: `Changed ${n}` } }),
  [`DELETE ${REQUEST}`]: async (k) => ({ fill: await newRequest(k) }),
  [`POST ${REQUEST}/subscribe`]: async (k) => subscribed(k, REQUEST, await newRequest(k), 'unsubscribe'),
  [`POST ${REQUEST}/unsubscribe`]: async (k) => ({ fill: await newRequest(k) }),
  [`POST ${REQUEST}/approve`]: async (k) => ({ fill: await newRequest(k) }),
  [`POST ${REQUEST}/unapprove`]: async (k) => {
    const fill = await newRequest(k)
    await k.post(`${REQUEST}/approve`, undefined, fill)
    return { fill }
  },
  [`POST ${REQUEST}/todo`]: async (k) => ({ fill: await newRequest(k) }),
  ...timesOf(REQUEST),
  [`PUT ${REQUEST}/merge`]: async (k) => ({ fill: await newRequest(k), alone: true }),
  [`PUT ${REQUEST}/cancel_merge_when_pipeline_succeeds`]: refused(),
  [`POST ${REQUEST}/cancel_merge_when_pipeline_succeeds`]: refused(),
  [`PUT ${REQUEST}/rebase`]: async (k) => ({ fill: await newRequest(k) }),
  [`POST ${REQUEST}/draft_notes`]: async (k) => ({ fill: await newRequest(k), body: { note: 'x' } }),
  [`PUT ${REQUEST}/draft_notes/:draft_note_id`]: async (k) => ({ fill: await newDraft(k), body: { note: 'y' } }),
  [`DELETE ${REQUEST}/draft_notes/:draft_note_id`]: async (k) => ({ fill: await newDraft(k) }),
  [`PUT ${REQUEST}/draft_notes/:draft_note_id/publish`]: async (k) => ({ fill: await newDraft(k) }),
  [`POST ${REQUEST}/draft_notes/bulk_publish`]: async (k) => ({ fill: await newDraft(k) }),
  'PUT /suggestions/:id/apply': refused({ id: 999_999 }),
  'PUT /suggestions/batch_apply': () => ({ body: { ids: [999_999] }, refused: true }),
  [`PUT ${REQUEST}/discussions/:discussion_id`]: async (k) => {
    const { id } = await k.post(`${REQUEST}/discussions`, { body: 'x' })
    return { fill: { discussion_id: id }, body: { resolved: true } }
  },
  'POST /projects/:id/repository/commits/:sha/discussions': ({ n }) => ({ body: { body: `A thread, number ${n}` } }),
  'POST /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes': ({ n }) => ({ body: { body: `A reply, number ${n}` } }),
  'PUT /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes/:note_id': async (k) => ({
    fill: await onCommit(k),
    body: { body: `changed ${k.n}` },
  }),
  'DELETE /projects/:id/repository/commits/:sha/discussions/:discussion_id/notes/:note_id': async (k) => ({ fill: await onCommit(k) }),
  'POST /todos/:id/mark_as_done': async (k) => ({ fill: { id: (await k.post(`${ISSUE}/todo`, undefined, await newIssue(k))).id } }),
  'POST /todos/mark_as_done': () => ({}),
  'POST /projects/:id/wikis': ({ n }) => ({ body: { title: `call ${n}`, content: 'a' } }),
  'POST /projects/:id/wikis/attachments': ({ n }) => ({ file: `the content of file ${n}` }),
  'PUT /projects/:id/wikis/:slug': ({ n }) => ({ body: { content: `# Home ${n}` }, alone: true }),
  'DELETE /projects/:id/wikis/:slug': async ({ post, n }) => ({
    fill: { slug: (await post('/projects/:id/wikis', { title: `gone ${n}`, content: 'a' })).slug },
  }),
  'POST /snippets': ({ n }) => ({ body: { title: `${n}`, file_name: 'a', content: 'a', visibility: 'private' } }),
  'PUT /snippets/:id': ({ n }) => ({ body: { title: `${n}` } }),
  'DELETE /snippets/:id': async ({ post, n }) => ({
    fill: { id: (await post('/snippets', { title: `${n}`, file_name: 'a', content: 'a', visibility: 'private' })).id },
  }),
  'POST /projects/:id/snippets': ({ n }) => ({ body: { title: `${n}`, file_name: 'a', content: 'a', visibility: 'private' } }),
  'PUT /projects/:id/snippets/:snippet_id': ({ n }) => ({ body: { title: `${n}` } }),
  'DELETE /projects/:id/snippets/:snippet_id': async (k) => ({ fill: await newSnippet(k) }),
  'POST /hooks': () => ({ body: { url: NOWHERE, push_events: false }, few: true }),
  'PUT /hooks/:hook_id': ({ n }) => ({ body: { name: `hook ${n}` } }),
  'DELETE /hooks/:hook_id': async ({ post }) => ({ fill: { hook_id: (await post('/hooks', { url: NOWHERE, push_events: false })).id } }),
  'POST /hooks/:hook_id': refused(),
  'POST /hooks/:hook_id/events/:hook_event_id/resend': async ({ get, post }) => {
    await post('/hooks/:hook_id', undefined).catch(() => undefined)
    return { fill: { hook_event_id: (await get('/hooks/:hook_id/events'))[0]?.id ?? 1 }, refused: true }
  },
  'POST /projects/:id/issues/:issue_iid/links': async (k) => {
    const { id, iid, other } = await twoIssues(k)
    return { fill: { id, issue_iid: iid }, body: { target_project_id: id, target_issue_iid: other } }
  },
  'DELETE /projects/:id/issues/:issue_iid/links/:issue_link_id': async (k) => ({ fill: await issueLink(k) }),
  'POST /projects/:id/housekeeping': {},
  'PUT /projects/:id/labels/:label_id/promote': async (k) => ({ fill: await inOwnGroup(k, 'labels', { name: `call ${k.n}`, color: '#112233' }) }),
  'POST /projects/:id/milestones/:milestone_id/promote': async (k) => ({ fill: await inOwnGroup(k, 'milestones', { title: `call ${k.n}` }) }),
  'POST /groups/:id/labels/:label_id/subscribe': async (k) => ({ fill: { label_id: await label(k, 'groups') } }),
  'POST /groups/:id/labels/:label_id/unsubscribe': async (k) => {
    const fill = { label_id: await label(k, 'groups') }
    await k.post('/groups/:id/labels/:label_id/subscribe', {}, fill)
    return { fill }
  },
  'DELETE /users/:id/identities/:provider': async (k) => {
    const id = await newUser(k)
    await k.put('/users/:id', { provider: 'github', extern_uid: `call ${k.n}` }, { id })
    return { fill: { id, provider: 'github' } }
  },
  'POST /deploy_keys': ({ n }) => ({ body: { title: `${n}`, key: sshKey() } }),
  'DELETE /projects/:id/packages/:package_id': async (k) => ({ fill: await newPackage(k) }),
  'DELETE /projects/:id/packages/:package_id/package_files/:package_file_id': async (k) => ({ fill: await newPackage(k) }),
  'DELETE /projects/:id/registry/repositories/:repository_id': async (k) => ({ fill: await newImage(k) }),
  'DELETE /projects/:id/registry/repositories/:repository_id/tags': async (k) => ({ fill: await newImage(k), query: '?name_regex_delete=.*' }),
  'DELETE /projects/:id/registry/repositories/:repository_id/tags/:tag_name': async (k) => ({ fill: await newTag(k) }),
  'POST /projects/:id/deploy_keys': ({ n }) => ({ body: { title: `${n}`, key: sshKey() } }),
  'PUT /projects/:id/deploy_keys/:key_id': ({ n }) => ({ body: { title: `${n}` } }),
  'DELETE /projects/:id/deploy_keys/:key_id': async ({ post }) => ({
    fill: { key_id: (await post('/projects/:id/deploy_keys', { title: 'x', key: sshKey() })).id },
  }),
  'POST /projects/:id/deploy_keys/:key_id/enable': async (k) => ({ fill: await newProject(k) }),
  'PUT /application/settings': ({ n }) => ({ body: { default_projects_limit: 100_000 + n } }),
}

async function subscribed(k, at, fill, former) {
  await k.post(`${at}/${former}`, undefined, fill)
  return { fill }
}

function timesOf(at) {
  const fresh = at === ISSUE ? newIssue : newRequest
  return {
    [`POST ${at}/time_estimate`]: () => ({ body: { duration: '1h' } }),
    [`POST ${at}/reset_time_estimate`]: async (k) => ({ fill: await fresh(k) }),
    [`POST ${at}/add_spent_time`]: () => ({ body: { duration: '1h' } }),
    [`POST ${at}/reset_spent_time`]: async (k) => ({ fill: await fresh(k) }),
  }
}

async function onCommit(k) {
  const { id, notes } = await k.post('/projects/:id/repository/commits/:sha/discussions', { body: 'x' })
  return { discussion_id: id, note_id: notes[0].id }
}

/** How to call each API operation; `npm run check` finds operations without a row. */
export const CALLS = { ...READS, ...WRITES }

/** Path parameters that refer to the seeded data. */
function seededFill(path, s) {
  const on = /issues\/:issue_iid/.test(path) ? 'issues/1' : /merge_requests\/:merge/.test(path) ? 'merge_requests/1' : `snippets/${s.snippet.id}`
  const at = path.startsWith('/groups') ? `/groups/${s.group.id}` : path.startsWith('/projects') ? s.p : ''
  const commit = path.includes('/commits/:sha/discussions')
  const ofUser = path.startsWith('/users')
  return {
    id: idOf(path, s),
    user_id: s.user.id,
    group_id: s.group.id,
    issue_iid: 1,
    merge_request_iid: 1,
    snippet_id: s.snippet.id,
    award_id: path.includes('/notes/:note_id/award') ? s.awards[on].onNote : s.awards[on].award,
    note_id: commit ? s.comment.notes[0].id : s.awards[on].note,
    discussion_id: commit ? s.comment.id : s.awards[on].discussion,
    milestone_id: at.startsWith('/groups') ? s.groupMilestone.id : s.milestone.id,
    label_id: at.startsWith('/groups') ? s.groupLabel : s.label,
    ...s.boards[at],
    badge_id: s.badges[at],
    mirror_id: s.mirror.id,
    package_id: s.package,
    repository_id: s.image,
    hook_id: s.hooks[at],
    token_id: s.tokens[at],
    key_id: path.includes('gpg_keys')
      ? s.gpgKeys[ofUser ? 'other' : 'own'].id
      : path.includes('deploy_keys')
        ? s.deployKey.id
        : (ofUser ? s.otherKey : s.ownKey).id,
    email_id: s.email.id,
    impersonation_token_id: s.impersonation.id,
    pipeline_id: s.pipeline.id,
    job_id: s.job.id,
    version_id: s.version,
    link_id: s.link.id,
    key: path.includes('custom_attributes') ? 'key' : 'KEY',
    name: path.includes('protected_tags') ? 'v*' : 'main',
    tag_name: 'v1',
    sha: path.includes('/blobs/') ? s.oid : s.head,
    branch: 'main',
    file_path: s.file,
    format: 'tar',
    slug: path.includes('/wikis/') ? 'home' : 'external-wiki',
  }
}

function idOf(path, s) {
  if (path.startsWith('/projects')) return s.project.id
  if (path.startsWith('/groups') || path.startsWith('/namespaces')) return s.group.id
  if (path.startsWith('/keys')) return s.ownKey.id
  if (path.startsWith('/registry')) return s.image
  if (path.startsWith('/snippets')) return s.own.id
  return path.startsWith('/personal_access_tokens') ? s.ownToken.id : s.user.id
}

/** The URL of an operation; values in `fill` override those of the seeded data. */
export function addressOf(path, s, fill = {}, query = '') {
  const values = { ...seededFill(path, s), ...fill }
  return `${path.replace(/:([a-z_]+)/g, (_, name) => encodeURIComponent(values[name]))}${query}`
}
