import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { proxyPath } from '../../../src/services/core/external-pictures.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { mailbox, type Received } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'Roost Mail <roost@example.org>' })

/** A project with an author, and a reader to whom everything is assigned. */
async function pair(given: { author?: object; project?: object } = {}) {
  const [author, reader] = [await aUser(t.ctx, given.author), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: author, developer: reader, ...given.project })
  return { author, reader, project }
}

const anIssue = async ({ project, author, reader }: { project: TestProject; author: TestUser; reader: TestUser }, given: object = {}) =>
  (
    await t
      .api('post', `${project.path}/issues`, author)
      .send({ title: 'A title', assignee_ids: [reader.id], ...given })
      .expect(201)
  ).body

const only = async (who: TestUser): Promise<Received> => {
  const [mail, ...more] = await box.to(who.email)
  expect(more).toEqual([])
  expect(mail).toBeDefined()
  return mail as Received
}

const note = (project: TestProject, by: TestUser, iid: number, body: string) =>
  t.api('post', `${project.path}/issues/${iid}/notes`, by).send({ body }).expect(201)

describe('a mail', () => {
  it('has the headers of ML-15', async () => {
    const all = await pair()
    const { author, reader, project } = all
    await anIssue(all)
    const mail = await only(reader)
    expect(mail.sender).toBe('roost@example.org')
    expect(mail.from).toMatchObject({ name: author.name, address: 'roost@example.org' })
    expect(mail.to).toMatchObject([{ name: reader.name, address: reader.email }])
    expect(mail.subject).toBe(`${project.fullPath.split('/')[1]} | A title (#1)`)
    const headers = ['auto-submitted', 'x-roost-project', 'x-roost-project-id', 'x-roost-event', 'x-roost-reason', 'list-id', 'list-unsubscribe-post']
    expect(headers.map((name) => mail.header(name))).toEqual([
      'auto-generated',
      project.fullPath,
      String(project.id),
      'new_issue',
      'assigned',
      `${project.fullPath} <${project.fullPath.split('/').reverse().join('.')}.roost.test>`,
      'List-Unsubscribe=One-Click',
    ])
    expect(mail.header('date')).toBeDefined()
  })

  it('has a plain text and the same as HTML, in which nothing runs (ML-14)', async () => {
    const all = await pair()
    const description = 'Some *text* <script>alert(1)</script>, [here](/uploads/abc/x.txt), [there](docs/a.md)'
    const { iid } = await anIssue(all, { title: 'Less < more & "so"', description })
    const mail = await only(all.reader)
    const page = `http://roost.test/${all.project.fullPath}`
    expect(mail.text).toContain(description)
    expect(mail.text).toContain(`View it: ${page}/issues/${iid}`)
    expect(mail.text).toContain('You get this mail because it is or was assigned to you.')
    expect(mail.html).toContain('Less &lt; more &amp; &quot;so&quot;')
    expect(mail.html).toContain('Some <em>text</em>')
    expect(mail.html).toContain(`<a href="${page}/uploads/abc/x.txt">here</a>`)
    expect(mail.html).toContain(`<a href="${page}/docs/a.md">there</a>`)
    expect(mail.html).not.toMatch(/script|alert/)
  })

  it('is a page with the project, the title, who wrote, lines of a diff and one button (ML-29)', async () => {
    const all = await pair()
    const { iid } = await anIssue(all, { title: 'A <title>' })
    const page = `http://roost.test/${all.project.fullPath}`
    const place = all.project.fullPath.replace('/', ' / ')
    const [fresh, written] = [await only(all.reader), await note(all.project, all.author, iid, 'Well.').then(() => only(all.reader))]
    for (const [mail, lead, link] of [
      [fresh, `${all.author.name} created Issue #${iid}:`, `${page}/issues/${iid}`],
      [written, `${all.author.name} wrote:`, `${page}/issues/${iid}#note_`],
    ] as const) {
      const html = mail.html || ''
      expect(html).toContain(
        `<a href="${page}">${place}</a></p>\n<h1><a href="${page}/issues/${iid}">A &lt;title&gt; (#${iid})</a></h1>\n<p>${lead}</p>`,
      )
      expect(html.match(/<a class="button" href="([^"]*)">View it<\/a>/g)).toHaveLength(1)
      expect(html).toContain(`<a class="button" href="${link}`)
      expect(html).not.toMatch(/ src=|url\(|@import|<link/)
    }
  })

  it('has the colours of pages (ML-29)', () => {
    const [mail, pages] = ['src/services/core/mail-page.ts', 'src/web/assets/styles/values.css'].map((path) => readFileSync(path, 'utf8'))
    const colors = mail?.match(/#[0-9a-f]{6}/g) ?? []
    expect(colors.length).toBeGreaterThan(10)
    expect(colors.filter((color) => !pages?.includes(color))).toEqual([])
  })

  it('has pictures of other sites by the proxy, or as links while it is off, and those of projects as links (ML-14, WB-460)', async () => {
    const address = 'https://example.com/i.png?a=1&b=2'
    const description = `![a "picture"](${address}) ![x](docs/a.png) ![y](/uploads/abc/y.png) ![z](http://roost.test/z.png)`
    const own = (page: string) =>
      `<a href="${page}/docs/a.png">x</a> <a href="${page}/uploads/abc/y.png">y</a> <a href="http://roost.test/z.png">z</a>`
    const link = '<a href="https://example.com/i.png?a=1&amp;b=2">a &quot;picture&quot;</a>'
    const picture = `<img src="http://roost.test${proxyPath(t.ctx, address)}" alt="a &quot;picture&quot;">`
    for (const [external_images, shown] of [
      ['proxy', picture],
      ['off', link],
      ['direct', link],
    ] as const) {
      await setSettings(t.ctx, { external_images, external_image_hosts: ['example.com'] })
      const all = await pair()
      await anIssue(all, { description })
      expect((await only(all.reader)).html).toContain(`${shown} ${own(`http://roost.test/${all.project.fullPath}`)}`)
    }
  })

  it('is plain text alone while html_emails_enabled is off, and names its author in the text with email_author_in_body', async () => {
    const all = await pair()
    await setSettings(t.ctx, { html_emails_enabled: false, email_author_in_body: true })
    const { iid } = await anIssue(all)
    const mail = await only(all.reader)
    expect(mail.html).toBeUndefined()
    expect(mail.header('content-type')).toContain('text/plain')
    expect(mail.text).toContain(`${all.author.name} created Issue #1:`)
    await note(all.project, all.author, iid, 'Well.')
    expect((await only(all.reader)).text).toContain(`${all.author.name} wrote:\n\nWell.`)
    await setSettings(t.ctx, {})
    await note(all.project, all.author, iid, 'Well.')
    const plain = await only(all.reader)
    expect(plain.text).not.toContain('wrote:')
    expect(plain.html).toContain('Well.')
  })

  it('has 20,000 characters of a text, and no half of one (ML-14)', async () => {
    const all = await pair()
    await anIssue(all, { description: `${'x'.repeat(19_999)}🦉${'y'.repeat(50_000)}` })
    const { text = '' } = await only(all.reader)
    expect(text).toContain(`${'x'.repeat(19_999)}…\n\n(The rest is not in this mail.)`)
    expect(text).not.toContain('y'.repeat(10))
    expect(text.length).toBeLessThan(21_000)
  })
})

describe('a thread (ML-16)', () => {
  it('holds together: one id, equal subjects', async () => {
    const all = await pair()
    const { iid } = await anIssue(all)
    const first = await only(all.reader)
    await note(all.project, all.author, iid, 'one')
    const second = await only(all.reader)
    await note(all.project, all.author, iid, 'two')
    const third = await only(all.reader)
    expect(first.messageId).toMatch(/^<issue-\d+@roost\.test>$/)
    expect(first.header('in-reply-to')).toBeUndefined()
    for (const reply of [second, third]) {
      expect([reply.header('in-reply-to'), reply.header('references')]).toEqual([first.messageId, first.messageId])
      expect(reply.subject).toBe(`Re: ${first.subject}`)
    }
    expect(new Set([first, second, third].map(({ messageId }) => messageId)).size).toBe(3)
    await anIssue(all)
    expect((await only(all.reader)).messageId).not.toBe(first.messageId)
  })
})

describe('names and titles (ML-15)', () => {
  it.each(['\r\n', '\n', '\r', '\u2028', '\u0085'])('add no header and no recipient with %j', async (end) => {
    const evil = `x${end}Bcc: victim@example.com${end}X-Evil: 1${end}${end}<b>body</b>`
    const all = await pair({ author: { name: `N ${evil}`.slice(0, 100) } })
    await anIssue(all, { title: `T ${evil}` })
    const mail = await only(all.reader)
    expect(mail.header('bcc')).toBeUndefined()
    expect(mail.header('x-evil')).toBeUndefined()
    expect(mail.subject).toContain('T x Bcc: victim@example.com X-Evil: 1')
    expect(mail.from).toMatchObject({ address: 'roost@example.org' })
    expect(box.asked).not.toContain('victim@example.com')
  })

  it('with quotes, commas, angle brackets and letters of all kinds arrive as they are', async () => {
    const name = '"A", <b@example.com> & Zoë 🦉 李'
    const all = await pair({ author: { name } })
    await anIssue(all, { title: `Ünïcode ${'long '.repeat(40)}title` })
    const mail = await only(all.reader)
    expect(mail.from).toMatchObject({ name, address: 'roost@example.org' })
    expect(mail.subject).toContain(`Ünïcode ${'long '.repeat(40)}title`)
  })
})

describe('unsubscribing by the link (ML-17)', () => {
  const linkOf = (mail: Received) => new URL((mail.header('list-unsubscribe') ?? '').replace(/^<|>$/g, ''))
  const here = (link: URL) => `${t.url}${link.pathname}${link.search}`

  it('takes one POST without looking at the page, and no sign-in', async () => {
    const all = await pair()
    const { iid } = await anIssue(all)
    const mail = await only(all.reader)
    const link = linkOf(mail)
    expect(link.origin).toBe('http://roost.test')
    expect(mail.text).toContain(`Unsubscribe: ${link}`)
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })
    expect((await fetch(here(link), { method: 'POST', body })).status).toBe(200)
    await note(all.project, all.author, iid, `@${all.reader.username}`)
    expect(await box.to(all.reader.email)).toEqual([])
    await anIssue(all)
    await only(all.reader)
  })

  it('takes a form of either kind, and GET changes nothing', async () => {
    const all = await pair()
    const { iid } = await anIssue(all)
    const link = linkOf(await only(all.reader))
    const page = await fetch(here(link))
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('<form method="post" action="/sent_notifications/unsubscribe" class="form">')
    await note(all.project, all.author, iid, 'still here')
    await only(all.reader)
    const body = new FormData()
    body.set('List-Unsubscribe', 'One-Click')
    expect((await fetch(here(link), { method: 'POST', body })).status).toBe(200)
    await note(all.project, all.author, iid, 'not any more')
    expect(await box.to(all.reader.email)).toEqual([])
  })

  it('is for one user and one item, and cannot be guessed', async () => {
    const all = await pair()
    await anIssue(all)
    const link = linkOf(await only(all.reader))
    const token = link.searchParams.get('token') ?? ''
    const [user, type, id, ...signature] = token.split('-')
    const others = [
      '',
      'x',
      `${all.author.id}-${type}-${id}-${signature.join('-')}`,
      `${user}-MergeRequest-${id}-${signature.join('-')}`,
      `${user}-${type}-${Number(id) + 1}-${signature.join('-')}`,
      token.slice(0, -1),
      `${token}x`,
    ]
    for (const other of others)
      for (const method of ['GET', 'POST'])
        expect((await fetch(`${t.url}/sent_notifications/unsubscribe?token=${encodeURIComponent(other)}`, { method })).status).toBe(404)
    await t.api('delete', `${all.project.path}/issues/1`, all.author).expect(204)
    expect((await fetch(here(link), { method: 'POST' })).status).toBe(404)
  })
})
