import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()

describe('addresses of other versions', () => {
  it('lead to the page that is printed now (WB-2)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'docs/a.md': 'a' } })
    const hidden = await aProject(t.ctx, { creator: owner, visibility: 'private' })
    const [{ id: sha }] = (await t.api('get', `${project.path}/repository/commits`, owner).expect(200)).body
    const { id: job } = (await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ state: 'success', ref: 'main' }).expect(201)).body
    const browser = new TestBrowser(t.url)
    await browser.signIn(owner)
    const [at, user] = [`/${project.fullPath}`, `/${owner.username}`]
    for (const [from, to] of [
      [`/users${user}`, user],
      [`/u${user}`, user],
      [`/users${user}/projects`, user],
      [`/users${user}/activity`, `${user}?tab=activity`],
      [`/projects/${project.id}`, at],
      [`${at}.git`, at],
      [`${at}.wiki.git`, `${at}/-/wikis/home`],
      [`${at}/branches/new`, `${at}/-/branches`],
      [`${at}/-/branches/all`, `${at}/-/branches`],
      [`${at}/-/jobs`, `${at}/-/pipelines`],
      [`${at}/-/merge_requests/new/diffs?a=%5B`, `${at}/-/merge_requests/new?a=%5B`],
      [`${at}/builds/${job}`, `${at}/-/pipelines/1`],
      [`${at}/-/pipelines/latest`, `${at}/-/pipelines/1`],
      // a relative link of a text, as mails have it
      [`${at}/docs/a.md`, `${at}/-/blob/main/docs/a.md`],
    ] as const) {
      const page = await browser.open(from)
      expect([from, page.at]).toEqual([from, to])
      expect([200, 404]).toContain(page.status)
    }
    const visitor = new TestBrowser(t.url)
    for (const path of [`/projects/${hidden.id}`, `/${hidden.fullPath}.git`, '/users/not-there', '/projects/999999'])
      expect([path, (await visitor.open(path)).at.startsWith('/users/sign_in')]).toEqual([path, true])
  })
})
