import { mkdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCast, type Cast, statuses } from '../../support/cast.js'
import { aCommit, aProject, aToken, aUser, setSettings, type TestProject, type TestUser } from '../../support/factories.js'
import { aBareRepository, type TestRepository } from '../../support/git.js'
import { aMergeRequest } from '../../support/merge-requests.js'
import { bareOf, stateOf } from '../../support/repositories.js'
import { rounds } from '../../support/rounds.js'

const t = testApp()
const FORBIDDEN = { message: '403 Forbidden' }
const SORRY = {
  message:
    'Sorry, we cannot cherry-pick this commit automatically. This commit may already have been cherry-picked, or a more recent commit may have updated some of its content.',
}
const enc = encodeURIComponent
const pick = (project: TestProject, sha: string, branch: unknown, caller: TestUser | null) =>
  t.api('post', `${project.path}/repository/commits/${enc(sha)}/cherry_pick`, caller).send(branch === undefined ? {} : { branch })

/** `main` and `topic` apart from one start, with what a pick may meet. */
async function apart(given: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject(t.ctx, given)
  const bare = bareOf(t, project)
  const [start, main, topic, same, merge] = bare.commits(
    { files: { a: 'a\n', b: 'b\n' } },
    { files: { a: 'changed on main\n', same: 'same\n' } },
    {
      branch: 'topic',
      parents: [0],
      files: { b: 'changed on topic\n', 'n/ew': 'new\n' },
      message: 'Change b\n\nwith a body\n',
      author: 'Eve <eve@example.org> 1500000000 +0300',
    },
    { branch: 'same', parents: [0], files: { a: 'changed on main\n', same: 'same\n' } },
    { branch: 'merge', parents: [0, 2], files: { b: 'changed on topic\n', 'n/ew': 'new\n', extra: 'of the merge\n' }, message: 'Merge' },
    { branch: 'against', parents: [0], files: { a: 'changed elsewhere\n' } },
  ) as [string, string, string, string, string]
  return { project, bare, start, main, topic, same, merge }
}

const headOf = (bare: TestRepository, branch: string) => bare.git('rev-parse', `refs/heads/${branch}`).trim()

describe('POST /projects/:id/repository/commits/:sha/cherry_pick', () => {
  it('a commit upon the branch with the message and the author of the picked one, by the caller (C-49)', async () => {
    const { project, bare, main, topic } = await apart()
    const second = () => Math.floor(Date.now() / 1_000) * 1_000
    const before = second()
    const { body } = await pick(project, topic, 'main', project.creator).expect(201)
    const message = `Change b\n\nwith a body\n\n\n(cherry picked from commit ${topic})`
    expect(body).toEqual({
      id: headOf(bare, 'main'),
      short_id: headOf(bare, 'main').slice(0, 8),
      title: 'Change b',
      message,
      parent_ids: [main],
      author_name: 'Eve',
      author_email: 'eve@example.org',
      authored_date: '2017-07-14T02:40:00.000Z',
      committer_name: project.creator.name,
      committer_email: project.creator.email,
      committed_date: expect.any(String),
      created_at: body.committed_date,
      web_url: `http://roost.test/${project.fullPath}/commit/${body.id}`,
    })
    const committed = Date.parse(body.committed_date)
    expect(before <= committed && committed <= second()).toBe(true)
    expect(bare.git('show', '-s', '--format=%an <%ae> %ad|%cn <%ce>', '--date=raw', 'main').trim()).toBe(
      `Eve <eve@example.org> 1500000000 +0300|${project.creator.name} <${project.creator.email}>`,
    )
    expect(bare.git('cat-file', 'commit', 'main').split('\n\n').slice(1).join('\n\n')).toBe(message)
    expect(bare.git('ls-tree', '-r', '--name-only', 'main')).toBe('a\nb\nn/ew\nsame\n')
    expect(bare.git('show', 'main:b') + bare.git('show', 'main:a')).toBe('changed on topic\nchanged on main\n')
    expect(bare.git('fsck', '--strict', '--no-dangling')).toBe('')
  })

  it('a message that does not end its line, and one without any text (C-49)', async () => {
    const { project, bare, start } = await apart()
    const [bareEnd, none] = bare.commits(
      { branch: 'x', parents: [start], files: { x: 'x' }, message: 'no line break' },
      { branch: 'y', parents: [start], files: { y: 'y' }, message: '' },
    ) as [string, string]
    const one = await pick(project, bareEnd, 'main', project.creator).expect(201)
    expect(one.body.message).toBe(`no line break\n\n(cherry picked from commit ${bareEnd})`)
    const two = await pick(project, none, 'main', project.creator).expect(201)
    expect(two.body.message).toBe(`\n\n(cherry picked from commit ${none})`)
  })

  it('odd authors and messages come out as text, in a commit that passes fsck (C-49, SEC-101, SEC-151, SEC-152)', async () => {
    const { project, bare, start } = await apart()
    const [other] = bare.commits({ branch: 'x', parents: [start], files: { x: 'x' } }) as [string]
    const tree = bare.git('rev-parse', `${other}^{tree}`).trim()
    const raw = (author: string, more: string[], message: Buffer) =>
      bare
        .gitBytes(
          ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'],
          Buffer.concat([
            Buffer.from([`tree ${tree}`, `parent ${start}`, `author ${author}`, 'committer A <a@b> 1 +0000', ...more, '', ''].join('\n'), 'latin1'),
            message,
          ]),
        )
        .toString()
        .trim()
    const latin = raw('J\xf6rg <j@example.org> 5 +0100', ['encoding ISO-8859-1'], Buffer.from('Gr\xfc\xdfe\n', 'latin1'))
    const { body } = await pick(project, latin, 'main', project.creator).expect(201)
    expect([body.author_name, body.title]).toEqual(['Jörg', 'Grüße'])
    const unnamed = raw('<> -5', [], Buffer.from([0xff, 0x0a]))
    const odd = await pick(project, unnamed, 'topic', project.creator).expect(201)
    expect([odd.body.author_name, odd.body.authored_date, odd.body.title]).toEqual(['', '1970-01-01T00:00:00.000Z', '\ufffd'])
    // only what the branches hold: the odd originals are no part of it
    const clone = aBareRepository()
    clone.gitBytes(['index-pack', '--strict', '--stdin'], bare.gitBytes(['pack-objects', '-q', '--revs', '--stdout'], 'main\ntopic\n'))
    expect(clone.git('fsck', '--strict', '--no-dangling')).toBe('')
    clone.remove()
  })

  it('whatever names a commit: a branch, a tag, an annotated tag, HEAD, a hash cut short (C-8)', async () => {
    for (const name of ['topic', 'light', 'full', 'cut']) {
      const { project, bare, topic } = await apart()
      bare.git('tag', 'light', topic)
      bare.git('tag', '-a', '-m', 'x', 'full', topic)
      const { body } = await pick(project, name === 'cut' ? topic.slice(0, 10) : name, 'main', project.creator).expect(201)
      expect(body.message).toContain(`(cherry picked from commit ${topic})`)
    }
    const { project, bare, main } = await apart()
    await pick(project, 'HEAD', 'topic', project.creator).expect(201)
    expect(bare.git('log', '-1', '--format=%B', 'topic')).toContain(main)
  })

  it('a merge commit is taken against its first parent, a root commit against nothing (C-50, SEC-103)', async () => {
    const { project, bare, merge, main } = await apart()
    const { body } = await pick(project, merge, 'main', project.creator).expect(201)
    expect(body.parent_ids).toEqual([main])
    expect(bare.git('diff', '--name-only', 'main~1', 'main')).toBe('b\nextra\nn/ew\n')
    const [root] = bare.commits({ branch: 'root', parents: [], files: { root: 'root' } }) as [string]
    await pick(project, root, 'main', project.creator).expect(201)
    expect(bare.git('diff', '--name-only', 'main~1', 'main')).toBe('root\n')
  })

  it('the merge commit of a merge request lists its commits, for those who see it (C-50, C-51)', async () => {
    const reader = await aUser(t.ctx)
    const project = await aProject(t.ctx, { files: { a: 'a\n' }, developer: reader })
    const { path, creator } = project
    for (const branch of ['release', 'other']) await t.api('post', `${path}/repository/branches`, creator).send({ branch, ref: 'main' }).expect(201)
    const first = await aCommit(t.ctx, project, { b: 'b\n' }, { branch: 'topic', start_branch: 'main', message: 'Add b\n\nwith a body' })
    const second = await aCommit(t.ctx, project, { c: 'c\n' }, { branch: 'topic', message: 'Add c' })
    const request = await aMergeRequest(t, { project, source: 'topic', files: null })
    const sha = (await t.api('put', `${request.path}/merge`, creator).expect(200)).body.merge_commit_sha
    const original = bareOf(t, project).git('cat-file', 'commit', sha).split('\n\n').slice(1).join('\n\n')
    const list = `${first.slice(0, 8)} Add b\n${second.slice(0, 8)} Add c`
    const { body } = await pick(project, sha, 'release', reader).expect(201)
    expect(body.message).toBe(`${original}\n\n(cherry picked from commit ${sha})\n\n${list}`)
    const sorry = { message: SORRY.message.replaceAll('commit', 'merge request').replace('more recent merge request', 'more recent commit') }
    await pick(project, sha, 'release', reader).expect(400, sorry)
    await t.api('put', path, creator).send({ merge_requests_access_level: 'disabled' }).expect(200)
    expect((await pick(project, sha, 'other', creator).expect(201)).body.message).toBe(`${original}\n\n(cherry picked from commit ${sha})`)
  })

  it('a conflict, or nothing left to do, is refused and changes nothing (C-51, SEC-103)', async () => {
    const { project, topic, main, same } = await apart()
    const before = await stateOf(t, project)
    for (const sha of ['against', same, main]) await pick(project, sha, 'main', project.creator).expect(400, SORRY)
    expect(await stateOf(t, project)).toEqual(before)
    await pick(project, topic, 'main', project.creator).expect(201)
    const after = await stateOf(t, project)
    await pick(project, topic, 'main', project.creator).expect(400, SORRY)
    expect(await stateOf(t, project)).toEqual(after)
  })

  it('reports missing and unknown parameters in this order, and changes nothing (C-48)', async () => {
    const { project, bare, topic } = await apart()
    bare.git('tag', 'tagged', topic)
    bare.git('tag', 'of-a-tree', `${topic}^{tree}`)
    const before = await stateOf(t, project)
    await pick(project, 'none', undefined, project.creator).expect(400, { error: 'branch is missing' })
    await pick(project, 'none', { a: 1 }, project.creator).expect(400, { error: 'branch is invalid' })
    for (const sha of ['none', 'f'.repeat(40), 'of-a-tree', 'topic~1', 'main..topic', '--all', '-x', '@', ' '])
      await pick(project, sha, 'none', project.creator).expect(404, { message: '404 Commit Not Found' })
    for (const branch of ['none', '', ' ', 'tagged', topic, 'HEAD', 'refs/heads/main', '-x', '--force', 'a..b', '../main', 'MAIN'])
      await pick(project, topic, branch, project.creator).expect(404, { message: '404 Branch Not Found' })
    await pick(project, topic, 'a\0b', project.creator).expect(400)
    expect(await stateOf(t, project)).toEqual(before)
  })

  it('an empty repository, and one that is not on the disk (C-48)', async () => {
    const project = await aProject(t.ctx)
    await pick(project, 'main', 'main', project.creator).expect(404, { message: '404 Commit Not Found' })
    const gone = await apart()
    rmSync(gone.bare.directory, { recursive: true })
    await pick(gone.project, gone.topic, 'main', gone.project.creator).expect(503)
  })

  it('not onto a protected branch without its level (C-48, C-28)', async () => {
    const developer = await aUser(t.ctx)
    const { project, topic } = await apart({ developer })
    await t.api('post', `${project.path}/protected_branches`, project.creator).send({ name: 'main' }).expect(201)
    const before = await stateOf(t, project)
    await pick(project, topic, 'main', developer).expect(400, { message: 'You are not allowed to push into this branch' })
    expect(await stateOf(t, project)).toEqual(before)
    await pick(project, topic, 'main', project.creator).expect(201)
  })

  it.each([
    [0, 201],
    [1, 201],
    [2, 400],
  ] as const)('with default_branch_protection %i a developer’s pick to the default branch: %i (SEC-105)', async (protection, status) => {
    await setSettings(t.ctx, { default_branch_protection: protection })
    const developer = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer, files: { a: 'a' } })
    await setSettings(t.ctx, {})
    const sha = await aCommit(t.ctx, project, { b: 'b' }, { branch: 'topic', start_branch: 'main' })
    await pick(project, sha, 'main', developer).expect(status)
  })

  it('the project knows that something happened, and no intent is left (PU-1, PU-7, SEC-158)', async () => {
    const { project, topic } = await apart()
    const before = await stateOf(t, project)
    await pick(project, topic, 'main', project.creator).expect(201)
    const after = await stateOf(t, project)
    expect(after.intents).toEqual([])
    expect(after.project[0]?.last_activity_at.getTime()).toBeGreaterThan(before.project[0]?.last_activity_at.getTime() ?? 0)
  })

  it('ten picks to one branch at once each land once (C-33, SEC-102)', async () => {
    const { project, bare, start } = await apart()
    const picks = bare.commits(
      ...Array.from({ length: 10 }, (_, i) => ({ branch: `p${i}`, parents: [start], files: { [`file${i}`]: `${i}\n` }, message: `Pick ${i}` })),
    )
    const answers = await Promise.all(picks.map((sha) => pick(project, sha, 'main', project.creator)))
    expect(answers.map(({ status }) => status)).toEqual(picks.map(() => 201))
    const history = bare.git('log', '--first-parent', '--format=%H', 'main').trim().split('\n')
    for (const { body } of answers) expect(history.filter((id) => id === body.id)).toHaveLength(1)
    expect(bare.git('ls-tree', '--name-only', 'main').match(/^file/gm)).toHaveLength(10)
    expect(bare.git('fsck', '--strict', '--no-dangling')).toBe('')
  })

  it('commits that other processes put on the branch meanwhile are not lost (C-33, SEC-102)', { tags: ['long'] }, async () => {
    const { project, bare, start } = await apart()
    const others: string[] = []
    for (let round = 0; round < rounds(1, 8); round++) {
      const [sha] = bare.commits({ branch: `r${round}`, parents: [start], files: { [`picked${round}`]: 'x\n' } }) as [string]
      const picking = pick(project, sha, 'main', project.creator).then(({ status, body }) => ({ status, id: body.id as string }))
      await new Promise((resolve) => setTimeout(resolve, (round % 10) * 4))
      const [other, { status, id }] = await Promise.all([bare.commitBeside('main'), picking])
      expect(status).toBe(201)
      others.push(other, id)
    }
    const history = bare.git('log', '--format=%H', 'main').trim().split('\n')
    expect(others.filter((id) => !history.includes(id))).toEqual([])
  })

  it('the branch may come as a form or in the query (W-1)', async () => {
    const { project, topic } = await apart()
    const path = `${project.path}/repository/commits/${topic}/cherry_pick`
    await t.api('post', path, project.creator).type('form').send({ branch: 'main' }).expect(201)
    await t.api('post', `${path}?branch=same`, project.creator).expect(201)
  })
})

describe('permissions to cherry-pick', () => {
  let cast: Cast
  let topic: string
  beforeAll(async () => {
    cast = await aCast(t.ctx, { visibility: 'public', files: { a: 'a' } })
    topic = await aCommit(t.ctx, cast.project, { b: 'b' }, { branch: 'topic', start_branch: 'main' })
    for (const role of Object.keys(cast.as)) bareOf(t, cast.project).git('branch', `of-${role}`, 'main')
  })

  // W-37: without a credential this is a 403, as C-16 and C-48 say for this family
  it.each(statuses(201, { anonymous: 403, stranger: 403, guest: 403, reporter: 403 }))('%s: %i (C-48, PU-9)', async (role, status) => {
    const before = status === 201 ? null : await stateOf(t, cast.project)
    const { body } = await pick(cast.project, topic, `of-${role}`, cast.as[role]).expect(status)
    if (before) {
      expect(body).toEqual(FORBIDDEN)
      expect(await stateOf(t, cast.project)).toEqual(before)
    }
  })

  it('callers without the right are refused before the parameters are read (G-10)', async () => {
    await pick(cast.project, 'none', undefined, cast.as.guest).expect(403, FORBIDDEN)
  })

  it('a private project is not there for strangers, and its commits are not there in other projects (SEC-103, G-40)', async () => {
    const { project, topic: hidden } = await apart()
    for (const caller of [null, cast.as.stranger]) await pick(project, hidden, 'main', caller).expect(404, { message: '404 Project Not Found' })
    await pick(cast.project, hidden, 'main', cast.as.owner).expect(404, { message: '404 Commit Not Found' })
  })

  it('companions 3.3: not in an archived project, not with a token that may only read (SEC-107)', async () => {
    const { project, topic: sha } = await apart()
    for (const scope of ['read_api', 'read_repository', 'write_repository'] as const) {
      const token = await aToken(t.ctx, project.creator, [scope])
      await pick(project, sha, 'main', { ...project.creator, token }).expect(403)
    }
    await t.api('post', `${project.path}/archive`, project.creator).expect(201)
    const before = await stateOf(t, project)
    await pick(project, sha, 'main', project.creator).expect(403, FORBIDDEN)
    expect(await stateOf(t, project)).toEqual(before)
  })
})

describe('what a kill leaves of a pick (SEC-159)', () => {
  it('bears a name that the next start removes', async () => {
    const { bare, project, topic } = await apart()
    const left = join(bare.directory, 'objects', 'tmp_objdir-aside-abc123')
    mkdirSync(left)
    const long = new Date(Date.now() - 120_000)
    utimesSync(left, long, long)
    expect(await t.ctx.git.removeLeftovers()).toContain(left)
    await pick(project, topic, 'main', project.creator).expect(201)
  })
})
