import { describe, expect, it } from 'vitest'
import { SERVICES } from '../../src/services/integrations/catalogue.js'
import type { Payload } from '../../src/services/integrations/payload.js'

const project = { id: 1, name: 'P', namespace: 'G', path_with_namespace: 'g/p', web_url: 'https://r.org/g/p', default_branch: 'main' }
const push = (message: string, ref = 'refs/heads/main'): Payload => ({
  ...{ object_kind: 'push', ref, before: 'a'.repeat(40), after: 'b'.repeat(40), checkout_sha: null, total_commits_count: 1, project },
  ...{ user_name: 'Ann', user_username: 'ann', user_avatar: null },
  commits: [{ id: 'b'.repeat(40), title: message, message, url: 'https://r.org/c', author: { name: 'Ann', email: 'a@x.org' } }],
})
const sender = (slug: string) => SERVICES.get(slug)?.sender ?? expect.fail('no sender')

describe('services that are at one address', () => {
  it('Asana: comments on tasks, and completes those that a commit closes (SV-24)', () => {
    const requests = (message: string, more = {}) =>
      sender('asana')
        .requests(push(message), { api_key: 'k', ...more })
        .map(({ to }) => to)
    expect(sender('asana').address({})).toBe('https://app.asana.com/api/1.0')
    expect(sender('asana').bearer?.({ api_key: 'k' })).toBe('k')
    expect(requests('fix #12345, see https://app.asana.com/0/99/678')).toEqual([
      'POST tasks/12345/stories',
      'PUT tasks/12345',
      'POST tasks/678/stories',
    ])
    expect(requests('#12345', { restrict_to_branch: 'side, main' })).toHaveLength(1)
    expect(requests('#12345', { restrict_to_branch: 'side' })).toEqual([])
    expect(requests('#12345 '.repeat(100))).toHaveLength(50)
  })

  it('Buildkite: the first part of the token is in the address (SV-13)', () => {
    expect(sender('buildkite').address({ token: 'one/two:three' })).toBe('https://webhook.buildkite.com/deliver/one%2Ftwo')
  })

  it('TeamCity: builds a branch that moves or is proposed, and nothing that is gone (SV-13)', () => {
    const gone = { ...push('x'), after: '0'.repeat(40) } as Payload
    expect(sender('teamcity').requests(gone, { build_type: 'b' })).toEqual([])
    expect(sender('teamcity').requests(push('x', 'refs/heads/a<b'), { build_type: 'b' })).toEqual([
      { body: '<build branchName="a&lt;b"><buildType id="b"/></build>' },
    ])
  })
})
