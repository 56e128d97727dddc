import { eq } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { emails, issues, projects, receivedMails, users } from '../../../../src/db/schema/index.js'
import { replyAddress } from '../../../../src/services/mail/replies/keys.js'
import { receiveMail } from '../../../../src/services/mail/replies/receive.js'
import { testApp } from '../../../support/app.js'
import { aCommit, aProject, aUser, type TestProject, type TestUser } from '../../../support/factories.js'
import { aMergeRequest } from '../../../support/merge-requests.js'
import { mailbox } from '../../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'Roost <roost@example.org>', ROOST_REPLY_ADDRESS: 'reply+%{key}@Example.org' })

const post = (path: string, by: TestUser, sent: object = {}) => t.api('post', path, by).send(sent)
const get = async (path: string, by: TestUser) => (await t.api('get', path, by).expect(200)).body
const comments = async (path: string, by: TestUser) =>
  (await get(`${path}/notes?sort=asc`, by)).filter(({ system }: { system: boolean }) => !system).map(({ body }: { body: string }) => body)

let count = 0
interface Sent {
  from: string
  to: string
  text?: string
  headers?: Record<string, string>
  id?: string | null
  type?: string
}
/** The source of a mail. */
const mailOf = ({ from, to, text = 'Yes.', headers = {}, id = `<${++count}@client.example>`, type = 'text/plain; charset=utf-8' }: Sent) =>
  Buffer.from(
    [
      `From: Somebody <${from}>`,
      `To: Roost <${to}>`,
      'Subject: Re: A title',
      ...(id === null ? [] : [`Message-ID: ${id}`]),
      `Content-Type: ${type}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      text,
    ].join('\r\n'),
  )
const receive = (sent: Sent, envelope: string[] = []) => receiveMail(t.ctx, mailOf(sent), envelope)

/** The address in `Reply-To` of the newest mail to somebody. */
async function answerAddress(who: TestUser): Promise<string> {
  const address = (await box.to(who.email)).at(-1)?.replyTo?.[0]
  return (address && 'address' in address && address.address) || ''
}

interface Place {
  project: TestProject
  owner: TestUser
  ann: TestUser
  issue: string
}
/** An issue that is assigned to Ann, who has been mailed about it. */
async function aPlace(more: object = {}): Promise<Place & { to: string }> {
  const ann = await aUser(t.ctx)
  const project = await aProject(t.ctx, { developer: ann, files: { 'a.txt': 'one\n' }, ...more })
  const owner = project.creator
  const { iid } = (await post(`${project.path}/issues`, owner, { title: 'A title', assignee_ids: [ann.id] }).expect(201)).body
  return { project, owner, ann, issue: `${project.path}/issues/${iid}`, to: await answerAddress(ann) }
}

describe('an answer to a mail', () => {
  let place: Awaited<ReturnType<typeof aPlace>>
  beforeAll(async () => {
    place = await aPlace()
  })

  it('has an address, which differs from user to user (ML-621)', async () => {
    const { project, owner, ann } = place
    const other = await aUser(t.ctx)
    await post(`${project.path}/members`, owner, { user_id: other.id, access_level: 30 }).expect(201)
    await post(`${project.path}/issues`, owner, { title: 'Both', assignee_ids: [ann.id, other.id] }).expect(201)
    const [first] = await box.to(ann.email)
    const addresses = [await answerAddress(other), String(first?.header('reply-to'))]
    for (const address of addresses) expect(address).toMatch(/^<?reply\+i\w+-\w+-\w+-[0-9a-f]{24}@example\.org>?$/)
    expect(new Set(addresses.map((address) => address.replace(/[<>]/g, ''))).size).toBe(2)
    expect(first?.text).toContain('Answer this mail to comment.')
  })

  it('becomes a comment of the user, without what it quotes (ML-620, ML-624)', async () => {
    const { ann, owner, issue, to } = place
    const text = 'Yes, **please**.\r\n\r\nOn Monday, Ann <reply+x@example.org> wrote:\r\n> Is it?\r\n'
    const outcome = await receive({ from: ann.email.toUpperCase(), to: to.toUpperCase(), text })
    expect(outcome).toEqual({ taken: expect.any(Number) })
    const notes = await get(`${issue}/notes`, owner)
    expect(notes[0]).toMatchObject({ body: 'Yes, **please**.', author: { id: ann.id } })
  })

  it('to a mail about a thread goes into that thread; about a commit and a snippet too (ML-620)', async () => {
    const { project, owner, ann } = place
    const { body: commit } = { body: (await get(`${project.path}/repository/commits`, owner))[0] }
    const request = await aMergeRequest(t, { project, sent: { assignee_ids: [ann.id] } })
    const snippet = (await post(`${project.path}/snippets`, owner, { title: 'S', file_name: 's', content: 's', visibility: 'private' }).expect(201))
      .body
    for (const path of [request.path, `${project.path}/repository/commits/${commit.id}`, `${project.path}/snippets/${snippet.id}`]) {
      await box.to(ann.email)
      const thread = (await post(`${path}/discussions`, owner, { body: `Why, @${ann.username}?` }).expect(201)).body
      expect(await receive({ from: ann.email, to: await answerAddress(ann), text: 'Because.' })).toEqual({ taken: expect.any(Number) })
      const { notes } = await get(`${path}/discussions/${thread.id}`, owner)
      expect(notes.map(({ body }: { body: string }) => body)).toEqual([`Why, @${ann.username}?`, 'Because.'])
    }
    await box.to(ann.email)
    await post(`${request.path}/draft_notes/bulk_publish`, owner, { note: `All in all @${ann.username}` }).expect(204)
    await receive({ from: ann.email, to: await answerAddress(ann), text: 'Well.' })
    expect((await comments(request.path, owner)).at(-1)).toBe('Well.')
  })

  it('is taken once, by its Message-ID or its content (ML-626)', async () => {
    const { ann, owner, issue, to } = place
    const before = (await comments(issue, owner)).length
    for (const id of ['<once@client.example>', null]) {
      const sent = { from: ann.email, to, text: `Once ${id}.`, id }
      const outcomes = await Promise.all([receive(sent), receive(sent)])
      expect(outcomes.filter((outcome) => 'taken' in outcome)).toHaveLength(1)
      expect(await receive(sent)).toEqual({ ignored: 'it has been taken before' })
    }
    expect((await comments(issue, owner)).length).toBe(before + 2)
    await t.ctx.db.write.update(receivedMails).set({ received_at: new Date('2020-01-01') })
    await receive({ from: ann.email, to, text: 'Another.' })
    expect(await t.ctx.db.write.$count(receivedMails)).toBe(1)
  })

  it('carries out commands (ML-622, QA-2)', async () => {
    const { ann, owner, issue, to } = await aPlace()
    expect(await receive({ from: ann.email, to, text: '/close\nDone.' })).toEqual({ taken: expect.any(Number) })
    expect([(await get(issue, owner)).state, await comments(issue, owner)]).toEqual(['closed', ['Done.']])
    expect(await receive({ from: ann.email, to, text: '/reopen' })).toEqual({ taken: null })
    expect((await get(issue, owner)).state).toBe('opened')
  })

  it('in HTML alone is its text (ML-624)', async () => {
    const { ann, owner, issue, to } = await aPlace()
    const text = '<div>One &amp; <b>two</b></div><div class="gmail_quote"><blockquote>Is it?</blockquote></div>'
    await receive({ from: ann.email, to, text, type: 'text/html; charset=utf-8' })
    expect(await comments(issue, owner)).toEqual(['One & two'])
  })

  it('has its files as uploads (ML-623)', async () => {
    const { ann, owner, project, issue, to } = await aPlace()
    const part = (type: string, disposition: string, content: string) =>
      `--q\r\nContent-Type: ${type}\r\nContent-Disposition: ${disposition}\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(content).toString('base64')}\r\n`
    const text = `--q\r\nContent-Type: text/plain\r\n\r\nSee.\r\n${part('image/png', 'inline; filename="a b.png"', 'png')}${part('text/plain', 'attachment; filename=notes.txt', 'notes')}${part('application/pgp-signature', 'attachment; filename=x.asc', 'x')}--q--\r\n`
    const sent = { from: ann.email, to, text, type: 'multipart/mixed; boundary=q' }
    await receive(sent)
    const [body] = await comments(issue, owner)
    expect(body).toMatch(/^See\.\n\n!\[a_?b\]\(\/uploads\/[0-9a-f]{32}\/a_?b\.png\)\n\[notes\.txt\]\(\/uploads\/[0-9a-f]{32}\/notes\.txt\)$/)
    const [, address = ''] = /\((\/uploads\/[^)]*notes\.txt)\)/.exec(body) ?? []
    const answer = await fetch(`${t.url}/${project.fullPath}${address}`, { headers: { 'private-token': owner.token } })
    expect(await answer.text()).toBe('notes')
    const admin = await aUser(t.ctx, { admin: true })
    await t.api('put', '/application/settings', admin).send({ max_attachment_size: 1 }).expect(200)
    const large = {
      ...sent,
      id: '<large@client.example>',
      text: `--q\r\n\r\nSee.\r\n${part('text/plain', 'attachment; filename=l.txt', 'x'.repeat(1_100_000))}--q--`,
    }
    expect(await receive(large)).toEqual({ refused: 'The file l.txt is larger than 1 MiB.' })
    expect((await comments(issue, owner)).length).toBe(1)
    await t.api('put', '/application/settings', admin).send({ max_attachment_size: 10 }).expect(200)
  })
})

describe('an answer that is not taken', () => {
  it('is ignored if a program has written it (ML-625)', async () => {
    const { ann, owner, issue, to } = await aPlace()
    const headers: Record<string, string>[] = [
      { 'Auto-Submitted': 'auto-replied' },
      { Precedence: 'bulk' },
      { 'X-Autoreply': 'yes' },
      { 'X-Roost-Event': 'new_note' },
      { 'Return-Path': '<>' },
    ]
    for (const each of headers)
      expect([each, await receive({ from: ann.email, to, headers: each })]).toEqual([each, { ignored: 'a program has written it' }])
    expect(await receive({ from: 'roost@example.org', to })).toEqual({ ignored: 'a program has written it' })
    expect(await receive({ from: ann.email, to, type: 'multipart/report; report-type=delivery-status; boundary=q' })).toEqual({
      ignored: 'a program has written it',
    })
    expect(await receive({ from: ann.email, to, headers: { 'Auto-Submitted': 'no' } })).toEqual({ taken: expect.any(Number) })
    expect(await comments(issue, owner)).toHaveLength(1)
    expect((await box.to(ann.email)).filter((mail) => mail.header('x-roost-event') === 'reply_refused')).toEqual([])
  })

  it('is ignored if its address is none of this service, or its sender another (ML-621)', async () => {
    const { project, owner, ann, issue, to } = await aPlace()
    const other = await aUser(t.ctx)
    await post(`${project.path}/members`, owner, { user_id: other.id, access_level: 30 }).expect(201)
    const forged = to.replace(/[0-9a-f]@/, (end) => (end === '0@' ? '1@' : '0@'))
    for (const address of [forged, 'reply+x@example.org', 'someone@example.org', to.replace('example.org', 'example.com')])
      expect(await receive({ from: ann.email, to: address })).toEqual({ ignored: 'it was sent to no address of this service' })
    for (const from of [other.email, 'no.one@example.com']) expect(await receive({ from, to })).toEqual({ ignored: 'its sender is another' })
    await post('/user/emails', ann, { email: 'second@example.com' }).expect(201)
    expect(await receive({ from: 'second@example.com', to })).toEqual({ ignored: 'its sender is another' })
    await t.ctx.db.write.update(emails).set({ confirmed_at: new Date() }).where(eq(emails.email, 'second@example.com'))
    expect(await receive({ from: 'second@example.com', to: 'list@example.org' }, [to])).toEqual({ taken: expect.any(Number) })
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, ann.id))
    expect(await receive({ from: ann.email, to })).toEqual({ ignored: 'its sender is blocked' })
    expect(await comments(issue, owner)).toHaveLength(1)
  })

  it('is refused by one mail that says why, where the API would refuse it (ML-622, ML-627)', async () => {
    const { project, owner, ann, issue, to } = await aPlace({ visibility: 'public' })
    const refused = async (text: string) => {
      const outcome = await receive({ from: ann.email, to, text, id: `<${++count}@why.example>` })
      const mails = (await box.to(ann.email)).filter((mail) => mail.header('x-roost-event') === 'reply_refused')
      expect(mails).toHaveLength(1)
      expect([mails[0]?.subject, mails[0]?.header('auto-submitted'), mails[0]?.header('in-reply-to')]).toEqual([
        'Re: A title',
        'auto-replied',
        `<${count}@why.example>`,
      ])
      const [why = ''] = Object.values(outcome)
      expect(mails[0]?.text).toContain(String(why))
      expect(outcome).toEqual({ refused: why })
      return String(why)
    }
    expect(await refused('> quoted\n')).toBe('It has no new text: write above the text that you quote.')
    await t.api('put', issue, owner).send({ discussion_locked: true }).expect(200)
    await t.api('delete', `${project.path}/members/${ann.id}`, owner).expect(204)
    await box.to(ann.email)
    expect(await refused('Locked.')).toBe('You may not comment there.')
    await t.ctx.db.write.update(issues).set({ confidential: true, assignee_ids: [] })
    expect(await refused('Hidden.')).toBe('What you answered is not there any more, or you do not see it any more.')
    await t.ctx.db.write.update(issues).set({ confidential: false, discussion_locked: false })
    await t.ctx.db.write.update(projects).set({ archived: true }).where(eq(projects.id, project.id))
    expect(await refused('Archived.')).toBe('You may not comment there.')
    expect(await comments(issue, owner)).toEqual([])
  })

  it('waits while the service is read-only (ML-622, WB-180)', async () => {
    const { ann, owner, issue, to } = await aPlace()
    const admin = await aUser(t.ctx, { admin: true })
    const readOnly = (maintenance_mode: boolean) => t.api('put', '/application/settings', admin).send({ maintenance_mode }).expect(200)
    await readOnly(true)
    const sent = { from: ann.email, to, id: '<waits@client.example>' }
    await expect(receive(sent)).rejects.toThrow('This service is read-only at the moment')
    await readOnly(false)
    expect(await receive(sent)).toEqual({ taken: expect.any(Number) })
    expect(await comments(issue, owner)).toEqual(['Yes.'])
  })

  it('is refused when the mail is older than 180 days (ML-621)', async () => {
    const { ann } = await aPlace()
    const past = { ...t.ctx, config: t.ctx.config, encryption: t.ctx.encryption, now: () => new Date(Date.now() - 181 * 86_400_000) }
    const to = replyAddress(past, ann.id, { target: 'Issue', id: 1, note: null }) ?? ''
    expect(await receive({ from: ann.email, to })).toEqual({ refused: 'The mail that you answered is older than 180 days.' })
  })

  it('is ignored if it is no mail, and makes no fault (ML-623)', async () => {
    for (const source of ['', 'x', '\0\0\0', 'From: a\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n--q'])
      expect(await receiveMail(t.ctx, Buffer.from(source))).toHaveProperty('ignored')
    const deep = Array.from({ length: 100 }, (_, i) => `Content-Type: multipart/mixed; boundary=q${i}\r\n\r\n--q${i}`).join('\r\n')
    expect(await receiveMail(t.ctx, Buffer.from(`From: a@b.example\r\n${deep}`))).toHaveProperty('ignored')
  })
})

it('a commit that a note was on is found in the project of the key alone (ML-622)', async () => {
  const { project, owner, ann } = await aPlace()
  const sha = await aCommit(t.ctx, project, { 'b.txt': 'b' })
  expect(sha).toBeTruthy()
  await box.to(ann.email)
  const [commit] = await get(`${project.path}/repository/commits`, owner)
  await post(`${project.path}/repository/commits/${commit.id}/comments`, owner, { note: `@${ann.username} look` }).expect(201)
  const to = await answerAddress(ann)
  await receive({ from: ann.email, to, text: 'Seen.' })
  expect((await get(`${project.path}/repository/commits/${commit.id}/comments`, owner)).map(({ note }: { note: string }) => note)).toContain('Seen.')
})
