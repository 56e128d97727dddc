/**
 * Who gets what, by the rule that a route declares (companions 5, behaviours 1.10, SEC-30).
 *
 * `in`: past the door, whatever is said behind it; a number: turned away with it. One row for each visibility of the
 * project or group; the columns are those of CALLERS. On somebody else's project or group every role is a mere `user`.
 */
export const CALLERS = ['anonymous', 'external', 'user', 'guest', 'reporter', 'developer', 'maintainer', 'owner', 'admin'] as const

export interface Rows {
  private: string
  internal: string
  public: string
}

const always = (row: string): Rows => ({ private: row, internal: row, public: row })

export const MATRIX: Record<string, Rows> = {
  //                         anon ext  user gues repo deve main owne admi
  anyone: always('in   in   in   in   in   in   in   in   in'),
  'signed in': always('401  in   in   in   in   in   in   in   in'),
  'signed in, self': always('401  in   in   in   in   in   in   in   in'),
  // it finds the merge request by the suggestion, and there is none of this number
  'signed in, merge request of the suggestion: create_note': always('401 in in in in in in in in'),
  administrator: always('401  403  403  403  403  403  403  403  in'),
  'administrator, before parameters': always('401 403 403 403 403 403 403 403 in'),
  'administrator, user': always('401 403 403 403 403 403 403 403 in'),
  'administrator, any user': always('401 403 403 403 403 403 403 403 in'),
  'administrator, any group': always('401 403 403 403 403 403 403 403 in'),
  'administrator, any project': always('401 403 403 403 403 403 403 403 in'),

  'project: read_project': {
    private: '404  404  404  in   in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'project: download_code': {
    private: '404  404  404  403  in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'project: read_package': {
    private: '404  404  404  403  in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'project: read_image': {
    private: '404  404  404  403  in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'signed in, project: destroy_package': {
    private: '401  404  404  403  403  403  in   in   in',
    internal: '401  404  403  403  403  403  in   in   in',
    public: '401  403  403  403  403  403  in   in   in',
  },
  'signed in, project: admin_package': {
    private: '401  404  404  403  403  403  in   in   in',
    internal: '401  404  403  403  403  403  in   in   in',
    public: '401  403  403  403  403  403  in   in   in',
  },
  'signed in, project: destroy_image_repository': {
    private: '401  404  404  403  403  403  in   in   in',
    internal: '401  404  403  403  403  403  in   in   in',
    public: '401  403  403  403  403  403  in   in   in',
  },
  'project: read_contributors': {
    private: '404  404  404  403  in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'signed in, project: download_code': {
    private: '401  404  404  403  in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  in   in   in   in   in   in   in   in',
  },
  // anonymous commits and cherry-picks are looked up before anybody asks who calls (C-16, W-37)
  'project: push_code': {
    private: '404  404  404  403  403  in   in   in   in',
    internal: '404  404  403  403  403  in   in   in   in',
    public: '403  403  403  403  403  in   in   in   in',
  },
  ...each(
    [
      'push_code',
      'read_fetches',
      'create_branch',
      'create_tag',
      'manage_release',
      'create_commit_status',
      'cancel_pipeline',
      'create_pipeline',
      'update_build',
      'manage_environment',
      'read_feature_flag',
      'manage_feature_flag',
      'write_wiki',
      'destroy_image',
    ],
    {
      private: '401  404  404  403  403  in   in   in   in',
      internal: '401  404  403  403  403  in   in   in   in',
      public: '401  403  403  403  403  in   in   in   in',
    },
  ),
  'signed in, project: comment_on_commit': {
    private: '401  404  404  403  in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  in   in   in   in   in   in   in   in',
  },
  'signed in, project: fork': {
    private: '401  404  404  403  in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  in   in   in   in   in   in   in   in',
  },
  'project: read_wiki': {
    private: '404  404  404  in   in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  ...Object.fromEntries(
    ['project: read_issue', 'issue: read_issue'].map((rule) => [
      rule,
      {
        private: '404  404  404  in   in   in   in   in   in',
        internal: '404  404  in   in   in   in   in   in   in',
        public: 'in   in   in   in   in   in   in   in   in',
      },
    ]),
  ),
  ...each(
    ['project: read_project', 'project: read_issue', 'project: create_issue', 'issue: read_issue', 'group: read_group'],
    {
      private: '401  404  404  in   in   in   in   in   in',
      internal: '401  404  in   in   in   in   in   in   in',
      public: '401  in   in   in   in   in   in   in   in',
    },
    null,
  ),
  ...each(
    ['issue: update_issue', 'issue: move_issue', 'issue: manage_issue', 'project: manage_issue', 'project: manage_label', 'group: manage_label'],
    {
      private: '401  404  404  403  in   in   in   in   in',
      internal: '401  404  403  403  in   in   in   in   in',
      public: '401  403  403  403  in   in   in   in   in',
    },
    null,
  ),
  ...each(
    ['project: manage_milestone', 'group: manage_milestone'],
    {
      private: '401  404  404  403  403  in   in   in   in',
      internal: '401  404  403  403  403  in   in   in   in',
      public: '401  403  403  403  403  in   in   in   in',
    },
    null,
  ),
  'signed in, issue: admin_issue': {
    private: '401  404  404  403  403  403  403  in   in',
    internal: '401  404  403  403  403  403  403  in   in',
    public: '401  403  403  403  403  403  403  in   in',
  },
  // hidden and missing differ in the guests' refusals alone: chapter 9 of the behaviours
  ...each(
    ['project: read_merge_request', 'merge request: read_merge_request', 'merge request: create_note', 'merge request: award_emoji'],
    {
      private: '401  404  404  403  in   in   in   in   in',
      internal: '401  404  in   in   in   in   in   in   in',
      public: '401  in   in   in   in   in   in   in   in',
    },
    null,
  ),
  ...each(
    ['merge request: read_merge_request, hidden is missing'],
    {
      private: '401  404  404  in   in   in   in   in   in',
      internal: '401  404  in   in   in   in   in   in   in',
      public: '401  in   in   in   in   in   in   in   in',
    },
    null,
  ),
  ...each(
    ['project: create_merge_request', 'merge request: update_merge_request', 'merge request: approve_merge_request'],
    {
      private: '401  404  404  403  403  in   in   in   in',
      internal: '401  404  403  403  403  in   in   in   in',
      public: '401  403  403  403  403  in   in   in   in',
    },
    null,
  ),
  // who may not even read it finds nothing there
  'signed in, merge request: update_merge_request, hidden is missing': {
    private: '401  404  404  in   403  in   in   in   in',
    internal: '401  404  403  403  403  in   in   in   in',
    public: '401  403  403  403  403  in   in   in   in',
  },
  'signed in, merge request: destroy_merge_request, hidden is missing': {
    private: '401  404  404  in   403  403  403  in   in',
    internal: '401  404  403  403  403  403  403  in   in',
    public: '401  403  403  403  403  403  403  in   in',
  },
  ...each(
    ['issue: create_note', 'issue: award_emoji', 'snippet: read_snippet', 'snippet: create_note', 'snippet: award_emoji'],
    {
      private: '401  404  404  in   in   in   in   in   in',
      internal: '401  404  in   in   in   in   in   in   in',
      public: '401  in   in   in   in   in   in   in   in',
    },
    null,
  ),
  'signed in, merge request: accept_merge_request, hidden is missing, else 401': {
    private: '401  404  404  in   401  in   in   in   in',
    internal: '401  404  401  401  401  in   in   in   in',
    public: '401  401  401  401  401  in   in   in   in',
  },
  'signed in, project: create_snippet': {
    private: '401  404  404  403  in   in   in   in   in',
    internal: '401  404  403  403  in   in   in   in   in',
    public: '401  403  403  403  in   in   in   in   in',
  },
  // jobs are public in the projects of this test
  ...each(['read_member', 'read_label', 'read_milestone', 'star', 'read_snippet', 'read_pipeline', 'read_environment', 'upload_file'], {
    private: '401  404  404  in   in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  in   in   in   in   in   in   in   in',
  }),
  // who has a level has nothing to ask for (AR-2)
  'signed in, project: request_access': {
    private: '401  404  404  403  403  403  403  403  403',
    internal: '401  404  in   403  403  403  403  403  403',
    public: '401  in   in   403  403  403  403  403  403',
  },
  ...each(
    [
      'manage_project',
      'manage_members',
      'manage_protection',
      'manage_shares',
      'delete_tag',
      'delete_protected_branch',
      'delete_wiki_page',
      'manage_variables',
      'manage_runners',
      'admin_pipeline',
      'delete_deployment',
      'manage_feature_flag_client',
      'manage_hooks',
      'manage_mirrors',
      'manage_deploy_keys',
      'link_fork',
    ],
    {
      private: '401  404  404  403  403  403  in   in   in',
      internal: '401  404  403  403  403  403  in   in   in',
      public: '401  403  403  403  403  403  in   in   in',
    },
  ),
  ...each(['archive_project', 'remove_project', 'delete_pipeline', 'transfer_project', 'unlink_fork', 'change_visibility', 'rename_project'], {
    private: '401  404  404  403  403  403  403  in   in',
    internal: '401  404  403  403  403  403  403  in   in',
    public: '401  403  403  403  403  403  403  in   in',
  }),

  'group: read_group': {
    private: '404  404  404  in   in   in   in   in   in',
    internal: '404  404  in   in   in   in   in   in   in',
    public: 'in   in   in   in   in   in   in   in   in',
  },
  'signed in, group: read_member': {
    private: '401  404  404  in   in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  in   in   in   in   in   in   in   in',
  },
  'signed in, group: request_access': {
    private: '401  404  404  403  403  403  403  403  403',
    internal: '401  404  in   403  403  403  403  403  403',
    public: '401  in   in   403  403  403  403  403  403',
  },
  ...each(
    ['create_project', 'manage_variables', 'manage_deploy_tokens'],
    {
      private: '401  404  404  403  403  403  in   in   in',
      internal: '401  404  403  403  403  403  in   in   in',
      public: '401  403  403  403  403  403  in   in   in',
    },
    'group',
  ),
  ...each(
    ['create_subgroup', 'manage_group', 'manage_members', 'manage_hooks', 'manage_runners', 'remove_group'],
    {
      private: '401  404  404  403  403  403  403  in   in',
      internal: '401  404  403  403  403  403  403  in   in',
      public: '401  403  403  403  403  403  403  in   in',
    },
    'group',
  ),
}

/** Routes that check more than their rule: removing another member needs the right to manage members (ME-7, AR-4); a root group needs the right to make groups (GR-21); neither issues nor users are listed without a caller (IS-2, U-8); a snippet that is there is deleted by its author and by callers who manage all snippets (5.1 row 14); external users fork nothing (AC-8); a deferred merge is cancelled by callers who may merge, or the author (MR-77), and a source branch rebased by callers who may push to it (X-8); of tokens that are not one's own nothing is said (companions 3.5); clients of feature flags have a token of the project (FF-10). */
export const CLOSER: Record<string, Rows> = {
  'DELETE /projects/:id/members/:user_id': MATRIX['signed in, project: manage_members'] as Rows,
  'DELETE /projects/:id/access_requests/:user_id': MATRIX['signed in, project: manage_members'] as Rows,
  'DELETE /groups/:id/members/:user_id': MATRIX['signed in, group: manage_members'] as Rows,
  'DELETE /groups/:id/access_requests/:user_id': MATRIX['signed in, group: manage_members'] as Rows,
  'DELETE /projects/:id/snippets/:snippet_id': MATRIX['signed in, project: manage_project'] as Rows,
  // the token of the project is asked for, for every caller (FF-10)
  ...Object.fromEntries(
    ['GET ', 'GET /features', 'GET /client/features', 'POST /client/register', 'POST /client/metrics'].map((call) => [
      call.replace(' ', ' /feature_flags/unleash/:project_id'),
      always('401  401  401  401  401  401  401  401  401'),
    ]),
  ),
  'GET /issues': always('401  in   in   in   in   in   in   in   in'),
  'GET /issues_statistics': always('401  in   in   in   in   in   in   in   in'),
  'GET /users': always('403  in   in   in   in   in   in   in   in'),
  'GET /personal_access_tokens/:id': always('401 401 401 401 401 401 401 401 in'),
  'DELETE /personal_access_tokens/:id': always('401 401 401 401 401 401 401 401 in'),
  'POST /personal_access_tokens/:id/rotate': always('401 401 401 401 401 401 401 401 in'),
  'POST /groups': always('401  403  in   in   in   in   in   in   in'),
  'PUT /projects/:id/merge_requests/:merge_request_iid/cancel_merge_when_pipeline_succeeds': MATRIX[
    'signed in, merge request: accept_merge_request, hidden is missing, else 401'
  ] as Rows,
  'POST /projects/:id/merge_requests/:merge_request_iid/cancel_merge_when_pipeline_succeeds': MATRIX[
    'signed in, merge request: accept_merge_request, hidden is missing, else 401'
  ] as Rows,
  'PUT /projects/:id/merge_requests/:merge_request_iid/rebase': {
    private: '401  404  404  in   403  in   in   in   in',
    internal: '401  404  403  403  403  in   in   in   in',
    public: '401  403  403  403  403  in   in   in   in',
  },
  'POST /projects/:id/fork': {
    private: '401  404  404  403  in   in   in   in   in',
    internal: '401  404  in   in   in   in   in   in   in',
    public: '401  403  in   in   in   in   in   in   in',
  },
}

/** Parameters that a route needs before it looks at the caller: groups read their parameters first (G-10, G-11), and so do administrators' routes. */
export const BODIES: Record<string, object> = {
  // of a GET it is the query
  ...Object.fromEntries(['', '/-'].map((dash) => [`GET /groups/:id${dash}/search`, { scope: 'projects', search: 'x' }])),
  ...Object.fromEntries(['', '/-'].map((dash) => [`GET /projects/:id${dash}/search`, { scope: 'issues', search: 'x' }])),
  'POST /groups': { name: '', path: '' },
  'POST /groups/:id/hooks': { url: 'http://example.com' },
  'POST /hooks': { url: 'http://example.com' },
  'POST /broadcast_messages': { message: 'x' },
  'POST /topics': { name: ' ', title: ' ' },
  'POST /topics/merge': { source_topic_id: 999_999, target_topic_id: 999_999 },
  'POST /groups/:id/labels': { name: 'x', color: '#000' },
  'PUT /groups/:id/labels': { name: '999999', new_name: 'x' },
  'PUT /groups/:id/labels/:label_id': { new_name: 'x' },
  'DELETE /groups/:id/labels': { name: '999999' },
  'POST /groups/:id/badges': { link_url: 'x', image_url: 'x' },
  // of a GET it is the query
  'GET /groups/:id/badges/render': { link_url: 'https://example.com', image_url: 'https://example.com' },
  'GET /projects/:id/badges/render': { link_url: 'https://example.com', image_url: 'https://example.com' },
  'POST /groups/:id/boards': { name: ' ' },
  'POST /groups/:id/boards/:board_id/lists': { label_id: 999_999 },
  'PUT /groups/:id/boards/:board_id/lists/:list_id': { position: 0 },
  'POST /groups/:id/milestones': { title: '' },
  'PUT /groups/:id/milestones/:milestone_id': { title: 'x' },
  'DELETE /projects/:id/registry/repositories/:repository_id/tags': { name_regex_delete: 'x' },
  'POST /projects/:id/statuses/:sha': { state: 'success' },
  'PUT /projects/:id/merge_requests/:merge_request_iid': { title: 'One' },
  'POST /projects/:id/merge_requests/:merge_request_iid/time_estimate': { duration: '1h' },
  'POST /projects/:id/merge_requests/:merge_request_iid/add_spent_time': { duration: '1h' },
  'POST /projects/:id/merge_requests': { title: 'x', source_branch: 'a', target_branch: 'a' },
  'POST /groups/:id/variables': { key: 'x', value: 'x' },
  'PUT /groups/:id/variables/:key': { value: 'x' },
  'POST /groups/:id/deploy_tokens': { name: 'x', scopes: [] },
  'POST /groups/:id/access_tokens': { name: 'x', scopes: [] },
  'POST /deploy_keys': { title: 'x', key: 'x' },
  // of a GET it is the query
  'GET /keys': { fingerprint: 'x' },
  // refused behind the door, by its day, before the other group is looked for
  'POST /groups/:id/share': { group_id: 999_999, group_access: 10, expires_at: '2001-01-01' },
  'POST /groups/:id/members': { user_id: 999_999, access_level: 10 },
  'PUT /groups/:id/members/:user_id': { access_level: 10 },
  'POST /groups/:id/invitations': { email: 'x', access_level: 10 },
  'PUT /groups/:id/invitations/:email': { access_level: 10 },
  'PUT /groups/:id/custom_attributes/:key': { value: 'x' },
  'PUT /projects/:id/custom_attributes/:key': { value: 'x' },
  'PUT /users/:id/custom_attributes/:key': { value: 'x' },
  ...Object.fromEntries(
    ['', '/notes/:note_id'].map((on) => [`POST /projects/:id/merge_requests/:merge_request_iid${on}/award_emoji`, { name: 'nothing' }]),
  ),
  'POST /projects/:id/merge_requests/:merge_request_iid/notes': { body: '' },
  'PUT /projects/:id/merge_requests/:merge_request_iid/notes/:note_id': { body: '' },
  'POST /projects/:id/merge_requests/:merge_request_iid/discussions': { body: '' },
  'PUT /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id': { resolved: true },
  'POST /projects/:id/merge_requests/:merge_request_iid/draft_notes': { note: '' },
  'PUT /projects/:id/merge_requests/:merge_request_iid/draft_notes/:draft_note_id': { note: '' },
  'PUT /suggestions/batch_apply': { ids: [999_999] },
  'POST /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes': { body: '' },
  'PUT /projects/:id/merge_requests/:merge_request_iid/discussions/:discussion_id/notes/:note_id': { resolved: true },
  'POST /users': { email: 'x', username: 'x', name: 'x', password: 'x' },
  'POST /users/:id/emails': { email: 'x' },
  'POST /users/:id/keys': { title: 'x', key: 'x' },
  'POST /users/:id/gpg_keys': { key: 'x' },
  'POST /users/:user_id/personal_access_tokens': { name: 'x', scopes: ['api'] },
  'POST /applications': { name: 'x', redirect_uri: 'x', scopes: 'x' },
  'POST /projects/user/:user_id': { name: 'x' },
}

/** The same rows for several abilities of signed-in callers. */
function each(abilities: string[], rows: Rows, kind: string | null = 'project'): Record<string, Rows> {
  return Object.fromEntries(abilities.map((ability) => [`signed in, ${kind === null ? '' : `${kind}: `}${ability}`, rows]))
}

/** What may also be asked about what waits for its removal is allowed as any other; `deleted.test.ts` has the rest. */
export const rowOf = (rule: string) => rule.replace(', also deleted', '')
