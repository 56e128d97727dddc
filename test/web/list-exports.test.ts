import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { LEVELS } from '../../src/access/can.js'
import { users } from '../../src/db/schema/index.js'
import { csvMail } from '../../src/services/mail/csv.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { mailbox } from '../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })
const quiet = testApp()

const inDays = (days: number) => new Date(t.ctx.now().getTime() + days * 86_400_000).toISOString().slice(0, 10)
const anIssue = async (project: TestProject, given: object, who: TestUser = project.creator) =>
  (
    await t
      .api('post', `${project.path}/issues`, who)
      .send({ title: 'x', ...given })
      .expect(201)
  ).body
async function browserOf(user: TestUser, app = t): Promise<TestBrowser> {
  const browser = new TestBrowser(app.url)
  await browser.signIn(user)
  return browser
}

interface Entry {
  summary: string
  day: string
  url: string
}

/** Reads a calendar as RFC 5545 says: long lines are folded, and texts are escaped. */
function entriesOf(text: string): Entry[] {
  expect([text.startsWith('BEGIN:VCALENDAR\r\n'), text.endsWith('\r\nEND:VCALENDAR')]).toEqual([true, true])
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
  const lines = text.replace(/\r\n /g, '').split('\r\n')
  const plain = (value: string) => value.replace(/\\([nN\\;,])/g, (_, escaped: string) => (escaped.toLowerCase() === 'n' ? '\n' : escaped))
  const all = (start: string) => lines.filter((line) => line.startsWith(start)).map((line) => plain(line.slice(start.length)))
  const [days, urls] = [all('DTSTART;VALUE=DATE:'), all('URL;VALUE=URI:')]
  return all('SUMMARY:').map((summary, i) => ({ summary, day: days[i] ?? '', url: urls[i] ?? '' }))
}

async function calendar(path: string, token?: string): Promise<{ status: number; entries: Entry[]; type: string | null }> {
  const answer = await fetch(`${t.url}${path}${token === undefined ? '' : `${path.includes('?') ? '&' : '?'}feed_token=${token}`}`, {
    redirect: 'manual',
    headers: { accept: 'text/calendar' },
  })
  const text = await answer.text()
  return { status: answer.status, entries: answer.status === 200 ? entriesOf(text) : [], type: answer.headers.get('content-type') }
}

const tokenOf = async (user: TestUser) =>
  String((await (await browserOf(user)).open('/-/profile/personal_access_tokens')).$('#feed-token').attr('value'))

describe('calendars of issues', () => {
  let owner: TestUser
  let project: TestProject
  let group: Awaited<ReturnType<typeof aGroup>>
  let token: string
  const AWKWARD = 'Release, or not; "ä" \\n'

  beforeAll(async () => {
    owner = await aUser(t.ctx)
    group = await aGroup(t.ctx, { creator: owner, visibility: 'private' })
    project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'private' })
    await anIssue(project, { title: AWKWARD, due_date: inDays(3), assignee_ids: [owner.id], labels: 'one' })
    await anIssue(project, { title: 'late', due_date: inDays(-3) })
    await anIssue(project, { title: 'long ago', due_date: inDays(-30) })
    await anIssue(project, { title: 'without' })
    const { iid } = await anIssue(project, { title: 'closed', due_date: inDays(1) })
    await t.api('put', `${project.path}/issues/${iid}`, owner).send({ state_event: 'close' }).expect(200)
    token = await tokenOf(owner)
  })

  it('of a project, a group and one’s own have what is due, first what is due first (RX-34)', async () => {
    const late = {
      summary: `late (${project.fullPath}#2)`,
      day: inDays(-3).replaceAll('-', ''),
      url: `http://roost.test/${project.fullPath}/-/issues/2`,
    }
    const soon = {
      summary: `${AWKWARD} (${project.fullPath}#1)`,
      day: inDays(3).replaceAll('-', ''),
      url: `http://roost.test/${project.fullPath}/-/issues/1`,
    }
    for (const path of [`/${project.fullPath}/-/issues.ics`, `/${project.fullPath}/issues.ics`, `/groups/${group.fullPath}/-/issues.ics`])
      expect(await calendar(path, token)).toEqual({ status: 200, type: 'text/calendar; charset=utf-8', entries: [late, soon] })
    expect((await calendar('/dashboard/issues.ics', token)).entries).toEqual([soon])
    const titles = async (query: string) =>
      (await calendar(`/${project.fullPath}/-/issues.ics?${query}`, token)).entries.map(({ summary }) => summary.split(' (')[0])
    expect(await titles('due_date=any')).toEqual(['long ago', 'late', AWKWARD])
    expect(await titles('due_date=any&state=all')).toEqual(['long ago', 'late', 'closed', AWKWARD])
    expect(await titles('label_name[]=one')).toEqual([AWKWARD])
    expect(await titles('due_date=0')).toEqual([])
    expect(await titles('due_date=tomorrow&state=closed')).toEqual(['closed'])
    expect(await titles('due_date=today')).toEqual([])
  })

  it('have what their reader sees, and no more (RX-34)', async () => {
    const at = `/${project.fullPath}/-/issues.ics`
    const stranger = await aUser(t.ctx)
    expect((await calendar(at)).status).toBe(404)
    expect((await calendar(at, await tokenOf(stranger))).status).toBe(404)
    expect((await calendar(at, 'wrong')).status).toBe(401)
    expect((await calendar('/dashboard/issues.ics')).status).toBe(401)
    expect((await calendar(`/${project.fullPath}/-/merge_requests.ics`, token)).status).toBe(404)
    const open = await aProject(t.ctx, { visibility: 'public' })
    await anIssue(open, { title: 'secret', due_date: inDays(1), confidential: true })
    await anIssue(open, { title: 'plain', due_date: inDays(1) })
    for (const who of [undefined, token])
      expect((await calendar(`/${open.fullPath}/-/issues.ics`, who)).entries).toMatchObject([{ summary: expect.stringContaining('plain') }])
  })

  it('are offered where issues are listed, and whole on the page of tokens (RX-34)', async () => {
    const browser = await browserOf(owner)
    await browser.open(`/${project.fullPath}/-/issues`)
    const { $ } = browser.page ?? expect.fail('no page')
    expect($('a:contains("Calendar")').attr('href')).toBe(`/${project.fullPath}/-/issues.ics?due_date=next_month_and_previous_two_weeks`)
    const answer = await browser.follow('Calendar')
    expect(entriesOf(answer.html)).toHaveLength(2)
    const page = await browser.open('/-/profile/personal_access_tokens')
    const address = String(page.$('#calendar').attr('value'))
    expect(await calendar(address.replace('http://roost.test', ''))).toMatchObject({ status: 200, entries: [{}] })
  })
})

describe('tables by mail', () => {
  /** Makes a table that was asked for earlier. */
  const makeTable = (input: Parameters<typeof csvMail.run>[1]) =>
    csvMail.run(t.ctx, input, { id: 1, number: 1, signal: new AbortController().signal })

  const ask = async (browser: TestBrowser, path: string) => {
    await browser.open(path)
    return browser.submit('Mail me these as CSV')
  }
  const tableOf = async (user: TestUser) => {
    const [mail, ...more] = await box.to(user.email)
    expect(more).toEqual([])
    const [{ filename, content } = expect.fail('no attachment'), ...others] = mail?.attachments ?? expect.fail('no mail')
    expect(others).toEqual([])
    const table = typeof content === 'string' ? content : new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)
    return { text: mail?.text, filename, table }
  }

  it('have the issues of a list with its filters, none of them a formula (RX-35)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private' })
    await anIssue(project, { title: '=cmd|"/c calc"!A1', description: 'two\nlines, "quoted"', labels: 'one,two', due_date: '2030-01-02' })
    await anIssue(project, { title: 'other', description: '+1' })
    const done = await ask(await browserOf(owner), `/${project.fullPath}/-/issues?sort=created_asc`)
    expect(done.text).toContain('A table of 2 issues is mailed to you.')
    const { text, filename, table } = await tableOf(owner)
    expect(text).toContain('2 of 2')
    expect(filename).toMatch(/_issues\.csv$/)
    expect(table).toMatch(/^\ufeff"Title","Description","Issue ID","URL","State"/)
    const address = `http://roost.test/${project.fullPath}/-/issues`
    expect(table).toContain(`\r\n"'=cmd|""/c calc""!A1","two\nlines, ""quoted""","1","${address}/1","Open"`)
    expect(table).toContain(`\r\n"other","'+1","2","${address}/2"`)
    expect(table).toContain('"one,two"')
    const filtered = await ask(await browserOf(owner), `/${project.fullPath}/-/issues?label_name[]=one`)
    expect(filtered.text).toContain('A table of 1 issues is mailed to you.')
    expect((await tableOf(owner)).table).not.toContain('other')
  })

  it('have merge requests, too, and what the reader sees when they are made (RX-35)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    await t
      .api('post', `${project.path}/repository/commits`, owner)
      .send({ branch: 'topic', start_branch: 'main', commit_message: 'x', actions: [{ action: 'create', file_path: 'b', content: 'b' }] })
      .expect(201)
    await t.api('post', `${project.path}/merge_requests`, owner).send({ title: '@one', source_branch: 'topic', target_branch: 'main' }).expect(201)
    const at = `/${project.fullPath}/-/merge_requests`
    expect((await ask(await browserOf(owner), at)).text).toContain('A table of 1 merge requests is mailed to you.')
    expect((await tableOf(owner)).table).toContain(
      `"'@one",,"1","http://roost.test/${project.fullPath}/-/merge_requests/1","opened","topic","main","${owner.name}"`,
    )
    // one who may not any more when the table is made gets none
    const reader = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, owner).send({ user_id: reader.id, access_level: LEVELS.reporter }).expect(201)
    await t.api('delete', `${project.path}/members/${reader.id}`, owner).expect(204)
    await makeTable({ user: reader.id, project: project.id, kind: 'merge_requests', iids: [1], total: 1 })
    expect(await box.to(reader.email)).toEqual([])
  })

  it('leave out confidential issues that became so meanwhile, and are not offered without mail or to strangers (RX-35)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const { iid } = await anIssue(project, { title: 'soon secret' })
    await anIssue(project, { title: 'plain' })
    const reader = await aUser(t.ctx)
    await t.api('put', `${project.path}/issues/${iid}`, owner).send({ confidential: true }).expect(200)
    await makeTable({ user: reader.id, project: project.id, kind: 'issues', iids: [iid, iid + 1], total: 2 })
    const content = (await tableOf(reader)).table
    expect([content.includes('plain'), content.includes('soon secret')]).toEqual([true, false])
    expect((await new TestBrowser(t.url).open(`/${project.fullPath}/-/issues`)).text).not.toContain('CSV')
    // an address that is not confirmed
    const browser = await browserOf(reader)
    await browser.open(`/${project.fullPath}/-/issues`)
    await t.ctx.db.write.update(users).set({ confirmed_at: null }).where(eq(users.id, reader.id))
    expect((await browser.submit('Mail me these as CSV')).text).toContain('Confirm your e-mail address first')
    const other = await aProject(quiet.ctx, { visibility: 'public' })
    await quiet.api('post', `${other.path}/issues`, other.creator).send({ title: 'x' }).expect(201)
    const silent = await browserOf(other.creator, quiet)
    const page = await silent.open(`/${other.fullPath}/-/issues`)
    expect(page.text).not.toContain('CSV')
    const authenticity_token = String(page.$('input[name=authenticity_token]').first().val())
    const refused = await silent.post(`/${other.fullPath}/-/issues/export_csv`, { authenticity_token })
    expect([refused.status, refused.text.includes('No mail is sent by this service')]).toEqual([400, true])
  })
})
