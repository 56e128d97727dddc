import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { anAdmin, aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { textReceiver } from '../../support/servers/text-receiver.js'

const t = testApp()
const filter = textReceiver()
let admin: TestUser
let author: TestUser
let project: TestProject
const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
const MARKED = 'cheap watches <img src=x onerror=alert(1)>'
const SPAM = { message: { error: 'Spam detected' } }

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  return browser
}
const asked = (what: string) =>
  filter.got.filter(({ path }) => path === `/a-key/${what}`).map(({ text }) => Object.fromEntries(new URLSearchParams(text)))
const heldTexts = async () => (await (await signedIn(admin)).open('/admin/held_texts')).text

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  project = await aProject(t.ctx, { creator: admin, visibility: 'public', files: { a: 'a' } })
  Object.assign(t.ctx.config, { spamFilter: `${filter.url}/%{key}` })
  filter.answer = ({ text }) => ({ body: text.includes('cheap') || text.includes('watches') ? 'true' : 'false' })
})
beforeEach(async () => {
  author = await aUser(t.ctx)
  filter.got.length = 0
  await t.ctx.db.write.execute(sql`delete from held_texts`)
  await put({ spamfilter_enabled: true, spamfilter_api_key: 'a-key' })
})

describe('the spam filter', () => {
  it('holds what it marks: issues, notes and snippets of new people (WB-202)', async () => {
    const { body: issue } = await t.api('post', `/projects/${project.id}/issues`, admin).send({ title: 'An issue' })
    const at = `/projects/${project.id}`
    await t.api('post', `${at}/issues`, author).send({ title: MARKED, description: 'buy' }).set('user-agent', 'browser/1').expect(400, SPAM)
    await t.api('post', `${at}/issues/${issue.iid}/notes`, author).send({ body: MARKED }).expect(400, SPAM)
    await t.api('post', `${at}/issues/${issue.iid}/discussions`, author).send({ body: MARKED }).expect(400, SPAM)
    await t.api('post', '/snippets', author).send({ title: 'a', file_name: 'a.md', content: MARKED, visibility: 'public' }).expect(400, SPAM)
    await t.api('post', `${at}/issues`, author).send({ title: 'A question' }).expect(201)
    expect(asked('comment-check').length).toBe(5)
    expect(asked('comment-check')[0]).toMatchObject({
      api_key: 'a-key',
      blog: 'http://roost.test',
      comment_author: author.username,
      comment_content: `${MARKED}\n\nbuy`,
      comment_type: 'forum-post',
      user_agent: 'browser/1',
      user_ip: '127.0.0.1',
    })
    expect((await t.api('get', `${at}/issues`, admin)).body.map(({ title }: { title: string }) => title)).not.toContain(MARKED)
    expect((await t.api('get', `${at}/issues/${issue.iid}/notes`, admin)).body).toEqual([])
    expect((await t.api('get', '/snippets', author)).body).toEqual([])
    const text = await heldTexts()
    expect(text.match(/cheap watches <img/g)?.length).toBe(4)
    expect(text).toContain('Comment on an issue in')
  })

  it('publishes what an administrator finds to be none, and removes the rest (WB-202)', async () => {
    const { body: issue } = await t.api('post', `/projects/${project.id}/issues`, admin).send({ title: 'An issue' })
    const at = `/projects/${project.id}`
    await t.api('post', `${at}/issues`, author).send({ title: MARKED, description: 'text', due_date: '2030-01-01' }).expect(400)
    await t.api('post', `${at}/issues/${issue.iid}/discussions`, author).send({ body: MARKED }).expect(400)
    await t.api('post', `${at}/repository/commits/main/comments`, author).send({ note: MARKED }).expect(400)
    await t.api('post', '/snippets', author).send({ title: 'a', file_name: 'a.md', content: MARKED, visibility: 'public' }).expect(400)
    const browser = await signedIn(admin)
    for (let n = 0; n < 4; n++) {
      await browser.open('/admin/held_texts')
      expect((await browser.submit('Not spam')).text).toContain('Text published.')
    }
    expect((await browser.open('/admin/held_texts')).text).toContain('No text is held.')
    expect(asked('submit-ham').length).toBe(4)
    const found = (await t.api('get', `${at}/issues?search=cheap`, author)).body
    expect(found).toEqual([
      expect.objectContaining({ title: MARKED, description: 'text', author: expect.objectContaining({ username: author.username }) }),
    ])
    const [thread] = (await t.api('get', `${at}/issues/${issue.iid}/discussions`, author)).body
    expect(thread).toMatchObject({ individual_note: false, notes: [{ body: MARKED, author: { username: author.username } }] })
    expect((await t.api('get', `${at}/repository/commits/main/comments`, author)).body).toEqual([expect.objectContaining({ note: MARKED })])
    expect((await t.api('get', '/snippets', author)).body).toEqual([expect.objectContaining({ title: 'a', visibility: 'public' })])
    // once is enough
    await t
      .api('post', `${at}/issues`, author)
      .send({ title: `${MARKED} 2` })
      .expect(400)
    await browser.open('/admin/held_texts')
    expect((await browser.submit('Spam')).text).toContain('Text removed.')
    expect(asked('submit-spam')).toEqual([expect.objectContaining({ comment_content: expect.stringContaining(`${MARKED} 2`), user_ip: '127.0.0.1' })])
    expect((await t.api('get', `${at}/issues?search=cheap`, author)).body.length).toBe(1)
    const log = (await browser.open('/admin/audit_log?action=held_text_removed')).text
    expect(log).toContain('held text removed')
  })

  it('does not publish what its author may no longer write (WB-202)', async () => {
    const other = await aProject(t.ctx, { creator: admin, visibility: 'public' })
    await t.api('post', `/projects/${other.id}/issues`, author).send({ title: MARKED }).expect(400)
    await t.api('put', `/projects/${other.id}`, admin).send({ visibility: 'private' }).expect(200)
    const browser = await signedIn(admin)
    await browser.open('/admin/held_texts')
    expect((await browser.submit('Not spam')).text).toContain('may no longer write it')
    expect(await heldTexts()).toContain(MARKED)
    expect(asked('submit-ham')).toEqual([])
    await t.api('post', `/users/${author.id}/block`, admin).expect(201)
    await browser.open('/admin/held_texts')
    expect((await browser.submit('Not spam')).text).toContain('Its author is blocked')
  })

  it('is not asked about members, administrators, older accounts, or what is not public (WB-202)', async () => {
    const [member, old] = [await aUser(t.ctx), await aUser(t.ctx)]
    await t.ctx.db.write.execute(sql`update users set created_at = now() - interval '31 days' where id = ${old.id}`)
    await t.api('post', `/projects/${project.id}/members`, admin).send({ user_id: member.id, access_level: 10 }).expect(201)
    for (const who of [member, old, admin]) await t.api('post', `/projects/${project.id}/issues`, who).send({ title: MARKED }).expect(201)
    await t.api('post', `/projects/${project.id}/issues`, author).send({ title: MARKED, confidential: true }).expect(201)
    await t.api('post', '/snippets', author).send({ title: MARKED, file_name: 'a', content: MARKED, visibility: 'private' }).expect(201)
    const internal = await aProject(t.ctx, { creator: admin, visibility: 'internal' })
    await t.api('post', `/projects/${internal.id}/issues`, author).send({ title: MARKED }).expect(201)
    await put({ spamfilter_enabled: false })
    await t.api('post', `/projects/${project.id}/issues`, author).send({ title: MARKED }).expect(201)
    expect(filter.got).toEqual([])
  })

  it('lets texts pass while it does not answer or has no key, and holds 20 of a user (WB-202)', async () => {
    const post = () => t.api('post', `/projects/${project.id}/issues`, author).send({ title: MARKED })
    const { answer } = filter
    filter.answer = () => ({ silent: true })
    await post().expect(201)
    filter.answer = () => ({ status: 500 })
    await post().expect(201)
    filter.answer = () => ({ body: 'invalid' })
    await post().expect(201)
    await put({ spamfilter_api_key: '' })
    await post().expect(201)
    await put({ spamfilter_api_key: 'a-key' })
    filter.answer = answer
    for (let n = 0; n < 22; n++) await post().expect(400)
    const [held] = (await t.ctx.db.write.execute(sql`select count(*)::int as n from held_texts`)).rows
    expect(held).toEqual({ n: 20 })
  })

  it('says on pages that the text is held, and keeps what was typed (WB-202)', async () => {
    const browser = await signedIn(author)
    await browser.open(`/${project.fullPath}/-/issues/new`)
    const page = await browser.submit(`/${project.fullPath}/-/issues`, { 'issue[title]': MARKED })
    expect(page.status).toBe(422)
    expect(page.text).toContain('An administrator will read it')
    expect(page.$('[name="issue[title]"]').val()).toBe(MARKED)
  })
})
