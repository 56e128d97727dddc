import type { Endpoint } from '../http/endpoint.js'

const PROJECTS = [
  'GET /projects',
  'GET /users/:user_id/projects',
  'GET /projects/:id/forks',
  'GET /groups/:id/projects',
  'GET /groups/:id/projects/shared',
]
const ISSUES = ['GET /issues', 'GET /groups/:id/issues', 'GET /projects/:id/issues']
const MERGE_REQUESTS = ['GET /merge_requests', 'GET /groups/:id/merge_requests', 'GET /projects/:id/merge_requests']
const onBoth = (call: (of: string) => string) => ['/projects/:id', '/groups/:id'].map(call)
const NOTES = ['issues/:issue_iid', 'merge_requests/:merge_request_iid', 'snippets/:snippet_id'].map((of) => `/projects/:id/${of}/notes`)

/**
 * Parameters of the v4 API that narrow or withhold and are not done, with the values that ask for what happens anyway
 * (NP-1, NP-3). docs/spec/narrowing.md has the same table, with reasons; its test compares them.
 */
const UNSUPPORTED: { of: string[]; parameters: Record<string, string[]> }[] = [
  { of: PROJECTS, parameters: { repository_storage: [], repository_checksum_failed: ['false'], wiki_checksum_failed: ['false'] } },
  { of: ['GET /groups/:id/projects'], parameters: { with_security_reports: ['false'] } },
  { of: ['GET /projects/:id/groups'], parameters: { with_shared: ['false'], shared_min_access_level: [], shared_visible_only: ['false'] } },
  { of: ['GET /users'], parameters: { without_projects: ['false'], skip_ldap: ['false'], saml_provider_id: [] } },
  { of: ISSUES, parameters: { issue_type: ['issue'], weight: [], epic_id: [], iteration_id: [], iteration_title: [] } },
  { of: MERGE_REQUESTS, parameters: { deployed_before: [], deployed_after: [], environment: [], approver_ids: [] } },
  { of: ['GET /projects/:id/repository/branches'], parameters: { page_token: [] } },
  {
    of: onBoth((at) => `GET ${at}/members`),
    parameters: { with_saml_identity: ['false'] },
  },
  { of: onBoth((at) => `DELETE ${at}/members/:user_id`), parameters: { skip_subresources: ['true'], unassign_issuables: ['false'] } },
  { of: ['POST /users'], parameters: { force_random_password: ['false'] } },
  {
    of: ['POST /groups', 'PUT /groups/:id'],
    parameters: {
      membership_lock: ['false'],
      wiki_access_level: ['disabled'],
      enabled_git_access_protocol: ['all'],
      prevent_sharing_groups_outside_hierarchy: ['false'],
      prevent_forking_outside_group: ['false'],
      ip_restriction_ranges: [],
      shared_runners_setting: ['enabled'],
      shared_runners_minutes_limit: [],
      extra_shared_runners_minutes_limit: [],
      file_template_project_id: [],
    },
  },
  {
    of: ['POST /projects', 'POST /projects/user/:user_id', 'PUT /projects/:id'],
    parameters: {
      approvals_before_merge: ['0'],
      merge_pipelines_enabled: ['false'],
      merge_trains_enabled: ['false'],
      auto_devops_enabled: ['false'],
      auto_devops_deploy_strategy: ['continuous'],
      service_desk_enabled: ['false'],
      requirements_access_level: ['disabled'],
      issues_template: [],
      merge_requests_template: [],
      external_authorization_classification_label: [],
    },
  },
  {
    of: ['POST /projects', 'POST /projects/user/:user_id'],
    parameters: { template_name: [], group_with_project_templates_id: [] },
  },
  {
    of: ['services', 'integrations'].map((name) => `PUT /projects/:id/${name}/:slug`),
    parameters: {
      send_from_committer_email: ['false'],
      jira_issue_transition_automatic: ['false'],
      jira_issue_prefix: [],
      jira_issue_regex: [],
      labels_to_be_notified: [],
      use_inherited_settings: ['false'],
    },
  },
  { of: ['POST /projects/:id/fork'], parameters: { mr_default_target_self: ['false'] } },
  {
    of: ['POST /projects/:id/protected_branches'],
    parameters: {
      allowed_to_push: [],
      allowed_to_merge: [],
      allowed_to_unprotect: [],
      unprotect_access_level: ['40'],
      code_owner_approval_required: ['false'],
    },
  },
  { of: ['PATCH /projects/:id/protected_branches/:name'], parameters: { allowed_to_unprotect: [], code_owner_approval_required: ['false'] } },
  { of: ['POST /projects/:id/protected_tags'], parameters: { allowed_to_create: [] } },
  {
    of: ['POST /projects/:id/protected_environments', 'PUT /projects/:id/protected_environments/:name'],
    parameters: { required_approval_count: ['0'], approval_rules: [] },
  },
  { of: ['POST /features/:name'], parameters: { feature_group: [], namespace: [], repository: [] } },
  // legacy flags have scopes themselves
  { of: ['POST /projects/:id/feature_flags'], parameters: { scopes: [] } },
  { of: ['POST /projects/:id/repository/commits'], parameters: { start_project: [] } },
  { of: ['POST /projects/:id/merge_requests', 'PUT /projects/:id/merge_requests/:merge_request_iid'], parameters: { approvals_before_merge: ['0'] } },
  { of: ['PUT /projects/:id/merge_requests/:merge_request_iid/merge'], parameters: { skip_merge_train: ['false'] } },
  { of: ['POST /projects/:id/merge_requests/:merge_request_iid/approve'], parameters: { approval_password: [] } },
  { of: ['POST /projects/:id/issues', 'PUT /projects/:id/issues/:issue_iid'], parameters: { issue_type: ['issue'] } },
  { of: [...NOTES.map((path) => `POST ${path}`), ...NOTES.map((path) => `PUT ${path}/:note_id`)], parameters: { confidential: ['false'] } },
]

/** Adds to the endpoints what they refuse. */
export function withUnsupported(endpoints: Endpoint[]): Endpoint[] {
  return endpoints.map((each) => {
    const refused = UNSUPPORTED.filter(({ of }) => of.includes(`${each.method} ${each.path}`)).map(({ parameters }) => parameters)
    return refused.length === 0 ? each : { ...each, refuses: Object.assign({}, ...refused) as Record<string, string[]> }
  })
}
