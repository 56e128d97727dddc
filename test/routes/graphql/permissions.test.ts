import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { projects } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { aMergeRequest, type TestRequest } from '../../support/merge-requests.js'
import { askOf, type Found } from './ask.js'

const t = testApp()
const { ask, data } = askOf(t)

const CALLERS = ['anonymous', 'external', 'stranger', 'guest', 'reporter', 'developer', 'admin'] as const
type Name = (typeof CALLERS)[number]
const people: Record<string, TestUser | null> = { anonymous: null }
let owner: TestUser

interface Place {
  project: TestProject
  group: string
  request: TestRequest
  confidential: number
  issue: number
}
const places: Record<string, Place> = {}

beforeAll(async () => {
  owner = await aUser(t.ctx)
  people['admin'] = await anAdmin(t.ctx)
  people['external'] = await aUser(t.ctx, { external: true })
  for (const name of ['stranger', 'guest', 'reporter', 'developer']) people[name] = await aUser(t.ctx)
  const roles = { guest: people['guest'] as TestUser, reporter: people['reporter'] as TestUser, developer: people['developer'] as TestUser }
  for (const visibility of ['private', 'internal', 'public'] as const) {
    const made = await aGroup(t.ctx, { creator: owner, visibility })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: made.id, visibility, files: { 'a.txt': 'one\n' }, ...roles })
    const say = async (path: string, body: object) => (await t.api('post', `${project.path}${path}`, owner).send(body).expect(201)).body
    const issue = await say('/issues', { title: 'open', labels: 'one' })
    const confidential = await say('/issues', { title: 'secret', confidential: true })
    await say(`/issues/${issue.iid}/notes`, { body: 'on the issue' })
    await say('/milestones', { title: 'one' })
    await say('/snippets', { title: 'one', file_name: 'one', content: 'one', visibility: 'private' })
    const request = await aMergeRequest(t, { project, caller: owner })
    await say(`/merge_requests/${request.iid}/notes`, { body: 'on the request' })
    const { sha } = (await t.api('get', request.path, owner).expect(200)).body
    await say(`/statuses/${sha}`, { state: 'success', name: 'test', ref: request.source })
    places[visibility] = {
      project,
      group: (await t.api('get', made.path, owner).expect(200)).body.full_path,
      request,
      issue: issue.iid,
      confidential: confidential.iid,
    }
  }
  await t.ctx.jobs.drain()
})

const PROJECT = `query($path: ID!, $iid: String!, $issue: String!, $secret: String!) { project(fullPath: $path) { id
  repository { rootRef tree { blobs { nodes { path } } } } issues { count nodes { title } } issue(iid: $issue) { title notes { nodes { body } } }
  secret: issue(iid: $secret) { title } mergeRequests { nodes { title } } mergeRequest(iid: $iid) { title notes { nodes { body } }
  headPipeline { status } } labels { nodes { title } } milestones { nodes { title } } projectMembers { nodes { user { username } } }
  pipelines { count } jobs { nodes { name } } snippets { nodes { title } } userPermissions { pushCode readMergeRequest } } }`

/** What a caller sees of a place, by GraphQL, with what the REST API says to the same. */
async function seen(name: Name, place: Place) {
  const who = people[name]
  const { project, request, issue, confidential } = place
  const variables = { path: project.fullPath, iid: String(request.iid), issue: String(issue), secret: String(confidential) }
  const found = (await data(PROJECT, who, variables)).project
  const rest = async (path: string) => {
    const { status, body } = await t.api('get', `${project.path}${path}`, who)
    return status === 200 ? body : null
  }
  return { found, rest }
}

describe('what is shown of a project (GQL-4)', () => {
  it.each(CALLERS.flatMap((name) => ['private', 'internal', 'public'].map((visibility) => [name, visibility] as const)))(
    'is what the REST API shows: %s, %s',
    async (name, visibility) => {
      const { found, rest } = await seen(name, places[visibility] as Place)
      const { request, issue, confidential } = places[visibility] as Place
      const shown = await rest('')
      expect(found === null).toBe(shown === null)
      if (found === null) return
      const titles = (list: Found) => list?.nodes.map(({ title }: Found) => title) ?? null
      const restTitles = async (path: string) => (await rest(path))?.map(({ title, name }: Found) => title ?? name) ?? null
      expect(titles(found.issues)).toEqual(await restTitles('/issues'))
      expect(titles(found.mergeRequests)).toEqual(await restTitles('/merge_requests'))
      expect(titles(found.labels)).toEqual(await restTitles('/labels'))
      expect(titles(found.milestones)).toEqual(await restTitles('/milestones'))
      expect(titles(found.snippets)).toEqual(await restTitles('/snippets'))
      expect(found.secret?.title).toEqual((await rest(`/issues/${confidential}`))?.title)
      expect(found.issue?.title).toEqual((await rest(`/issues/${issue}`))?.title)
      const notes = (await rest(`/issues/${issue}/notes?sort=asc`)) ?? []
      expect((found.issue?.notes.nodes ?? []).map(({ body }: Found) => body)).toEqual(notes.map(({ body }: Found) => body))
      const single = await rest(`/merge_requests/${request.iid}`)
      expect(found.mergeRequest?.title).toEqual(single?.title)
      expect(found.mergeRequest?.headPipeline?.status).toEqual(single?.head_pipeline?.status.toUpperCase())
      expect(found.pipelines === null).toBe((await rest('/pipelines')) === null)
      expect(found.jobs === null).toBe((await rest('/jobs')) === null)
      expect(found.projectMembers === null).toBe((await rest('/members/all')) === null)
      expect(found.repository === null).toBe((await rest('/repository/tree')) === null)
    },
  )

  it('is nothing of a feature that is off, or only for members', async () => {
    const { project, request } = places['public'] as Place
    const columns = {
      issues_access_level: 10,
      merge_requests_access_level: 0,
      repository_access_level: 10,
      builds_access_level: 10,
      snippets_access_level: 0,
    }
    await t.ctx.db.write.update(projects).set(columns).where(eq(projects.id, project.id))
    const stranger = await seen('stranger', places['public'] as Place)
    expect(stranger.found).toMatchObject({
      issues: null,
      issue: null,
      mergeRequests: null,
      mergeRequest: null,
      repository: null,
      pipelines: null,
      snippets: null,
    })
    const byId = `{ mergeRequest(id: "gid://gitlab/MergeRequest/${request.id}") { title } }`
    expect(await data(byId, people['developer'])).toEqual({ mergeRequest: null })
    const developer = await seen('developer', places['public'] as Place)
    expect(developer.found).toMatchObject({ issues: { count: 2 }, mergeRequests: null, repository: { rootRef: 'main' } })
    const open = {
      issues_access_level: 20,
      merge_requests_access_level: 20,
      repository_access_level: 20,
      builds_access_level: 20,
      snippets_access_level: 20,
    }
    await t.ctx.db.write.update(projects).set(open).where(eq(projects.id, project.id))
  })
})

describe('what hidden things are (GQL-4)', () => {
  it('is null, however they are asked for, and no error', async () => {
    const { project, group, request } = places['private'] as Place
    const [issue] = (await t.api('get', `${project.path}/issues`, owner).expect(200)).body
    const query = `query($ids: [ID!]) { project(fullPath: "${project.fullPath}") { id } group(fullPath: "${group}") { id }
      issue(id: "gid://gitlab/Issue/${issue.id}") { id } mergeRequest(id: "gid://gitlab/MergeRequest/${request.id}") { id }
      projects(ids: $ids) { nodes { id } } groups(search: "${group}") { nodes { id } } user(username: "${owner.username}") {
      authoredMergeRequests { nodes { project { fullPath } } } } }`
    const ids = [`gid://gitlab/Project/${project.id}`]
    const of = async (who: TestUser) => data(query, who, { ids })
    const stranger = await of(people['stranger'] as TestUser)
    expect(stranger).toMatchObject({ project: null, group: null, issue: null, mergeRequest: null, projects: { nodes: [] }, groups: { nodes: [] } })
    expect(JSON.stringify(stranger.user)).not.toContain(project.fullPath)
    const member = await of(people['reporter'] as TestUser)
    expect(member).toMatchObject({ project: {}, group: {}, issue: {}, mergeRequest: {}, projects: { nodes: [{}] } })
    expect(JSON.stringify(member.user)).toContain(project.fullPath)
  })

  it('is nothing in a list: merge requests show no source that the caller does not see, and groups no hidden parent', async () => {
    const target = places['public'] as Place
    const fork = (await t.api('post', `${target.project.path}/fork`, owner).send({ visibility: 'private' }).expect(201)).body
    await t.ctx.jobs.drain()
    const from = { ...target.project, id: fork.id, path: `/projects/${fork.id}`, fullPath: fork.path_with_namespace, creator: owner }
    const request = await aMergeRequest(t, { project: target.project, from, caller: owner })
    const query = `{ project(fullPath: "${target.project.fullPath}") { mergeRequest(iid: "${request.iid}") { sourceProject { id } sourceProjectId } } }`
    expect((await data(query, people['stranger'])).project.mergeRequest.sourceProject).toBeNull()
    expect((await data(query, owner)).project.mergeRequest.sourceProject.id).toBe(`gid://gitlab/Project/${fork.id}`)
    const top = await aGroup(t.ctx, { creator: owner })
    const below = await aGroup(t.ctx, { creator: owner, parent_id: top.id, developer: people['stranger'] as TestUser })
    const { full_path } = (await t.api('get', below.path, owner).expect(200)).body
    const ofGroup = `{ group(fullPath: "${full_path}") { name parent { id } } }`
    expect((await data(ofGroup, people['stranger'])).group.parent).toBeNull()
    expect((await data(ofGroup, owner)).group.parent.id).toBe(`gid://gitlab/Group/${top.id}`)
  })

  it('is the member of a group below that the caller does not see (GQL-14)', async () => {
    const top = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const below = await aGroup(t.ctx, { creator: owner, parent_id: top.id, developer: people['guest'] as TestUser })
    const { full_path } = (await t.api('get', top.path, owner).expect(200)).body
    const names = async (who: TestUser | null | undefined, relations: string) =>
      (
        await data(`{ group(fullPath: "${full_path}") { groupMembers(relations: [${relations}]) { nodes { user { username } } } } }`, who)
      ).group.groupMembers?.nodes.map(({ user }: Found) => user.username)
    expect(await names(owner, 'DESCENDANTS')).toEqual([owner.username, (people['guest'] as TestUser).username])
    expect(await names(people['stranger'], 'DESCENDANTS')).toEqual([])
    expect(await names(people['stranger'], 'DIRECT')).toEqual([owner.username])
    expect(await names(null, 'DIRECT')).toBeUndefined()
    expect(below.id).toBeGreaterThan(0)
  })

  it('is an account: private profiles and addresses', async () => {
    const hidden = await aUser(t.ctx, { private_profile: true, public_email: '', location: 'Here' })
    const query = `{ user(username: "${hidden.username}") { username location publicEmail starredProjects { count } } }`
    expect((await data(query, people['stranger'])).user).toEqual({
      username: hidden.username,
      location: null,
      publicEmail: null,
      starredProjects: null,
    })
    expect((await data(query, hidden)).user).toMatchObject({ location: 'Here', starredProjects: { count: 0 } })
    expect((await ask('{ users(search: "a") { nodes { username } } }', null)).data.users.nodes).toEqual([])
  })
})
