import { beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { anAdmin, aProject, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBv8yBRzSpOoJ8PWwAvhFnh0pZ/DRiKqgmuUM5r9Lq2q machine'

let admin: TestUser
let project: TestProject
beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: admin, files: { 'a.txt': 'one' } })
  await t.api('post', `${project.path}/repository/branches`, admin).send({ branch: 'topic', ref: 'main' }).expect(201)
  await t.api('post', `${project.path}/releases`, admin).send({ tag_name: 'v1', ref: 'main' }).expect(201)
})

/** What takes a title or a name: where it is made, with what else, and where it is listed if not there. */
const TITLED: [what: string, name: string, path: () => string, more?: object, list?: () => string][] = [
  ['an issue', 'title', () => `${project.path}/issues`],
  ['a merge request', 'title', () => `${project.path}/merge_requests`, { source_branch: 'topic', target_branch: 'main' }],
  ['a milestone', 'title', () => `${project.path}/milestones`],
  ['a snippet', 'title', () => `${project.path}/snippets`, { file_name: 'a', content: 'a', visibility: 'private' }],
  ['a personal snippet', 'title', () => '/snippets', { file_name: 'a', content: 'a', visibility: 'private' }],
  ['a protected branch', 'name', () => `${project.path}/protected_branches`],
  ['a protected tag', 'name', () => `${project.path}/protected_tags`],
  ['a deploy key', 'title', () => `${project.path}/deploy_keys`, { key: KEY }],
  ['a deploy token', 'name', () => `${project.path}/deploy_tokens`, { scopes: ['read_repository'] }],
  ['a link of a release', 'name', () => `${project.path}/releases/v1/assets/links`, { url: 'https://a.example/x' }],
  ['an application', 'name', () => '/applications', { redirect_uri: 'https://a.example/x', scopes: 'api' }],
  ['an SSH key', 'title', () => '/user/keys', { key: KEY }],
  ['an access token', 'name', () => `/users/${admin.id}/personal_access_tokens`, { scopes: ['api'] }, () => '/personal_access_tokens'],
  ['a user', 'name', () => '/users', { username: 'someone', email: 'someone@example.org', password: 'long enough 1' }],
]

it.each(TITLED)(
  '%s: a title of 300 characters or of blanks is refused by its rule, and nothing is made (SEC-63)',
  async (_, name, path, more, list = path) => {
    const count = async () => (await t.api('get', list(), admin).expect(200)).body.length
    const before = await count()
    const send = (text: string) => t.api('post', path(), admin).send({ ...more, [name]: text })
    const refused: [text: string, why: RegExp][] = [
      ['x'.repeat(300), /is too long \(maximum is 255 characters\)/],
      [' '.repeat(200), /can't be blank|is empty/],
      [' '.repeat(403), /can't be blank|is empty|is too long/],
    ]
    for (const [text, why] of refused) {
      const { status, body } = await send(text)
      expect([status, JSON.stringify(body)]).toEqual([expect.toBeOneOf([400, 422]), expect.stringMatching(why)])
    }
    expect(await count()).toBe(before)
  },
)

it.each([
  ['an impersonation token', () => `/users/${admin.id}/impersonation_tokens`, { scopes: ['api'] }],
  ['a release', () => `${project.path}/releases`, { tag_name: 'v2', ref: 'main' }],
])('%s may have a blank name, of at most 255 characters (SEC-63)', async (_, path, more) => {
  const send = (name: string) => t.api('post', path(), admin).send({ ...more, name })
  await send('x'.repeat(256)).expect(400, { message: { name: ['is too long (maximum is 255 characters)'] } })
  await send(' '.repeat(255)).expect(201)
})
