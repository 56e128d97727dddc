import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'

const t = testApp()
const { withCi, states, get } = ciOf(t)

const MAKE = 'make: { script: x, artifacts: { paths: [out] } }'
const bytes = Buffer.from('an archive')

/** A project whose job has an archive, in a pipeline that has succeeded. */
async function made() {
  const { project, runner } = await withCi(MAKE)
  const job = await runner.takeNamed('make')
  await runner.upload(job, bytes)
  await runner.end(job, 'success')
  return { project, id: job.id }
}

describe('a job that needs artifacts of another project', () => {
  const using = (path: string) => `use: { script: x, variables: { REF: main }, needs: [{ project: ${path}, job: make, ref: $REF }] }`

  async function asking(path: string) {
    const found = await withCi(using(path))
    return found
  }

  it('gets those of the newest pipeline of the ref that succeeded, if its user may read them (CI-311)', async () => {
    const { project: theirs, id } = await made()
    const { project, runner } = await asking(theirs.fullPath)
    await t.api('post', `${theirs.path}/members`, theirs.creator).send({ user_id: project.creator.id, access_level: 20 }).expect(201)
    // the project decides which jobs may use it (CI-244)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: theirs.creator.id, access_level: 10 }).expect(201)
    await t.api('post', `${theirs.path}/job_token_scope/allowlist`, theirs.creator).send({ target_project_id: project.id }).expect(201)
    const job = await runner.takeNamed('use')
    expect(job.dependencies).toMatchObject([{ id, name: 'make', artifacts_file: { filename: 'artifacts.zip', size: bytes.length } }])
    const fetched = await runner.download(id, job.dependencies[0]?.token ?? '')
    expect(Buffer.from(await fetched.arrayBuffer())).toEqual(bytes)
    await t.api('delete', `${theirs.path}/members/${project.creator.id}`, theirs.creator).expect(204)
    expect((await runner.download(id, job.token)).status).toBe(404)
  })

  it('fails if its user may not read them, or there are none (CI-311)', async () => {
    const { project: theirs } = await made()
    const { project, runner } = await asking(theirs.fullPath)
    expect(await runner.take()).toBeNull()
    expect(await states(project)).toEqual(['failed', 'use failed'])
    expect((await get(project, '/jobs'))[0].failure_reason).toBe('missing_dependency_failure')
  })

  it('reads no other archive there (CI-311)', async () => {
    const { project: theirs, id } = await made()
    const { project, runner } = await withCi('plain: { script: x }')
    await t.api('post', `${theirs.path}/members`, theirs.creator).send({ user_id: project.creator.id, access_level: 20 }).expect(201)
    const job = await runner.takeNamed('plain')
    expect((await runner.download(id, job.token)).status).toBe(404)
  })
})

it('a job of a child pipeline gets artifacts of its parent (CI-311)', async () => {
  const { runner } = await withCi(
    `stages: [a, b]\n${MAKE.replace('script', 'stage: a, script')}\ngo: { stage: b, trigger: { include: child.yml }, variables: { PARENT: $CI_PIPELINE_ID } }`,
    { 'child.yml': 'use: { script: x, needs: [{ pipeline: $PARENT, job: make }] }' },
  )
  const make = await runner.takeNamed('make')
  await runner.upload(make, bytes)
  await runner.end(make, 'success')
  await t.ctx.jobs.drain()
  expect((await runner.takeNamed('use')).dependencies).toMatchObject([{ id: make.id, name: 'make' }])
})

it('a job with a release has a step that makes it (CI-310)', async () => {
  const { runner } = await withCi(`
job:
  script: x
  release:
    tag_name: v1
    name: Release $CI_COMMIT_SHORT_SHA
    description: 'The "first" \`release\` $(rm)'
    milestones: [m1, m2]
    assets: { links: [{ name: bin, url: 'https://example.com/bin', filepath: /bin }] }
`)
  const job = await runner.takeNamed('job')
  expect(job.steps).toMatchObject([
    { name: 'script', script: ['x'] },
    {
      name: 'release',
      when: 'on_success',
      script: [
        'release-cli create --name "Release $CI_COMMIT_SHORT_SHA" --description "The \\"first\\" \\`release\\` \\$(rm)" --tag-name "v1" --milestone "m1" --milestone "m2" ' +
          '--assets-link "{\\"name\\":\\"bin\\",\\"url\\":\\"https://example.com/bin\\",\\"filepath\\":\\"/bin\\"}"',
      ],
    },
  ])
})
