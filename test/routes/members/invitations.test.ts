import { eq } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { auditEvents, invitations, users } from '../../../src/db/schema/index.js'
import { dropOldInvitations } from '../../../src/services/groups/invitations.js'
import { testApp } from '../../support/app.js'
import { TestBrowser } from '../../support/browser.js'
import { aGroup, aProject, aUser, type TestUser, unique } from '../../support/factories.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org' })

const SOURCES = {
  project: (given: object = {}) => aProject(t.ctx, { visibility: 'private', ...given }),
  group: (given: object = {}) => aGroup(t.ctx, { visibility: 'private', ...given }),
}
type Source = Awaited<ReturnType<(typeof SOURCES)['project']>> | Awaited<ReturnType<(typeof SOURCES)['group']>>
const anAddress = () => `invited${unique()}@example.net`
const send = async (source: Source, given: object, caller: TestUser = source.creator) =>
  (
    await t
      .api('post', `${source.path}/invitations`, caller)
      .send({ access_level: 30, ...given })
      .expect(201)
  ).body
const list = async (source: Source, query = '') => (await t.api('get', `${source.path}/invitations${query}`, source.creator).expect(200)).body
const one = (source: Source, email: string) => `${source.path}/invitations/${encodeURIComponent(email)}`
const levelOf = async (source: Source, { id }: TestUser) => (await t.api('get', `${source.path}/members/${id}`, source.creator)).body.access_level
const setInvitation = (email: string, values: Partial<typeof invitations.$inferInsert>) =>
  t.ctx.db.write.update(invitations).set(values).where(eq(invitations.email, email))
const daysAgo = (days: number) => new Date(t.ctx.now().getTime() - days * 86_400_000)

/** The address of the page that the mail leads to. */
const linkIn = (mail: { text?: string | undefined } | undefined) =>
  /http:\/\/roost\.test(\/-\/invites\?token=[\w-]+)/.exec(mail?.text ?? '')?.[1] ?? expect.fail('no link was mailed')
const linkTo = async (email: string) => linkIn((await box.to(email))[0])
async function browserOf(user: TestUser): Promise<TestBrowser> {
  const browser = new TestBrowser(t.url)
  await browser.signIn(user)
  return browser
}

describe.each(['project', 'group'] as const)('invitations to a %s', (kind) => {
  const make = SOURCES[kind]

  it('are sent, listed, changed and withdrawn (IV-1 to IV-3)', async () => {
    const source = await make()
    const [email, other] = [anAddress(), anAddress()]
    expect(await send(source, { email: `${email.toUpperCase()}, ${other}`, expires_at: '2999-01-01' })).toEqual({ status: 'success' })
    const [first, second] = await list(source)
    expect(first).toEqual({
      id: expect.any(Number),
      invite_email: email,
      access_level: 30,
      expires_at: '2999-01-01',
      created_at: expect.any(String),
      created_by_name: source.creator.name,
    })
    expect(second.invite_email).toBe(other)
    expect(await list(source, `?query=${other.toUpperCase()}`)).toEqual([second])
    expect(await send(source, { email: [email, 'no-address', other] })).toEqual({
      status: 'error',
      message: {
        [email]: 'Invite email has already been taken',
        'no-address': 'Invite email is invalid',
        [other]: 'Invite email has already been taken',
      },
    })
    const changed = await t.api('put', one(source, email), source.creator).send({ access_level: 20, expires_at: '' }).expect(200)
    expect(changed.body).toEqual({ ...first, access_level: 20, expires_at: null })
    await t.api('put', one(source, email), source.creator).send({}).expect(400)
    await t.api('put', one(source, email), source.creator).send({ access_level: 31 }).expect(400)
    await t.api('delete', one(source, email), source.creator).expect(204)
    for (const method of ['put', 'delete'] as const)
      await t.api(method, one(source, email), source.creator).send({ access_level: 20 }).expect(404, { message: '404 Not found' })
    expect(await list(source)).toEqual([second])
    const audited = await t.ctx.db.write.select().from(auditEvents).where(eq(auditEvents.target_id, source.id))
    expect(audited.map(({ action }) => action).filter((action) => action.startsWith('invitation_'))).toEqual([
      'invitation_sent',
      'invitation_sent',
      'invitation_updated',
      'invitation_withdrawn',
    ])
  })

  it('are refused with a level, a date or without anybody, and add users by their ids (IV-1)', async () => {
    const source = await make()
    const [person, member] = [await aUser(t.ctx), await aUser(t.ctx)]
    await t.api('post', `${source.path}/members`, source.creator).send({ user_id: member.id, access_level: 10 }).expect(201)
    const post = (given: object, caller: TestUser = source.creator) => t.api('post', `${source.path}/invitations`, caller).send(given)
    await post({ email: 'a@b.example', access_level: 31 }).expect(400)
    await post({ email: 'a@b.example', access_level: 30, expires_at: '2001-01-01' }).expect(400)
    await post({ access_level: 30 }).expect(400, { error: 'email, user_id are missing, at least one parameter must be provided' })
    await post({ email: Array.from({ length: 101 }, (_, n) => `p${n}@b.example`), access_level: 30 }).expect(400)
    await post({ email: 'a@b.example', access_level: 30 }, member).expect(403)
    await post({ email: 'a@b.example', access_level: 30 }, person).expect(404)
    expect(await send(source, { user_id: `${person.id},${member.id},999999` })).toEqual({
      status: 'error',
      message: { [member.id]: 'User already exists in source', 999999: 'User Not Found' },
    })
    expect(await levelOf(source, person)).toBe(30)
    expect(await send(source, { email: person.email })).toEqual({ status: 'error', message: { [person.email]: 'User already exists in source' } })
    expect(await list(source)).toEqual([])
  })

  it('are accepted by the link, after sign-in, once (IV-4)', async () => {
    const source = await make()
    const email = anAddress()
    await send(source, { email, access_level: 20, expires_at: '2999-01-01' })
    const [mail] = await box.to(email)
    const link = linkIn(mail)
    // no account has confirmed the address
    expect(JSON.stringify(mail)).not.toContain(source.creator.name)
    expect(JSON.stringify(mail)).not.toContain(source.fullPath)
    const signIn = await fetch(t.url + link, { redirect: 'manual' })
    expect([signIn.status, signIn.headers.get('location')]).toEqual([302, `/users/sign_in?return_to=${encodeURIComponent(link)}`])
    const person = await aUser(t.ctx)
    const browser = await browserOf(person)
    expect((await browser.open(link)).text).toContain(`${source.creator.name} invites you to the ${kind} ${source.fullPath}, with the role Reporter`)
    const done = await browser.submit('Accept')
    expect(done.text).toContain(`You are a member of ${source.fullPath} now.`)
    expect(await levelOf(source, person)).toBe(20)
    expect(await list(source)).toEqual([])
    expect((await browser.open(link)).status).toBe(404)
    expect((await (await browserOf(await aUser(t.ctx))).open(`/-/invites?token=x`)).status).toBe(404)
  })

  it('to a confirmed address name who invites, are on a page of its owner, and can be declined there (IV-4, IV-7)', async () => {
    const source = await make()
    const [person, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    expect(await send(source, { email: person.email })).toEqual({ status: 'success' })
    const [mail] = await box.to(person.email)
    expect(mail?.text).toContain(`${source.creator.name} invites you to the ${kind} ${source.fullPath}`)
    expect((await (await browserOf(stranger)).open('/-/invites')).text).toContain('There are no invitations.')
    const browser = await browserOf(person)
    const { text } = await browser.open('/-/invites')
    expect(text).toContain(source.fullPath)
    const [row] = await t.ctx.db.write.select().from(invitations).where(eq(invitations.email, person.email))
    const other = await browserOf(stranger)
    const { $ } = await other.open('/-/invites')
    const authenticity_token = String($('input[name=authenticity_token]').val())
    expect((await other.post('/-/invites/accept', { id: String(row?.id), authenticity_token })).status).toBe(404)
    expect((await browser.submit('Decline')).text).toContain(`The invitation to ${source.fullPath} is declined.`)
    expect(await list(source)).toEqual([])
    expect(await levelOf(source, person)).toBeUndefined()
    // and again, accepted without the link
    await send(source, { email: person.email })
    await browser.open('/-/invites')
    await browser.submit('Accept')
    expect(await levelOf(source, person)).toBe(30)
  })

  it('hold only while their author may give the role (IV-4)', async () => {
    const source = await make()
    const manager = await aUser(t.ctx)
    await t
      .api('post', `${source.path}/members`, source.creator)
      .send({ user_id: manager.id, access_level: kind === 'project' ? 40 : 50 })
      .expect(201)
    const email = anAddress()
    await send(source, { email }, manager)
    const link = await linkTo(email)
    const person = await aUser(t.ctx)
    const browser = await browserOf(person)
    await t.api('put', `${source.path}/members/${manager.id}`, source.creator).send({ access_level: 30 }).expect(200)
    await browser.open(link)
    expect((await browser.submit('Accept')).text).toContain('Who has invited you may not do so any more.')
    await t.ctx.db.write.update(users).set({ state: 'blocked' }).where(eq(users.id, manager.id))
    await browser.open(link)
    expect((await browser.submit('Accept')).text).toContain('Who has invited you may not do so any more.')
    expect(await levelOf(source, person)).toBeUndefined()
  })

  it('of more than the caller has are not changed or withdrawn by them (IV-3)', async () => {
    if (kind === 'group') return
    const group = await aGroup(t.ctx)
    const source = await make({ namespace_id: group.id, creator: group.creator })
    const email = anAddress()
    await send(source, { email, access_level: 40 })
    await setInvitation(email, { access_level: 50 })
    const manager = await aUser(t.ctx)
    await t.api('post', `${source.path}/members`, source.creator).send({ user_id: manager.id, access_level: 40 }).expect(201)
    await t.api('put', one(source, email), manager).send({ access_level: 30 }).expect(403)
    await t.api('delete', one(source, email), manager).expect(403)
  })

  it('wait for 90 days or until their date, and are forgotten then (IV-5)', async () => {
    const source = await make()
    const [old, dated, fresh] = [anAddress(), anAddress(), anAddress()]
    for (const email of [old, dated, fresh]) await send(source, { email })
    const links = [await linkTo(old), await linkTo(dated)]
    await setInvitation(old, { created_at: daysAgo(91) })
    await setInvitation(dated, { created_at: daysAgo(2), expires_at: '2001-01-01' })
    expect((await list(source)).map(({ invite_email }: { invite_email: string }) => invite_email)).toEqual([fresh])
    const browser = await browserOf(await aUser(t.ctx))
    for (const link of links) expect((await browser.open(link)).status).toBe(404)
    // an address may be invited anew
    expect(await send(source, { email: old })).toEqual({ status: 'success' })
    await dropOldInvitations(t.ctx)
    const left = await t.ctx.db.write
      .select()
      .from(invitations)
      .where(eq(kind === 'project' ? invitations.project_id : invitations.namespace_id, source.id))
    expect(left.map(({ email }) => email).sort()).toEqual([fresh, old].sort())
  })

  it('are on the page of the members, for those who manage them (IV-6)', async () => {
    const source = await make()
    const at = `${kind === 'project' ? `/${source.fullPath}/-/project_members` : `/groups/${source.fullPath}/-/group_members`}`
    const browser = await browserOf(source.creator)
    await browser.open(at)
    const email = anAddress()
    const sent = await browser.submit(`${at}/invitations`, { 'invitation[emails]': email, 'invitation[access_level]': '20' })
    expect(sent.text).toContain(`${email} is invited.`)
    const again = await browser.submit(`${at}/invitations`, { 'invitation[emails]': email, 'invitation[access_level]': '20' })
    expect(again.text).toContain('Invite email has already been taken')
    await browser.open(at)
    expect((await browser.submit('Withdraw')).text).toContain(`The invitation of ${email} is withdrawn.`)
    const guest = await aUser(t.ctx)
    await t.api('post', `${source.path}/members`, source.creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    expect((await (await browserOf(guest)).open(at)).text).not.toContain('Invitations by e-mail')
  })
})

describe('limits of invitations', () => {
  it('are 200 of a person in a day, whether they were withdrawn or not, and 500 that wait (IV-5)', async () => {
    const source = await aGroup(t.ctx)
    const row = (n: number) => ({ namespace_id: source.id, email: `limit${n}@example.net`, access_level: 10, created_by_id: source.creator.id })
    await t.ctx.db.write.insert(invitations).values(Array.from({ length: 199 }, (_, n) => ({ ...row(n), ended_at: n % 2 ? new Date() : null })))
    const email = anAddress()
    expect(await send(source, { email })).toEqual({ status: 'success' })
    const another = anAddress()
    expect((await send(source, { email: another })).message).toEqual({ [another]: 'At most 200 invitations can be sent in a day' })
    const other = await aGroup(t.ctx)
    await t.ctx.db.write.insert(invitations).values(
      Array.from({ length: 500 }, (_, n) => ({
        ...row(n),
        namespace_id: other.id,
        email: `wait${n}@example.net`,
        created_by_id: other.creator.id,
        created_at: daysAgo(2),
      })),
    )
    expect((await send(other, { email: another })).message).toEqual({ [another]: 'At most 500 invitations wait at a time' })
  })
})
