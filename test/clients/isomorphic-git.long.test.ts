// @module-tag long
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import * as git from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import { beforeAll, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { directoryOf, gitClient, gitOut } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

/** An implementation of Git that shares no code with the native one, nor with ours, clones and checks what the API writes. */
const t = testApp()
const client = gitClient(t)

let user: TestUser
let project: TestProject
beforeAll(async () => {
  user = await aUser(t.ctx)
  project = await aProject(t.ctx, { creator: user })
})

const post = async (path: string, body: object, status = 201) => (await t.api('post', `${project.path}/${path}`, user).send(body).expect(status)).body
const commit = (branch: string, actions: object[], more: object = {}) =>
  post('repository/commits', { branch, commit_message: `on ${branch}\n\nwith a body: é ✓`, actions, ...more })

it('reads every object of commits, merges, cherry-picks, reverts and tags that the API made, and finds their ids right (C-19)', async () => {
  const binary = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7_919) & 255))
  await commit('main', [
    { action: 'create', file_path: 'a/b/c.txt', content: 'c\n' },
    { action: 'create', file_path: 'binary', content: binary.toString('base64'), encoding: 'base64' },
    { action: 'create', file_path: 'run.sh', content: '#!/bin/sh\n', execute_filemode: true },
    { action: 'create', file_path: 'empty', content: '' },
    ...Array.from({ length: 300 }, (_, i) => ({ action: 'create', file_path: `many/${i % 7}/f${i}`, content: `${i}` })),
  ])
  const side = await commit('side', [{ action: 'update', file_path: 'a/b/c.txt', content: 'side\n' }], { start_branch: 'main' })
  await commit('main', [
    { action: 'move', file_path: 'moved/run.sh', previous_path: 'run.sh' },
    { action: 'delete', file_path: 'empty' },
  ])
  await post(`repository/commits/${side.id}/cherry_pick`, { branch: 'main' })
  const last = await commit('main', [{ action: 'create', file_path: 'to be reverted', content: 'x' }])
  await post(`repository/commits/${last.id}/revert`, { branch: 'main' })
  await commit('topic', [{ action: 'create', file_path: 'topic', content: 'topic' }], { start_branch: 'main' })
  const request = await post('merge_requests', { title: 'topic', source_branch: 'topic', target_branch: 'main' })
  await t.api('put', `${project.path}/merge_requests/${request.iid}/merge`, user).expect(200)
  await post('repository/tags', { tag_name: 'v1', ref: 'main', message: 'first\n\nrelease' })

  const dir = client.folder()
  const url = client.url(project.fullPath).replace(/\/\/[^@/]*@/, '//')
  const onAuth = () => ({ username: 'git', password: user.token })
  await git.clone({ fs, http, dir, url, onAuth })

  const bare = directoryOf(t, project.id)
  const native = (...args: string[]) => gitOut(bare, ...args)
  const log = await git.log({ fs, dir, ref: 'main' })
  expect(log.map(({ oid }) => oid).sort()).toEqual((await native('rev-list', 'main')).split('\n').sort())
  expect(log[0]?.commit.parent).toHaveLength(2)
  const status = await git.statusMatrix({ fs, dir })
  expect(status.filter(([, head, work, stage]) => head !== 1 || work !== 1 || stage !== 1)).toEqual([])
  expect(fs.readFileSync(`${dir}/binary`).equals(binary)).toBe(true)
  expect(fs.statSync(`${dir}/moved/run.sh`).mode & 0o111).not.toBe(0)

  const objects = (await native('cat-file', '--batch-check', '--batch-all-objects')).split('\n').map((line) => line.split(' '))
  expect(objects.length).toBeGreaterThan(330)
  for (const [oid = '', type] of objects) {
    const { object, type: found } = await git.readObject({ fs, gitdir: bare, dir: bare, oid, format: 'content' })
    const content = object as Uint8Array
    const id = createHash('sha1').update(`${found} ${content.length}\0`).update(content).digest('hex')
    expect([id, found]).toEqual([oid, type])
  }
  const tag = await git.readTag({ fs, gitdir: bare, dir: bare, oid: await native('rev-parse', 'v1') })
  expect(tag.tag).toMatchObject({ tag: 'v1', message: 'first\n\nrelease\n' })
})
