import { describe, expect, it } from 'vitest'
import { families } from '../src/routes/index.js'

/** The contract's endpoints, row by row. */
const CONTRACT = [
  'GET /search',
  'GET /groups/:id/-/search',
  'GET /projects/:id/-/search',
  'GET /projects/:id/repository/commits',
  'POST /projects/:id/repository/commits',
  'GET /projects/:id/repository/commits/:sha',
  'POST /projects/:id/repository/commits/:sha/cherry_pick',
  'GET /projects/:id/repository/commits/:sha/diff',
  'GET /projects/:id/repository/commits/:sha/comments',
  'POST /projects/:id/repository/commits/:sha/comments',
  'GET /projects/:id/repository/commits/:sha/statuses',
  'POST /projects/:id/statuses/:sha',
  'GET /users',
  'GET /users/:id',
  'POST /users',
  'PUT /users/:id',
  'DELETE /users/:id',
  'GET /user',
  'GET /user/activities',
  'POST /users/:id/block',
  'POST /users/:id/unblock',
  'GET /user/keys',
  'GET /users/:id/keys',
  'GET /user/keys/:key_id',
  'POST /user/keys',
  'POST /users/:id/keys',
  'DELETE /user/keys/:key_id',
  'DELETE /users/:id/keys/:key_id',
  'GET /user/gpg_keys',
  'GET /user/gpg_keys/:key_id',
  'POST /user/gpg_keys',
  'DELETE /user/gpg_keys/:key_id',
  'GET /users/:id/gpg_keys',
  'GET /users/:id/gpg_keys/:key_id',
  'POST /users/:id/gpg_keys',
  'DELETE /users/:id/gpg_keys/:key_id',
  'GET /user/emails',
  'GET /users/:id/emails',
  'GET /user/emails/:email_id',
  'POST /user/emails',
  'POST /users/:id/emails',
  'DELETE /user/emails/:email_id',
  'DELETE /users/:id/emails/:email_id',
  'GET /users/:user_id/impersonation_tokens',
  'GET /users/:user_id/impersonation_tokens/:impersonation_token_id',
  'POST /users/:user_id/impersonation_tokens',
  'DELETE /users/:user_id/impersonation_tokens/:impersonation_token_id',
  'GET /groups',
  'GET /groups/:id/subgroups',
  'GET /groups/:id/projects',
  'GET /groups/:id',
  'POST /groups',
  'POST /groups/:id/projects/:project_id',
  'PUT /groups/:id',
  'DELETE /groups/:id',
  'GET /merge_requests',
  'GET /projects/:id/merge_requests',
  'GET /projects/:id/merge_requests/:merge_request_iid',
  'GET /projects/:id/merge_requests/:merge_request_iid/participants',
  'GET /projects/:id/merge_requests/:merge_request_iid/commits',
  'GET /projects/:id/merge_requests/:merge_request_iid/changes',
  'GET /projects/:id/merge_requests/:merge_request_iid/pipelines',
  'POST /projects/:id/merge_requests',
  'PUT /projects/:id/merge_requests/:merge_request_iid',
  'DELETE /projects/:id/merge_requests/:merge_request_iid',
  'PUT /projects/:id/merge_requests/:merge_request_iid/merge',
  'PUT /projects/:id/merge_requests/:merge_request_iid/cancel_merge_when_pipeline_succeeds',
  'GET /projects/:id/merge_requests/:merge_request_iid/closes_issues',
  'POST /projects/:id/merge_requests/:merge_request_iid/subscribe',
  'POST /projects/:id/merge_requests/:merge_request_iid/unsubscribe',
  'POST /projects/:id/merge_requests/:merge_request_iid/todo',
  'GET /projects/:id/merge_requests/:merge_request_iid/versions',
  'GET /projects/:id/merge_requests/:merge_request_iid/versions/:version_id',
  'POST /projects/:id/merge_requests/:merge_request_iid/time_estimate',
  'POST /projects/:id/merge_requests/:merge_request_iid/reset_time_estimate',
  'POST /projects/:id/merge_requests/:merge_request_iid/add_spent_time',
  'POST /projects/:id/merge_requests/:merge_request_iid/reset_spent_time',
  'GET /projects/:id/merge_requests/:merge_request_iid/time_stats',
  'GET /application/settings',
  'PUT /application/settings',
  'GET /projects/:id/variables',
  'GET /projects/:id/variables/:key',
  'POST /projects/:id/variables',
  'PUT /projects/:id/variables/:key',
  'DELETE /projects/:id/variables/:key',
]

/** The contract says what a parameter is in words; we may say it in the path (`:id(^\\d+$)`, G-3). */
const declared = families.flat().map(({ method, path }) => `${method} ${path.replace(/\([^/]*\)/g, '')}`)

describe('the contract', () => {
  it('has 85 endpoints', () => {
    expect(new Set(CONTRACT).size).toBe(85)
  })

  it('is declared, every row of it, by its own parameters', () => {
    const own = new Set(declared)
    expect(CONTRACT.filter((row) => !own.has(row))).toEqual([])
  })

  it('declares no endpoint twice', () => {
    expect(declared.filter((row, i) => declared.indexOf(row) !== i)).toEqual([])
  })
})
