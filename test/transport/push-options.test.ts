import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { commitIn, directoryOf, EMPTY_PACK, gitClient, gitOut, gitRun, packet } from '../support/clients/git-client.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { receiver } from '../support/servers/receiver.js'
import { sshClient } from '../support/ssh/ssh.js'

const t = testApp({ SSH_PORT: '0', ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
const client = gitClient(t)
const ssh = sshClient(t)

let owner: TestUser
beforeAll(async () => {
  owner = await aUser(t.ctx)
})

/** A project with a branch `main`, and a clone of it that is on the branch `topic` with one commit. */
async function aClone(caller = owner, attributes = {}) {
  const roles = caller === owner ? {} : { developer: caller }
  const project = await aProject(t.ctx, { creator: owner, ...roles, files: { 'a.txt': 'one' }, ...attributes })
  const work = await client.cloned(client.url(project.fullPath, caller))
  await gitOut(work, 'checkout', '-qb', 'topic')
  await commitIn(work, 'b.txt')
  return { project, work }
}

const requestsOf = async (project: TestProject, state = 'opened') =>
  (await t.api('get', `${project.path}/merge_requests?state=${state}&sort=asc`, owner).expect(200)).body
const lines = (err: string) => err.split('\n').flatMap((line) => (line.startsWith('remote: ') ? [line.slice('remote: '.length).trim()] : []))
const newLink = (project: TestProject, branch: string) =>
  `http://roost.test/${project.fullPath}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${branch}`
const options = (...given: string[]) => given.flatMap((option) => ['-o', option])

describe('the link to a merge request', () => {
  it('is printed for a new branch, and that of the open merge request for later pushes (GH-23)', async () => {
    const { project, work } = await aClone()
    const first = await gitRun(work, 'push', 'origin', 'topic', 'topic:refs/heads/a/b+c')
    expect(first.code).toBe(0)
    expect(lines(first.err)).toEqual([
      '',
      'To create a merge request for topic, visit:',
      newLink(project, 'topic'),
      '',
      'To create a merge request for a/b+c, visit:',
      newLink(project, 'a%2Fb%2Bc'),
      '',
    ])
    const opened = await t.api('post', `${project.path}/merge_requests`, owner).send({ source_branch: 'topic', target_branch: 'main', title: 'a' })
    await commitIn(work, 'c.txt')
    const second = await gitRun(work, 'push', 'origin', 'topic')
    expect(lines(second.err)).toEqual(['', 'View merge request for topic:', opened.body.web_url, ''])
  })

  it('is not printed for the default branch, what equals it, tags, deleted branches, nor where the project says so (GH-23)', async () => {
    const { project, work } = await aClone()
    await gitOut(work, 'checkout', '-q', 'main')
    await commitIn(work, 'c.txt')
    const silent = await gitRun(work, 'push', 'origin', 'main', 'main:same', 'main:refs/tags/v1')
    expect([silent.code, lines(silent.err)]).toEqual([0, []])
    expect(lines((await gitRun(work, 'push', 'origin', ':same')).err)).toEqual([])
    await t.api('put', project.path, owner).send({ printing_merge_request_link_enabled: false }).expect(200)
    expect(lines((await gitRun(work, 'push', 'origin', 'topic')).err)).toEqual([])
    await t.api('put', project.path, owner).send({ printing_merge_request_link_enabled: true, merge_requests_access_level: 'disabled' }).expect(200)
    expect(lines((await gitRun(work, 'push', 'origin', 'topic:other')).err)).toEqual([])
  })

  it('is not printed for the first push to an empty project, whatever its branch is called (GH-23)', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const work = client.folder()
    await gitOut(work, 'init', '-q', '-b', 'trunk')
    await commitIn(work, 'a.txt')
    const pushed = await gitRun(work, 'push', client.url(project.fullPath, owner), 'trunk')
    expect([pushed.code, lines(pushed.err)]).toEqual([0, []])
  })

  it('is printed for five branches of a push, and the rest are counted (GH-23)', async () => {
    const { work } = await aClone()
    const names = Array.from({ length: 8 }, (_, at) => `topic:refs/heads/t${at}`)
    const said = lines((await gitRun(work, 'push', 'origin', ...names)).err)
    expect(said.filter((line) => line.startsWith('To create'))).toEqual([0, 1, 2, 3, 4].map((at) => `To create a merge request for t${at}, visit:`))
    expect(said).toContain('and 3 more branches')
  })
})

describe('push options', () => {
  it('open a merge request over HTTP, with the texts of its only commit (PO-1, PO-5)', async () => {
    const { project, work } = await aClone()
    await gitOut(work, 'commit', '-q', '--amend', '-m', 'Mend it\n\nBecause it was broken.')
    const pushed = await gitRun(work, 'push', ...options('merge_request.create', 'merge_request.target=main'), 'origin', 'topic')
    expect(pushed.code).toBe(0)
    const [request, ...more] = await requestsOf(project)
    expect(more).toEqual([])
    expect(request).toMatchObject({
      title: 'Mend it',
      description: 'Because it was broken.',
      source_branch: 'topic',
      target_branch: 'main',
      author: { username: owner.username },
      sha: await gitOut(work, 'rev-parse', 'HEAD'),
    })
    expect(lines(pushed.err)).toEqual(['', 'View merge request for topic:', request.web_url, ''])
  })

  it('open a merge request over SSH (PO-1)', async () => {
    const { project, work } = await aClone()
    const key = await ssh.stored(owner, ssh.newKey())
    const pushed = await ssh.git(work, key, 'push', '-o', 'mr.create', '-o', 'mr.title=Over SSH', ssh.url(project.fullPath), 'topic')
    expect(pushed.code).toBe(0)
    expect(await requestsOf(project)).toMatchObject([{ title: 'Over SSH', source_branch: 'topic' }])
    expect(pushed.err).toContain('remote: View merge request for topic:')
  })

  it('give the new merge request all its attributes (PO-6)', async () => {
    const developer = await aUser(t.ctx)
    const { project, work } = await aClone(developer)
    await t.api('post', `${project.path}/milestones`, owner).send({ title: 'v1' }).expect(201)
    await t.api('post', `${project.path}/repository/branches?branch=next&ref=main`, owner).expect(201)
    const given = options(
      'merge_request.create',
      'merge_request.target=next',
      'merge_request.title=All of it',
      'merge_request.description=A description, with = in it',
      'merge_request.label=one, two',
      'merge_request.label=two',
      'merge_request.label=three',
      'merge_request.unlabel=three',
      `merge_request.assign=${owner.username}`,
      'merge_request.milestone=v1',
      'merge_request.draft',
      'merge_request.remove_source_branch',
    )
    const pushed = await gitRun(work, 'push', ...given, 'origin', 'topic')
    expect(pushed.err).not.toContain('WARNINGS')
    expect(await requestsOf(project)).toMatchObject([
      {
        title: 'Draft: All of it',
        description: 'A description, with = in it',
        target_branch: 'next',
        labels: ['one', 'two'],
        assignee: { username: owner.username },
        milestone: { title: 'v1' },
        draft: true,
        force_remove_source_branch: true,
        author: { username: developer.username },
      },
    ])
  })

  it('change an open merge request of the branch, which needs no `create` (PO-7)', async () => {
    const { project, work } = await aClone()
    await t.api('post', `${project.path}/repository/branches?branch=next&ref=main`, owner).expect(201)
    const first = options('merge_request.create', 'merge_request.label=one', `merge_request.assign=${owner.id}`)
    await gitOut(work, 'push', '-q', ...first, 'origin', 'topic')
    expect(await requestsOf(project)).toMatchObject([{ labels: ['one'], assignee: { id: owner.id } }])
    await commitIn(work, 'c.txt')
    const second = options(
      'merge_request.title=Another',
      'merge_request.target=next',
      'merge_request.label=two',
      'merge_request.unlabel=one',
      `merge_request.unassign=${owner.username}`,
      'merge_request.draft',
    )
    const pushed = await gitRun(work, 'push', ...second, 'origin', 'topic')
    expect(pushed.err).not.toContain('WARNINGS')
    expect(await requestsOf(project)).toMatchObject([{ title: 'Draft: Another', target_branch: 'next', labels: ['two'], assignee: null }])
  })

  it('open a merge request of a fork in the project it was forked from (PO-5)', async () => {
    const project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'one' } })
    const { body: fork } = await t.api('post', `${project.path}/fork`, owner).expect(201)
    const work = await client.cloned(client.url(fork.path_with_namespace, owner))
    await gitOut(work, 'checkout', '-qb', 'topic')
    await commitIn(work, 'b.txt')
    const pushed = await gitRun(work, 'push', ...options('merge_request.create', 'merge_request.label=one'), 'origin', 'topic')
    const [request] = await requestsOf(project)
    expect(request).toMatchObject({ source_project_id: fork.id, target_project_id: project.id, author: { id: owner.id }, labels: [] })
    expect(lines(pushed.err)).toEqual(
      expect.arrayContaining(['WARNINGS:', 'Labels, milestones and assignees need a role in the target project', request.web_url]),
    )
  })

  it('defer the merge until the pipeline succeeds, also before there is one (PO-8)', async () => {
    const { project, work } = await aClone()
    await gitOut(work, 'push', '-q', ...options('merge_request.create', 'merge_request.merge_when_pipeline_succeeds'), 'origin', 'topic')
    expect(await requestsOf(project)).toMatchObject([{ merge_when_pipeline_succeeds: true, state: 'opened' }])
    const sha = await gitOut(work, 'rev-parse', 'HEAD')
    await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ state: 'success', ref: 'topic' }).expect(201)
    await t.ctx.jobs.drain()
    expect(await requestsOf(project, 'merged')).toMatchObject([{ sha }])
  })

  it('that fail are printed as warnings, and the push stays (PO-4)', async () => {
    const developer = await aUser(t.ctx)
    const { project, work } = await aClone(developer)
    const fails = async (branch: string, ...given: string[]) => {
      const pushed = await gitRun(work, 'push', ...options(...given), 'origin', `topic:refs/heads/${branch}`)
      expect(pushed.code).toBe(0)
      expect(await gitOut(directoryOf(t, project.id), 'rev-parse', branch)).toBe(await gitOut(work, 'rev-parse', 'topic'))
      const said = lines(pushed.err)
      const at = said.indexOf('WARNINGS:')
      return said.slice(at + 1, said.indexOf('', at))
    }
    expect(await fails('a', 'merge_request.title=x')).toEqual([
      'A merge_request.create push option is required to create a merge request for branch a',
    ])
    expect(await fails('b', 'merge_request.create', 'merge_request.target=gone')).toEqual(['Branch gone does not exist'])
    expect(await fails('c', 'merge_request.create', 'merge_request.milestone=v9', 'merge_request.assign=not-here')).toEqual([
      'Milestone v9 was not found',
      'User not-here was not found',
    ])
    expect(await requestsOf(project)).toHaveLength(1)
    expect(await fails('d', 'merge_request.create', `merge_request.title=${'x'.repeat(300)}`)).toEqual([
      'title is too long (maximum is 255 characters)',
    ])
    const many = Array.from({ length: 11 }, (_, at) => `topic:refs/heads/m${at}`)
    const pushed = await gitRun(work, 'push', ...options('merge_request.create'), 'origin', ...many)
    expect(lines(pushed.err)).toContain('Too many branches pushed (11 were pushed, limit is 10)')
    await gitOut(work, 'checkout', '-q', 'main')
    expect(await requestsOf(project)).toHaveLength(1)
  })

  it('that are unknown do nothing (PO-1)', async () => {
    const { project, work } = await aClone()
    const pushed = await gitRun(work, 'push', ...options('other', 'merge_request.nothing=1', 'ci.variable=A=1', '=', '.'), 'origin', 'topic')
    expect(pushed.code).toBe(0)
    expect(pushed.err).not.toContain('WARNINGS')
    expect(await requestsOf(project)).toEqual([])
  })

  it('of a deploy key open no merge request: it is no user (PO-3)', async () => {
    const { project, work } = await aClone()
    const pair = ssh.newKey()
    const { body: key } = await t
      .api('post', `${project.path}/deploy_keys`, owner)
      .send({ title: 'robot', key: pair.line, can_push: true })
      .expect(201)
    expect(key.can_push).toBe(true)
    const pushed = await ssh.git(work, pair, 'push', '-o', 'merge_request.create', ssh.url(project.fullPath), 'topic')
    expect(pushed.code).toBe(0)
    expect(lines(pushed.err)).toContain('A deploy key opens and changes no merge requests')
    expect(await requestsOf(project)).toEqual([])
  })

  it('for merge requests do nothing in a wiki but give a warning (PO-3)', async () => {
    const project = await aProject(t.ctx, { creator: owner })
    const work = await client.cloned(client.url(`${project.fullPath}.wiki`, owner))
    await commitIn(work, 'home.md')
    const pushed = await gitRun(work, 'push', ...options('merge_request.create'), 'origin', 'HEAD:refs/heads/main')
    expect([pushed.code, lines(pushed.err)]).toEqual([0, ['', 'WARNINGS:', 'A wiki has no merge requests', '']])
  })

  it('are at most 100, of 65,536 bytes together: more refuse the push (PO-2)', async () => {
    const { project, work } = await aClone()
    const some = await gitRun(work, 'push', ...options(...Array.from({ length: 100 }, (_, at) => `o${at}`)), 'origin', 'topic:some')
    expect(some.code).toBe(0)
    for (const given of [Array.from({ length: 101 }, (_, at) => `o${at}`), Array.from({ length: 2 }, () => 'x'.repeat(40_000))]) {
      const refused = await gitRun(work, 'push', '--porcelain', ...options(...given), 'origin', 'topic', 'topic:more')
      expect(refused.code).toBe(1)
      expect(refused.err).toContain('remote: A push may have at most 100 options with 65536 bytes together.')
      expect(refused.out).toMatch(/^!\trefs\/heads\/topic:refs\/heads\/topic\t\[remote rejected\] \(too many push options\)$/m)
    }
    expect(await gitOut(directoryOf(t, project.id), 'for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main\nrefs/heads/some')
  })

  it('without end are refused before git reads them, and a raw push with options is taken (PO-2)', async () => {
    const { project, work } = await aClone()
    const sha = await gitOut(work, 'rev-parse', 'main')
    const command = packet(`${'0'.repeat(40)} ${sha} refs/heads/raw\0 report-status side-band-64k push-options\n`)
    const post = (body: Buffer) =>
      fetch(`${t.url}/${project.fullPath}.git/git-receive-pack`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`git:${owner.token}`).toString('base64')}`,
          'content-type': 'application/x-git-receive-pack-request',
        },
        body: new Uint8Array(body),
      })
    const flush = Buffer.from('0000')
    const endless = Buffer.concat([command, flush, ...Array.from({ length: 200 }, () => packet('x'.repeat(60_000)))])
    expect(await (await post(endless)).text()).toContain('ng refs/heads/raw too many push options')
    const answer = await (await post(Buffer.concat([command, flush, packet('a'), packet('b\n'), flush, EMPTY_PACK]))).text()
    expect(answer).toContain('ok refs/heads/raw')
    expect(existsSync(join(directoryOf(t, project.id), 'refs/heads/raw'))).toBe(true)
  })
})

describe('ci.skip', () => {
  it('gives the pushed branches and tags a skipped pipeline, and says so in the webhook (PO-9)', async () => {
    const { project, work } = await aClone()
    await t
      .api('post', `${project.path}/hooks`, owner)
      .send({ url: `${r.url}/skip`, tag_push_events: true })
      .expect(201)
    const sha = await gitOut(work, 'rev-parse', 'HEAD')
    await gitOut(work, 'tag', '-a', '-m', 'one', 'v1')
    await gitOut(work, 'push', '-q', ...options('ci.skip', 'merge_request.create'), 'origin', 'topic', 'v1')
    const { body: pipelines } = await t.api('get', `${project.path}/pipelines?sort=asc`, owner).expect(200)
    expect(pipelines).toMatchObject([
      { sha, ref: 'topic', status: 'skipped', source: 'push' },
      { sha, ref: 'v1', status: 'skipped', source: 'push' },
    ])
    const [request] = await requestsOf(project)
    const shown = (await t.api('get', `${project.path}/merge_requests/${request.iid}`, owner).expect(200)).body
    expect(shown.head_pipeline).toMatchObject({ id: pipelines[0].id, status: 'skipped' })
    await gitOut(work, 'push', '-q', 'origin', 'topic:plain')
    await t.ctx.jobs.drain()
    expect(
      r
        .at('/skip')
        .map(({ body }) => `${body.ref} ${JSON.stringify(body.push_options)}`)
        .sort(),
    ).toEqual(['refs/heads/plain {}', 'refs/heads/topic {"ci":{"skip":true}}', 'refs/tags/v1 {"ci":{"skip":true}}'])
    // there is nothing to cancel, and a status that comes all the same counts
    const at = `${project.path}/pipelines/${pipelines[0].id}`
    expect((await t.api('post', `${at}/cancel`, owner).expect(200)).body.status).toBe('skipped')
    await t.api('post', `${project.path}/statuses/${sha}`, owner).send({ state: 'running', ref: 'topic' }).expect(201)
    expect((await t.api('get', at, owner).expect(200)).body.status).toBe('running')
  })

  it('leaves merge requests of the branch without pipelines, new ones too (PO-9, CI-206)', async () => {
    const { project, work } = await aClone()
    await commitIn(work, '.gitlab-ci.yml', 'job: { script: x, only: [merge_requests] }')
    await gitOut(work, 'push', '-q', ...options('ci.skip', 'merge_request.create'), 'origin', 'topic')
    await t.ctx.jobs.drain()
    const [request] = await requestsOf(project)
    const sources = async () =>
      (await t.api('get', `${project.path}/merge_requests/${request.iid}/pipelines`, owner).expect(200)).body.map(
        ({ source, status }: Record<string, string>) => `${source} ${status}`,
      )
    expect(await sources()).toEqual(['push skipped'])
    await commitIn(work, 'd.txt')
    await gitOut(work, 'push', '-q', ...options('ci.skip'), 'origin', 'topic')
    await t.ctx.jobs.drain()
    expect(await sources()).toEqual(['push skipped', 'push skipped'])
    await commitIn(work, 'e.txt')
    await gitOut(work, 'push', '-q', 'origin', 'topic')
    await t.ctx.jobs.drain()
    expect(await sources()).toEqual(['merge_request_event pending', 'push skipped', 'push skipped'])
  })

  it('lets a merge request merge whose project wants a pipeline and counts skipped ones (PO-9, PR-41)', async () => {
    const { project, work } = await aClone(owner, { only_allow_merge_if_pipeline_succeeds: true })
    await gitOut(work, 'push', '-q', ...options('merge_request.create'), 'origin', 'topic')
    const [request] = await requestsOf(project)
    const accept = () => t.api('put', `${project.path}/merge_requests/${request.iid}/merge`, owner)
    await accept().expect(405)
    await commitIn(work, 'c.txt')
    await gitOut(work, 'push', '-q', ...options('ci.skip'), 'origin', 'topic')
    await accept().expect(200)
  })
})

describe('ci.variable', () => {
  const YAML = 'job: { script: x, rules: [{ if: $DEPLOY == "yes = no" }, { if: $CI_PIPELINE_SOURCE == "merge_request_event" }] }'
  const pipelinesOf = async (project: TestProject) => {
    await t.ctx.jobs.drain()
    const { body } = await t.api('get', `${project.path}/pipelines?sort=asc`, owner).expect(200)
    const variablesOf = async ({ id }: { id: number }) => (await t.api('get', `${project.path}/pipelines/${id}/variables`, owner).expect(200)).body
    return Promise.all(
      body.map(async (each: { id: number; ref: string; source: string }) => ({
        ref: each.ref,
        source: each.source,
        variables: await variablesOf(each),
      })),
    )
  }
  const deploy = { key: 'DEPLOY', value: 'yes = no', variable_type: 'env_var' }

  it('gives variables to the pipelines of branches and tags, not to those of merge requests nor to webhooks (PO-20)', async () => {
    const { project, work } = await aClone()
    await t
      .api('post', `${project.path}/hooks`, owner)
      .send({ url: `${r.url}/variables` })
      .expect(201)
    await commitIn(work, '.gitlab-ci.yml', YAML)
    await gitOut(work, 'tag', 'v1')
    const given = options('ci.variable=DEPLOY=no', 'ci.variable=DEPLOY=yes = no', 'ci.variable=EMPTY=', 'merge_request.create')
    // a job may be over before it is looked at
    await t.ctx.db.write.execute(sql`create table kept_jobs (kind text, row text);
      create function keep_job() returns trigger language plpgsql as 'begin insert into kept_jobs values (new.kind, new::text); return new; end';
      create trigger keep_job before insert on jobs for each row execute function keep_job()`)
    await gitOut(work, 'push', '-q', ...given, 'origin', 'topic', 'v1')
    const variables = [deploy, { key: 'EMPTY', value: '', variable_type: 'env_var' }]
    const { rows: kept } = await t.ctx.db.write.execute<{ kind: string; row: string }>(sql`select kind, row from kept_jobs`)
    await t.ctx.db.write.execute(sql`drop trigger keep_job on jobs; drop function keep_job; drop table kept_jobs`)
    expect(kept.map(({ kind }) => kind)).toContain('pipelines of a push')
    expect(JSON.stringify(kept)).not.toContain('yes = no')
    const made = await pipelinesOf(project)
    expect(made).toHaveLength(3)
    expect(made).toEqual(
      expect.arrayContaining([
        { ref: 'topic', source: 'push', variables },
        { ref: 'v1', source: 'push', variables },
        { ref: 'refs/merge-requests/1/head', source: 'merge_request_event', variables: [] },
      ]),
    )
    expect(r.at('/variables').map(({ body }) => body.push_options)).toEqual([{}])
    await commitIn(work, 'c.txt')
    await gitOut(work, 'push', '-q', 'origin', 'topic:other')
    expect(await pipelinesOf(project)).toHaveLength(3)
  })

  it('warns of what is no variable, and does the rest, over SSH too (PO-20)', async () => {
    const { project, work } = await aClone()
    await commitIn(work, '.gitlab-ci.yml', YAML)
    const key = await ssh.stored(owner, ssh.newKey())
    const given = options('ci.variable=NO', 'ci.variable==hidden', 'ci.variable=A-B=hidden', 'ci.variable', 'ci.variable=DEPLOY=yes = no')
    const pushed = await ssh.git(work, key, 'push', ...given, ssh.url(project.fullPath), 'topic')
    expect(lines(pushed.err).filter((line) => line.includes('ci.variable'))).toEqual([
      'ci.variable is ignored where it is not KEY=VALUE with a key of letters, digits and _',
    ])
    expect(pushed.err).not.toContain('hidden')
    expect(await pipelinesOf(project)).toEqual([{ ref: 'topic', source: 'push', variables: [deploy] }])
  })
})
