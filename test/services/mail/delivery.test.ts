import { isDeepStrictEqual } from 'node:util'
import { sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { jobs } from '../../../src/db/schema/index.js'
import { recipientsOf } from '../../../src/services/mail/recipients.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import { soon } from '../../support/merge-requests.js'
import { mailbox } from '../../support/smtp/mailbox.js'

const box = await mailbox(() => t.ctx.jobs.drain())
const t = testApp({ SMTP_URL: box.url, MAIL_FROM: 'roost@example.org', METRICS_TOKEN: 'a-token-for-the-metrics' })

async function assigned(reader: TestUser, project?: TestProject) {
  const author = project?.creator ?? (await aUser(t.ctx))
  const there = project ?? (await aProject(t.ctx, { creator: author, developer: reader }))
  await t
    .api('post', `${there.path}/issues`, author)
    .send({ title: 'A title', assignee_ids: [reader.id] })
    .expect(201)
}

const mailJobs = () => t.ctx.db.write.select().from(jobs).where(sql`${jobs.kind} = 'mail: send'`)
const asked = (who: TestUser) => box.asked.filter((address) => address === who.email).length

describe('a mail that the server does not take (ML-13)', () => {
  it('for good is not tried again', async () => {
    const reader = await aUser(t.ctx)
    box.answer(reader.email, 550)
    await assigned(reader)
    expect(await box.to(reader.email)).toEqual([])
    expect([asked(reader), await mailJobs()]).toEqual([1, []])
    expect(t.logged.some((line) => line.includes('a mail was refused'))).toBe(true)
  })

  it('now is tried again later', async () => {
    const reader = await aUser(t.ctx)
    box.answer(reader.email, 450)
    await assigned(reader)
    await soon(async () => asked(reader) === 1 && (await mailJobs())[0]?.last_error !== null)
    const [job] = await mailJobs()
    expect([job?.attempts, job?.failed_at]).toEqual([1, null])
    expect(Number(job?.run_at) - Number(job?.created_at)).toBeGreaterThanOrEqual(60_000)
    box.answer(reader.email, 250)
    expect(await box.to(reader.email)).toHaveLength(1)
    expect(await mailJobs()).toEqual([])
  })

  it('because it is silent holds up nothing else', async () => {
    const [silent, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    box.answer(silent.email, 'silence')
    await assigned(silent)
    await soon(async () => asked(silent) > 0)
    await assigned(other)
    await soon(async () => box.got.some(({ recipient }) => recipient === other.email))
    // what is not sent yet is not lost
    await soon(async () =>
      isDeepStrictEqual(
        (await mailJobs()).map(({ payload }) => (payload as { user: number }).user),
        [silent.id],
      ),
    )
    box.answer(silent.email, 250)
  })
})

describe('metrics', () => {
  it('count mails by kind and what came of them', async () => {
    const response = await fetch(`${t.url}/-/metrics`, { headers: { authorization: 'Bearer a-token-for-the-metrics' } })
    const text = await response.text()
    for (const result of ['sent', 'refused', 'failed'])
      expect(text).toMatch(new RegExp(`roost_mails_total{kind="new_issue",result="${result}"} [1-9]`))
    expect(text).not.toContain('@')
  })
})

describe('an event for very many people (ML-9)', () => {
  it('mails 1,000 of them, those that it concerns most first', async () => {
    const [author, last] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: author, visibility: 'public' })
    await t.ctx.db.write.execute(sql`with made as (
        insert into users (username, name, email, projects_limit) select 'many' || n, 'Many', 'many' || n || '@example.com', 0 from generate_series(1, 1005) n returning id)
      insert into notification_settings (user_id, project_id, level, events) select id, ${project.id}, 'watch', '{}' from made`)
    const assignee = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, author).send({ user_id: assignee.id, access_level: 30 }).expect(201)
    const { id, iid } = (
      await t
        .api('post', `${project.path}/issues`, author)
        .send({ title: 'x', assignee_ids: [assignee.id] })
        .expect(201)
    ).body
    await t.api('post', `${project.path}/issues/${iid}/subscribe`, last).expect(201)
    const notification = {
      event: 'new_issue',
      project: project.id,
      actor: author.id,
      target: 'Issue',
      id,
      sha: null,
      note: null,
      people: [],
      labels: [],
      verdict: 'commented',
      notes: [],
    } as const
    const people = await recipientsOf(t.ctx, { notification: { ...notification, labels: [], notes: [], people: [] }, newMentions: [] })
    expect(people).toHaveLength(1_000)
    expect(people.slice(0, 3)).toMatchObject([
      { user: assignee.id, reason: 'assigned' },
      { user: last.id, reason: 'subscribed' },
      { reason: 'watching' },
    ])
    expect(t.logged.some((line) => line.includes('an event concerns too many people'))).toBe(true)
  })
})
