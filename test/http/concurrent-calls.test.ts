import ssh2 from 'ssh2'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type Credentialed, type TestProject, type TestUser, unique } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'

const t = testApp()
let admin: TestUser
let owner: TestUser
let project: TestProject

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  owner = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: owner, visibility: 'public', request_access_enabled: true, files: { 'readme.md': 'one\n' } })
})

const newKey = () => ssh2.utils.generateKeyPairSync('ed25519').public

type Method = 'post' | 'put' | 'delete'
type Call = [method: Method, path: string, body?: object, caller?: Credentialed]

const send = async ([method, path, body = {}, caller = owner]: Call) => {
  const { status, body: answer } = await t.api(method, path, caller).send(body)
  // blocking answers 201 in any case
  return `${status}${answer === true || answer === false ? ` ${answer}` : ''}`
}
const post = async (path: string, body: object = {}, caller: Credentialed = owner) => (await t.api('post', path, caller).send(body).expect(201)).body
const issue = async () => `${project.path}/issues/${(await post(`${project.path}/issues`, { title: 'x' })).iid}`
const label = async () => `${project.path}/labels/${(await post(`${project.path}/labels`, { name: `l${unique()}`, color: '#fff' })).id}`
const request = async () => (await aMergeRequest(t, { project })).path
const made = async (path: string, body: object, caller?: Credentialed) => `${path}/${(await post(path, body, caller)).id}`
const removal = async (path: string, body: object, caller?: Credentialed): Promise<Call> => [
  'delete',
  await made(path, body, caller),
  {},
  caller ?? owner,
]
const branch = async () => {
  const name = `b${unique()}`
  await post(`${project.path}/repository/branches`, { branch: name, ref: 'main' })
  return name
}
const subscribed = async (path: string) => {
  await post(`${path}/subscribe`, {}, admin)
  return path
}

/** Makes what a call changes, and returns the call. */
const CASES: Record<string, () => Promise<Call>> = {
  'subscribe to an issue': async () => ['post', `${await issue()}/subscribe`, {}, admin],
  'unsubscribe from an issue': async () => ['post', `${await subscribed(await issue())}/unsubscribe`, {}, admin],
  'unsubscribe from an own issue': async () => ['post', `${await issue()}/unsubscribe`],
  'subscribe to a merge request': async () => ['post', `${await request()}/subscribe`, {}, admin],
  'unsubscribe from a merge request': async () => ['post', `${await request()}/unsubscribe`],
  'subscribe to a label': async () => ['post', `${await label()}/subscribe`],
  'unsubscribe from a label': async () => ['post', `${await subscribed(await label())}/unsubscribe`, {}, admin],
  'add a todo for an issue': async () => ['post', `${await issue()}/todo`],
  'add a todo for a merge request': async () => ['post', `${await request()}/todo`],
  'star a project': async () => ['post', `${(await aProject(t.ctx, { creator: owner })).path}/star`],
  'unstar a project': async () => {
    const { path } = await aProject(t.ctx, { creator: owner })
    await post(`${path}/star`)
    return ['post', `${path}/unstar`]
  },
  'unlink a fork': async () => {
    const fork = await aProject(t.ctx, { creator: admin })
    await post(`${fork.path}/fork/${project.id}`, {}, admin)
    return ['delete', `${fork.path}/fork`, {}, admin]
  },
  'block a user': async () => ['post', `/users/${(await aUser(t.ctx)).id}/block`, {}, admin],
  'unblock a user': async () => ['post', `/users/${(await aUser(t.ctx, { state: 'blocked' })).id}/unblock`, {}, admin],
  'award an emoji': async () => ['post', `${await issue()}/award_emoji`, { name: 'thumbsup' }],
  'take an award back': async () => removal(`${await issue()}/award_emoji`, { name: 'thumbsup' }),
  'add a member': async () => ['post', `${project.path}/members`, { user_id: (await aUser(t.ctx)).id, access_level: 30 }],
  'remove a member': async () => {
    const { id } = await aUser(t.ctx)
    await post(`${project.path}/members`, { user_id: id, access_level: 30 })
    return ['delete', `${project.path}/members/${id}`]
  },
  'request access': async () => ['post', `${project.path}/access_requests`, {}, await aUser(t.ctx)],
  'approve a request': async () => {
    const person = await aUser(t.ctx)
    await post(`${project.path}/access_requests`, {}, person)
    return ['put', `${project.path}/access_requests/${person.id}/approve`]
  },
  'protect a branch': async () => ['post', `${project.path}/protected_branches`, { name: `b${unique()}` }],
  'unprotect a branch': async () => {
    const name = `b${unique()}`
    await post(`${project.path}/protected_branches`, { name })
    return ['delete', `${project.path}/protected_branches/${name}`]
  },
  'protect a tag': async () => ['post', `${project.path}/protected_tags`, { name: `t${unique()}` }],
  'share a project': async () => ['post', `${project.path}/share`, { group_id: (await aGroup(t.ctx, { creator: owner })).id, group_access: 30 }],
  'end a share': async () => {
    const group_id = (await aGroup(t.ctx, { creator: owner })).id
    await post(`${project.path}/share`, { group_id, group_access: 30 })
    return ['delete', `${project.path}/share/${group_id}`]
  },
  'revoke a token': async () => [
    'delete',
    `/personal_access_tokens/${(await post('/user/personal_access_tokens', { name: 'x', scopes: ['api'] })).id}`,
  ],
  'rotate a token': async () => {
    const { id } = await post('/user/personal_access_tokens', { name: 'x', scopes: ['api'] })
    return ['post', `/personal_access_tokens/${id}/rotate`]
  },
  'revoke a deploy token': async () => removal(`${project.path}/deploy_tokens`, { name: 'x', scopes: ['read_repository'] }),
  'add an SSH key': async () => ['post', '/user/keys', { title: 'x', key: newKey() }],
  'delete an SSH key': async () => removal('/user/keys', { title: 'x', key: newKey() }),
  'remove a deploy key': async () => removal(`${project.path}/deploy_keys`, { title: 'x', key: newKey() }),
  'add an address': async () => ['post', '/user/emails', { email: `e${unique()}@example.com` }],
  'delete an address': async () => removal('/user/emails', { email: `e${unique()}@example.com` }),
  'delete a hook': async () => removal(`${project.path}/hooks`, { url: 'http://example.com/' }),
  'create a variable': async () => ['post', `${project.path}/variables`, { key: `K${unique()}`, value: 'x' }],
  'delete a variable': async () => {
    const { key } = await post(`${project.path}/variables`, { key: `K${unique()}`, value: 'x' })
    return ['delete', `${project.path}/variables/${key}`]
  },
  'create a label': async () => ['post', `${project.path}/labels`, { name: `l${unique()}`, color: '#fff' }],
  'delete a label': async () => ['delete', await label()],
  'create a milestone': async () => ['post', `${project.path}/milestones`, { title: `m${unique()}` }],
  'delete a milestone': async () => removal(`${project.path}/milestones`, { title: `m${unique()}` }),
  'delete an issue': async () => ['delete', await issue()],
  'delete a merge request': async () => ['delete', await request()],
  'delete a note': async () => removal(`${await issue()}/notes`, { body: 'x' }),
  'delete a snippet': async () => removal('/snippets', { title: 'x', file_name: 'x', content: 'x', visibility: 'public' }),
  'delete a custom attribute': async () => {
    const path = `/users/${(await aUser(t.ctx)).id}/custom_attributes/k`
    await t.api('put', path, admin).send({ value: 'x' }).expect(200)
    return ['delete', path, {}, admin]
  },
  'create a branch': async () => ['post', `${project.path}/repository/branches`, { branch: `b${unique()}`, ref: 'main' }],
  'delete a branch': async () => ['delete', `${project.path}/repository/branches/${await branch()}`],
  'create a tag': async () => ['post', `${project.path}/repository/tags`, { tag_name: `t${unique()}`, ref: 'main' }],
  'create a release': async () => ['post', `${project.path}/releases`, { tag_name: `r${unique()}`, ref: 'main', description: 'x' }],
  'delete a release': async () => {
    const { tag_name } = await post(`${project.path}/releases`, { tag_name: `r${unique()}`, ref: 'main', description: 'x' })
    return ['delete', `${project.path}/releases/${tag_name}`]
  },
  'delete a link of a release': async () => {
    const { tag_name } = await post(`${project.path}/releases`, { tag_name: `r${unique()}`, ref: 'main', description: 'x' })
    return removal(`${project.path}/releases/${tag_name}/assets/links`, { name: 'x', url: 'https://example.com/x' })
  },
  'create a merge request': async () => [
    'post',
    `${project.path}/merge_requests`,
    { title: 'x', source_branch: await branch(), target_branch: 'main' },
  ],
  'accept a merge request': async () => ['put', `${await request()}/merge`],
  'create a wiki page': async () => ['post', `${project.path}/wikis`, { title: `w${unique()}`, content: 'x' }],
  'create a project': async () => ['post', '/projects', { name: `p${unique()}` }],
  'create a group': async () => ['post', '/groups', { name: 'x', path: `g${unique()}` }],
  'create a user': async () => {
    const username = `u${unique()}`
    return ['post', '/users', { username, name: 'x', email: `${username}@example.com`, password: 'a long password' }, admin]
  },
}

/** The answer while another call moves the same ref, where it is not that of a later call. */
const MEANWHILE: Record<string, string> = { 'delete a branch': '409', 'create a release': '400' }

describe('concurrent calls', () => {
  it.each(Object.keys(CASES))('to %s succeed once; to the others it is done already (SEC-267)', async (name) => {
    const prepare = CASES[name] as () => Promise<Call>
    const alone = await prepare()
    const [done, already] = [await send(alone), await send(alone)]
    expect(already).not.toBe(done)
    const call = await prepare()
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(call)))
    expect(answers.filter((answer) => answer === done)).toHaveLength(1)
    expect(answers.filter((answer) => ![done, already, MEANWHILE[name]].includes(answer))).toEqual([])
  })
})
