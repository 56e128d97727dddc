// @module-tag long
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { backUp, openBackup } from '../../src/services/operations/backup.js'
import { faults } from '../../src/services/operations/doctor/index.js'
import { restoreProject } from '../../src/services/operations/project-restore.js'
import { deleteProjectRows } from '../../src/services/projects/remove.js'
import { testApp } from '../support/app.js'
import { directoryOf } from '../support/clients/git-client.js'
import { anObject, basic, lfsClient } from '../support/clients/lfs-client.js'
import { aCommit, aGroup, anAdmin, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()
const lfs = lfsClient(t)
let admin: TestUser
let leaver: TestUser
const folder = (name: string) => join(t.dataDir, name)

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  leaver = await aUser(t.ctx)
})

/** A project with something of everything, and another with another issue. */
async function aFullProject() {
  const group = await aGroup(t.ctx, { creator: admin })
  const project = await aProject(t.ctx, { creator: admin, namespace_id: group.id, files: { 'a.txt': 'one' } })
  const call = async (path: string, body: object, as = admin) => (await t.api('post', `${project.path}${path}`, as).send(body).expect(201)).body
  await call('/members', { user_id: leaver.id, access_level: 40 })
  await call('/wikis', { title: 'home', content: 'of the wiki' })
  await call('/variables', { key: 'KEY', value: 'a sealed value' })
  await call('/labels', { name: 'bug', color: '#ff0000' })
  await t.api('post', `/groups/${group.id}/labels`, admin).send({ name: 'shared', color: '#00ff00' }).expect(201)
  const milestone = await call('/milestones', { title: 'soon' })
  await call('/issues', { title: 'by one who leaves', labels: 'bug,shared', milestone_id: milestone.id, assignee_ids: [leaver.id] }, leaver)
  await call('/issues/1/notes', { body: 'a note' })
  await call('/issues/1/notes', { body: 'by one who leaves' }, leaver)
  await call('/issues/1/award_emoji', { name: 'thumbsup' }, leaver)
  await aCommit(t.ctx, project, { 'b.txt': 'b' }, { branch: 'topic', start_branch: 'main' })
  const people = { assignee_ids: [leaver.id, admin.id], reviewer_ids: [leaver.id, admin.id] }
  await call('/merge_requests', { title: 'a request', source_branch: 'topic', target_branch: 'main', labels: 'bug', ...people })
  await call('/merge_requests/1/discussions', { body: 'a discussion' })
  await call('/hooks', { url: 'http://hooks.example.com/', token: 'of the hook' })
  await call('/releases', { name: 'one', tag_name: 'v1', ref: 'main', description: 'the first' })
  await call('/snippets', { title: 'a snippet', file_name: 'x', content: 'x', visibility: 'private' })
  const upload = (await t.api('post', `${project.path}/uploads`, admin).attach('file', Buffer.from('uploaded'), 'x.txt').expect(201)).body
  const large = anObject(`kept by Git LFS ${project.id}`)
  await lfs.upload(project.fullPath, admin, large)
  await t.ctx.jobs.drain()
  return { group, project, upload, large }
}

const LISTS = [
  ...['', '/members', '/wikis?with_content=1', '/variables', '/labels', '/milestones', '/issues', '/issues/1/notes', '/issues/1/award_emoji'],
  ...[
    '/merge_requests',
    '/merge_requests/1',
    '/merge_requests/1/reviewers',
    '/merge_requests/1/discussions',
    '/merge_requests/1/changes',
    '/hooks',
    '/releases',
    '/snippets',
  ],
  ...['/repository/branches', '/repository/tags', '/repository/commits?ref_name=topic', '/protected_branches', '/events'],
]
const everythingOf = async (path: string) =>
  Object.fromEntries(await Promise.all(LISTS.map(async (list) => [list, (await t.api('get', `${path}${list}`, admin).expect(200)).body] as const)))
async function remove({ path, fullPath }: TestProject) {
  await t.api('delete', `${path}?permanently_remove=true&full_path=${encodeURIComponent(fullPath)}`, admin).expect(202)
  await t.ctx.jobs.drain()
  await t.api('get', path, admin).expect(404)
}
const faultsFound = async () => {
  const all: string[] = []
  for await (const { kind, of, text } of faults(t.ctx)) all.push(`${kind}: ${of}: ${text}`)
  return all
}
const restore = async (name: string, path: string, as?: string) => restoreProject(t.ctx, t.databaseUrl, await openBackup(folder(name)), { path, as })

describe('one project of a backup (SEC-261)', () => {
  it('is restored as it was, with its ids and numbers, and nothing else changes', async () => {
    const { project, upload, large } = await aFullProject()
    const other = await aProject(t.ctx, { creator: admin })
    await t.api('post', `${other.path}/issues`, admin).send({ title: 'before' }).expect(201)
    const before = await everythingOf(project.path)
    await backUp(t.ctx, t.databaseUrl, folder('whole'))
    await remove(project)
    expect(existsSync(directoryOf(t, project.id))).toBe(false)
    await t.api('post', `${other.path}/issues`, admin).send({ title: 'after' }).expect(201)
    const sent = async () => (await t.ctx.db.write.execute(sql`select count(*)::int as n from hook_changes`)).rows
    const changes = await sent()
    expect(await restore('whole', project.fullPath)).toMatchObject({ id: project.id, path: project.fullPath })
    await t.ctx.jobs.drain()
    expect(await everythingOf(project.path)).toEqual(before)
    expect(await sent()).toEqual(changes)
    expect((await t.api('get', `${other.path}/issues`, admin).expect(200)).body).toHaveLength(2)
    expect(await (await fetch(`${t.url}/${project.fullPath}${upload.url}`, { headers: { 'private-token': admin.token } })).text()).toBe('uploaded')
    const object = await fetch(`${t.url}/${project.fullPath}.git/info/lfs/objects/${large.oid}`, { headers: basic(admin.token) })
    expect([object.status, await object.text()]).toEqual([200, large.bytes.toString()])
    const next = await t.api('post', `${project.path}/issues`, admin).send({ title: 'the next' }).expect(201)
    expect(next.body.iid).toBe(2)
    await aCommit(t.ctx, project, { 'c.txt': 'c' })
    await t.ctx.jobs.drain()
    expect(await faultsFound()).toEqual([])
  })

  it('texts of users deleted since belong to the ghost user, and their memberships and awards are not restored', async () => {
    const { project } = await aFullProject()
    await backUp(t.ctx, t.databaseUrl, folder('leaver'))
    await remove(project)
    await t.api('delete', `/users/${leaver.id}`, admin).expect(204)
    await t.ctx.jobs.drain()
    await restore('leaver', project.fullPath)
    const { body: issue } = await t.api('get', `${project.path}/issues/1`, admin).expect(200)
    expect([issue.author.username, issue.assignees, issue.labels, issue.upvotes]).toEqual(['ghost', [], ['bug', 'shared'], 0])
    const { body: request } = await t.api('get', `${project.path}/merge_requests/1`, admin).expect(200)
    expect([request.assignees, request.reviewers]).toMatchObject([[{ id: admin.id }], [{ id: admin.id }]])
    expect((await t.api('get', `${project.path}/merge_requests/1/reviewers`, admin).expect(200)).body).toHaveLength(1)
    const { body: notes } = await t.api('get', `${project.path}/issues/1/notes?sort=asc`, admin).expect(200)
    expect(notes.filter(({ system }: { system: boolean }) => !system)).toMatchObject([
      { body: 'a note', author: { id: admin.id } },
      { body: 'by one who leaves', author: { username: 'ghost' } },
    ])
    expect((await t.api('get', `${project.path}/members`, admin).expect(200)).body.map(({ id }: { id: number }) => id)).not.toContain(leaver.id)
    expect(await faultsFound()).toEqual([])
  })

  it('is refused if the project or its path exists, or its group does not, and can have another path', async () => {
    leaver = await aUser(t.ctx)
    const { project, group } = await aFullProject()
    await backUp(t.ctx, t.databaseUrl, folder('refused'))
    await expect(restore('refused', project.fullPath)).rejects.toThrow(`the project is still here as ${project.fullPath}`)
    await expect(restore('refused', 'no/where')).rejects.toThrow('the backup has no project no/where')
    const name = project.fullPath.split('/').at(-1) as string
    await remove(project)
    await t.api('post', '/projects', admin).send({ name, namespace_id: group.id }).expect(201)
    await expect(restore('refused', project.fullPath)).rejects.toThrow(`the path ${project.fullPath} is taken: choose another path with --as`)
    await expect(restore('refused', project.fullPath, 'nowhere/back')).rejects.toThrow('there is no group or user nowhere')
    await expect(restore('refused', project.fullPath, `${group.fullPath}/-x`)).rejects.toThrow('the path -x can contain only letters')
    const as = `${project.fullPath}-back`
    expect(await restore('refused', project.fullPath, as)).toMatchObject({ id: project.id, path: as })
    expect((await t.api('get', `/projects/${encodeURIComponent(as)}/issues/1`, admin).expect(200)).body.title).toBe('by one who leaves')
    expect(await faultsFound()).toEqual([])
  })

  it('that waited for its removal is restored under its former path, and is not removed again', async () => {
    const { project } = await aFullProject()
    await t.api('delete', project.path, admin).expect(202)
    await backUp(t.ctx, t.databaseUrl, folder('waiting'))
    await expect(restore('waiting', project.fullPath)).rejects.toThrow(`the project waits for its removal: roost project restore ${project.id}`)
    await t.ctx.db.transaction((tx) => deleteProjectRows(t.ctx, tx, sql`p.id = ${project.id}`))
    await t.ctx.jobs.drain()
    expect(await restore('waiting', project.fullPath)).toMatchObject({ id: project.id, path: project.fullPath })
    expect((await t.api('get', project.path, admin).expect(200)).body).toMatchObject({
      path_with_namespace: project.fullPath,
      marked_for_deletion_at: null,
    })
    expect(await faultsFound()).toEqual([])
  })

  it('a failure leaves nothing behind, and the next attempt succeeds', async () => {
    const { project } = await aFullProject()
    await backUp(t.ctx, t.databaseUrl, folder('failing'))
    await remove(project)
    const whole = await openBackup(folder('failing'))
    const saved = join(folder('failing'), 'repositories/default', `${project.id}.wiki.git`)
    await rm(join(saved, 'HEAD'))
    await rm(saved, { recursive: true })
    await expect(restoreProject(t.ctx, t.databaseUrl, whole, { path: project.fullPath })).rejects.toThrow('ENOENT')
    await t.ctx.jobs.drain()
    await t.api('get', project.path, admin).expect(404)
    expect(existsSync(directoryOf(t, project.id))).toBe(false)
    const repositories = whole.repositories.filter(({ kind }) => kind === 'project')
    await restoreProject(t.ctx, t.databaseUrl, { ...whole, repositories }, { path: project.fullPath })
    await t.api('get', `${project.path}/issues/1`, admin).expect(200)
  })

  it('of another installation is refused', async () => {
    const { project } = await aFullProject()
    await backUp(t.ctx, t.databaseUrl, folder('foreign'))
    await remove(project)
    await t.ctx.db.write.execute(sql`update installation set bucket_owner = 'another'`)
    await expect(restore('foreign', project.fullPath)).rejects.toThrow('the backup is of another installation')
  })
})
