import { gunzipSync, gzipSync } from 'node:zlib'
import { and, eq } from 'drizzle-orm'
import tar from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { auditEvents } from '../../../src/db/schema/index.js'
import { testApp } from '../../support/app.js'
import { aGroup, aUser, type TestUser } from '../../support/factories.js'

const t = testApp({}, { upkeep: true })

const say = async (path: string, body: object, caller: TestUser) => {
  const { body: answer, status } = await t.api('post', path, caller).send(body)
  expect([path, status, answer]).toEqual([path, 201, expect.anything()])
  return answer
}
const read = async (path: string, caller: TestUser) => (await t.api('get', path, caller).expect(200)).body

/** A group with one below it, and some of everything. */
async function aRichGroup() {
  const owner = await aUser(t.ctx)
  const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
  const settings = { description: 'All of it', project_creation_level: 'developer', mentions_disabled: true, default_branch_protection: 1 }
  await t.api('put', group.path, owner).send(settings).expect(200)
  const below = await aGroup(t.ctx, { creator: owner, parent_id: group.id, path: 'below', name: 'Below', visibility: 'internal' })
  const bug = await say(`${group.path}/labels`, { name: 'bug', color: '#ff0000', description: 'A `bug`' }, owner)
  await say(`${below.path}/labels`, { name: 'inner', color: '#00ff00' }, owner)
  const stone = await say(`${group.path}/milestones`, { title: 'v1', due_date: '2027-01-01', description: 'First' }, owner)
  await say(`${group.path}/badges`, { link_url: 'https://example.com/%{project_path}', image_url: 'https://example.com/a.svg', name: 'a' }, owner)
  const board = await say(`${group.path}/boards`, { name: 'Work' }, owner)
  await say(`${group.path}/boards/${board.id}/lists`, { label_id: bug.id }, owner)
  await say(`${group.path}/boards/${board.id}/lists`, { milestone_id: stone.id }, owner)
  return { owner, group, below }
}

async function archiveOf(group: { path: string }, owner: TestUser): Promise<Buffer> {
  expect((await t.api('post', `${group.path}/export`, owner).expect(202)).body).toEqual({ message: '202 Accepted' })
  await t.ctx.jobs.drain()
  const answer = await t.api('get', `${group.path}/export/download`, owner).buffer(true).parse(bytes).expect(200)
  expect(answer.headers['content-disposition']).toMatch(/_export\.tar\.gz/)
  return answer.body
}
const bytes: Parameters<ReturnType<typeof t.api>['parse']>[0] = (response, done) => {
  const chunks: Buffer[] = []
  response.on('data', (chunk: Buffer) => chunks.push(chunk))
  response.on('end', () => done(null, Buffer.concat(chunks)))
}

/** An archive with these files. */
const archiveWith = async (files: Record<string, string>): Promise<Buffer> => {
  const pack = tar.pack()
  for (const [name, text] of Object.entries(files)) pack.entry({ name }, text)
  pack.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of pack) chunks.push(chunk as Buffer)
  return gzipSync(Buffer.concat(chunks))
}
const bring = (caller: TestUser | null, fields: Record<string, string | number>, archive: Buffer) =>
  t.api('post', '/groups/import', caller).field(fields).attach('file', archive, 'group.tar.gz')
const reasonOf = async (path: string) => {
  const failed = and(eq(auditEvents.action, 'group_import_failed'), eq(auditEvents.target, path))
  return (await t.ctx.db.write.select().from(auditEvents).where(failed)).map(({ changes }) => (changes as { reason: string }).reason)
}

/** What another group assigns itself. */
const bare = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  const own = /^(id|.*_id|web_url|path|full_path|full_name|name|created_at|updated_at|runners_token|group|rendered_.*|kind|state)$/
  return Object.fromEntries(Object.entries(value).flatMap(([key, each]) => (own.test(key) && key !== 'name' ? [] : [[key, bare(each)]])))
}

describe('archives of groups', () => {
  it('bring groups, labels, milestones, badges and boards to another place (EX-68, EX-69)', async () => {
    const { owner, group, below } = await aRichGroup()
    const archive = await archiveOf(group, owner)
    const other = await aUser(t.ctx)
    expect((await bring(other, { path: 'copy', name: 'Copy' }, archive).expect(202)).body).toEqual({ message: '202 Accepted' })
    await t.ctx.jobs.drain()
    const copy = await read('/groups/copy?with_projects=false', other)
    expect(copy).toMatchObject({
      name: 'Copy',
      description: 'All of it',
      visibility: 'public',
      project_creation_level: 'developer',
      mentions_disabled: true,
      default_branch_protection: 1,
    })
    const inner = await read('/groups/copy%2Fbelow?with_projects=false', other)
    expect(inner).toMatchObject({ name: 'Below', full_name: 'Copy / Below', visibility: 'internal', parent_id: copy.id })
    for (const what of ['labels', 'milestones', 'badges', 'boards'])
      expect([what, bare(await read(`/groups/copy/${what}`, other))]).toEqual([what, bare(await read(`${group.path}/${what}`, owner))])
    expect(bare(await read('/groups/copy%2Fbelow/labels', other))).toEqual(bare(await read(`${below.path}/labels`, owner)))
    expect((await read('/groups/copy/boards', other))[0].lists.map((list: { position: number }) => list.position)).toEqual([0, 1])
    expect((await say('/groups/copy/milestones', { title: 'v2' }, other)).iid).toBe(2)
    const events = await t.ctx.db.write.select().from(auditEvents).where(eq(auditEvents.target, 'copy'))
    expect(events.map(({ action }) => action)).toEqual(expect.arrayContaining(['group_created', 'group_imported']))
  })

  it('make a group that is at most as visible as the one above it (EX-69)', async () => {
    const { owner, group } = await aRichGroup()
    const archive = await archiveOf(group, owner)
    const above = await aGroup(t.ctx, { creator: owner, path: 'hidden-place', visibility: 'private' })
    await bring(owner, { path: 'copy', name: 'Copy', parent_id: above.id }, archive).expect(202)
    await t.ctx.jobs.drain()
    for (const path of ['hidden-place/copy', 'hidden-place/copy/below'])
      expect((await read(`/groups/${encodeURIComponent(path)}`, owner)).visibility).toBe('private')
  })

  it('are made and fetched by owners, and brought by those who may create a group there (EX-68, EX-69)', async () => {
    const { owner, group } = await aRichGroup()
    const stranger = await aUser(t.ctx)
    await t.api('get', `${group.path}/export/download`, owner).expect(404)
    await t.api('post', `${group.path}/export`, stranger).expect(403)
    await t.api('post', `${group.path}/export`, null).expect(401)
    const archive = await archiveOf(group, owner)
    await t.api('get', `${group.path}/export/download`, stranger).expect(403)
    await bring(null, { path: 'x', name: 'X' }, archive).expect(401)
    await bring(stranger, { path: 'x', name: 'X', parent_id: group.id }, archive).expect(403)
    await bring(stranger, { path: 'no', name: 'X', parent_id: 999_999 }, archive).expect(404)
    expect((await bring(owner, { path: group.fullPath, name: 'X' }, archive).expect(400)).body.message).toMatch(/has already been taken/)
    await t.api('post', '/groups/import', owner).field({ path: 'x', name: 'X' }).expect(400)
  })

  it.each<[string, () => Promise<Buffer> | Buffer, RegExp]>([
    ['is no archive', () => Buffer.from('not a tar'), /not an archive/],
    ['is of a project', () => archiveWith({ 'version.json': '{"format":1}', 'rows/projects.jsonl': '{}' }), /not an archive of a group/],
    ['is newer', () => archiveWith({ 'version.json': '{"format":2}', 'group.jsonl': '' }), /a newer version/],
    ['has a line that is none', () => archiveWith({ 'version.json': '{"format":1}', 'group.jsonl': 'x\n' }), /not valid/],
    ['has an unknown group', () => withLines([{ ...LABEL, group: 'gone' }]), /the group gone is missing/],
    ['has a colour that is none', () => withLines([{ ...LABEL, color: 'loud' }]), /must be a valid color code/],
    ['has a title twice', () => withLines([LABEL, LABEL]), /there twice/],
    [
      'has a script as a badge',
      () => withLines([{ kind: 'badge', group: '', name: null, link_url: 'javascript:x', image_url: 'https://a.b' }]),
      /link_url/,
    ],
    [
      'has a path that is taken',
      () =>
        withLines([
          { ...ROOT, group: 'a' },
          { ...ROOT, group: 'A', name: 'B' },
        ]),
      /path has already been taken/,
    ],
    ['has a path that is none', () => withLines([{ ...ROOT, group: 'a b' }]), /path /],
    ['has a group twice', () => withLines([ROOT]), /there twice/],
    [
      'has a list of nothing',
      () => withLines([{ kind: 'board', group: '', name: 'b', lists: [{ label: { group: '', title: 'no' } }] }]),
      /label of a list/,
    ],
  ])('leaves the group empty where the archive %s, and says why (EX-69)', async (_, archive, reason) => {
    const owner = await aUser(t.ctx)
    const path = `in-vain-${owner.username}`
    await bring(owner, { path, name: path }, await archive()).expect(202)
    await t.ctx.jobs.drain()
    expect(await reasonOf(path)).toEqual([expect.stringMatching(reason)])
    expect([await read(`/groups/${path}/labels`, owner), await read(`/groups/${path}/subgroups`, owner)]).toEqual([[], []])
  })

  it('leaves those alone whose group is gone (EX-69)', async () => {
    const owner = await aUser(t.ctx)
    await bring(owner, { path: 'short-lived', name: 'Short' }, await withLines([])).expect(202)
    await t.api('delete', '/groups/short-lived', owner).expect(204)
    await t.ctx.jobs.drain()
    expect(await reasonOf('short-lived')).toEqual([])
  })

  it('has a line for each thing (EX-68)', async () => {
    const { owner, group } = await aRichGroup()
    const extract = tar.extract()
    extract.end(gunzipSync(await archiveOf(group, owner)))
    const files: Record<string, string> = {}
    for await (const entry of extract) {
      const chunks: Buffer[] = []
      for await (const chunk of entry) chunks.push(chunk as Buffer)
      files[entry.header.name] = Buffer.concat(chunks).toString()
    }
    expect(Object.keys(files).sort()).toEqual(['group.jsonl', 'version.json'])
    const kinds = String(files['group.jsonl']).trim().split('\n')
    expect(kinds.map((line) => JSON.parse(line).kind)).toEqual(['group', 'group', 'label', 'label', 'milestone', 'badge', 'board'])
  })
})

const ROOT = { kind: 'group', group: '', name: 'A', description: '', visibility: 'private', settings: {} }
const LABEL = { kind: 'label', group: '', title: 'a', color: '#ffffff', description: null, priority: null }
const withLines = (lines: object[]) =>
  archiveWith({ 'version.json': '{"format":1}', 'group.jsonl': [ROOT, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('') })
