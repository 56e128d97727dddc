import { type SQL, sql } from 'drizzle-orm'
import ssh2 from 'ssh2'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser, unique } from '../support/factories.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
let project: TestProject
let group: { id: number; path: string }

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, files: { 'readme.md': 'one\n' } })
  group = await aGroup(t.ctx, { creator: owner })
})

const newKey = () => ({ title: 'x', key: ssh2.utils.generateKeyPairSync('ed25519').public })

interface Limit {
  /** Leaves room for three. */
  fill: () => SQL
  path: () => string
  body: () => object
  caller?: () => TestUser
}

const LIMITS: Record<string, Limit> = {
  'personal access tokens': {
    fill: () => sql`insert into tokens (user_id, kind, name, digest, scopes)
      select ${owner.id}, 'personal', 'x', 'token ' || n, '{api}' from generate_series(1, 997 - (select count(*) from tokens where user_id = ${owner.id})) n`,
    path: () => '/user/personal_access_tokens',
    body: () => ({ name: 'x', scopes: ['api'] }),
  },
  'impersonation tokens': {
    fill: () => sql`insert into tokens (user_id, kind, name, digest, scopes)
      select ${admin.id}, 'personal', 'x', 'of an administrator ' || n, '{api}' from generate_series(1, 996) n`,
    path: () => `/users/${admin.id}/impersonation_tokens`,
    body: () => ({ name: 'x', scopes: ['api'] }),
    caller: () => admin,
  },
  'SSH keys': {
    fill: () => sql`insert into ssh_keys (user_id, title, key, fingerprint, fingerprint_sha256)
      select ${owner.id}, 'x', 'x', 'key ' || n, 'key ' || n from generate_series(1, 97) n`,
    path: () => '/user/keys',
    body: newKey,
  },
  addresses: {
    fill: () => sql`insert into emails (user_id, email) select ${owner.id}, 'n' || n || '@example.com' from generate_series(1, 97) n`,
    path: () => '/user/emails',
    body: () => ({ email: `e${unique()}@example.com` }),
  },
  'deploy keys': {
    fill: () => sql`with made as (insert into ssh_keys (title, key, fingerprint, fingerprint_sha256)
      select 'x', 'x', 'deploy key ' || n, 'deploy key ' || n from generate_series(1, 97) n returning id)
      insert into deploy_keys_projects (project_id, key_id, can_push, created_at) select ${project.id}, id, false, now() from made`,
    path: () => `${project.path}/deploy_keys`,
    body: newKey,
  },
  'deploy tokens': {
    fill: () => sql`insert into deploy_tokens (group_id, name, username, scopes, digest, created_at)
      select ${group.id}, 'x', 'x', '{read_repository}', 'deploy token ' || n, now() from generate_series(1, 97) n`,
    path: () => `${group.path}/deploy_tokens`,
    body: () => ({ name: 'x', scopes: ['read_repository'] }),
  },
  'hooks of a project': {
    fill: () => sql`insert into web_hooks (project_id, url, events) select ${project.id}, 'http://example.com/', '{}' from generate_series(1, 97)`,
    path: () => `${project.path}/hooks`,
    body: () => ({ url: 'http://example.com/' }),
  },
  'hooks of the system': {
    fill: () => sql`insert into web_hooks (url, events) select 'http://example.com/', '{}' from generate_series(1, 97)`,
    path: () => '/hooks',
    body: () => ({ url: 'http://example.com/' }),
    caller: () => admin,
  },
}

describe('limits on the number of items', () => {
  it.each(Object.keys(LIMITS))('hold for concurrent calls: %s (SEC-130, SEC-268, HK-25)', async (name) => {
    const { fill, path, body, caller = () => owner } = LIMITS[name] as Limit
    await t.ctx.db.write.execute(fill())
    const answers = await Promise.all(Array.from({ length: 10 }, () => t.api('post', path(), caller()).send(body())))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array.from({ length: 7 }, () => 400)])
  })
})
