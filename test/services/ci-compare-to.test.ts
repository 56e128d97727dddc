import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import type { TestProject } from '../support/factories.js'

const t = testApp()
const { withCi, push, get, states } = ciOf(t)

const COMPARING = `
variables: { BASE: refs/heads/$CI_DEFAULT_BRANCH }
always: { script: x }
docs: { script: x, rules: [{ changes: { paths: [docs/*], compare_to: $BASE } }] }
code: { script: x, rules: [{ changes: { paths: [src/*], compare_to: $OTHER } }], variables: { OTHER: main } }
since tag: { script: x, rules: [{ changes: { paths: [src/*], compare_to: v1 } }] }
`

const branch = async (project: TestProject, name: string, ref: string) =>
  t.api('post', `${project.path}/repository/branches?branch=${name}&ref=${ref}`, project.creator).expect(201)

describe('changes in rules of includes (CI-4)', () => {
  it('are about what the push has changed, or the branch', async () => {
    const { project } = await withCi(`
include:
  - { local: docs.yml, rules: [{ changes: [docs/*] }] }
  - { local: code.yml, rules: [{ changes: { paths: [src/*], compare_to: main } }] }
always: { script: x }
`)
    await push(project, { 'docs.yml': 'docs: { script: x }', 'code.yml': 'code: { script: x }' }, 'files')
    expect(await states(project)).toEqual(['pending', 'always pending'])
    await push(project, { 'src/a.c': 'a' }, 'code', 'topic')
    const actions = [{ action: 'create', file_path: 'docs/a.md', content: 'a' }]
    await t.api('post', `${project.path}/repository/commits`, project.creator).send({ branch: 'topic', commit_message: 'docs', actions }).expect(201)
    await t.ctx.jobs.drain()
    expect(await states(project)).toEqual(['pending', 'docs pending', 'code pending', 'always pending'])
    // a check knows of no push, and main is as main
    expect((await get(project, '/ci/lint?dry_run=true&include_jobs=true')).jobs.map((each: { name: string }) => each.name)).toEqual([
      'docs',
      'always',
    ])
  })

  it('fail the pipeline where the ref to compare with does not exist', async () => {
    const { project } = await withCi('include: { local: a.yml, rules: [{ changes: { paths: [a], compare_to: old } }] }\nalways: { script: x }')
    const [{ id }] = await get(project, '/pipelines')
    expect(await get(project, `/pipelines/${id}`)).toMatchObject({ status: 'failed', yaml_errors: 'rules:changes:compare_to is not a valid ref' })
  })
})

describe('changes: compare_to', () => {
  it('compares the commit with its merge base with a ref, whatever the push has changed (CI-261)', async () => {
    const { project } = await withCi(COMPARING)
    await t.api('post', `${project.path}/repository/tags?tag_name=v1&ref=main`, project.creator).expect(201)
    await push(project, { 'docs/a.md': 'a' }, 'docs', 'topic')
    expect(await states(project)).toEqual(['pending', 'always pending', 'docs pending'])
    // main goes on, which the branch does not change
    await push(project, { 'src/main.c': 'a' }, 'code of main')
    const actions = [{ action: 'create', file_path: 'src/b.c', content: 'b' }]
    await t.api('post', `${project.path}/repository/commits`, project.creator).send({ branch: 'topic', commit_message: 'code', actions }).expect(201)
    await t.ctx.jobs.drain()
    expect(await states(project)).toEqual(['pending', 'always pending', 'docs pending', 'code pending', 'since tag pending'])
  })

  it('fails the pipeline where the ref does not exist, in a dry run too (CI-261)', async () => {
    const { project } = await withCi('job: { script: x, rules: [{ changes: { paths: [a], compare_to: $CI_COMMIT_REF_NAME-old } }] }')
    const [{ id }] = await get(project, '/pipelines')
    const error = 'Failed to parse rule for job: rules:changes:compare_to is not a valid ref'
    expect(await get(project, `/pipelines/${id}`)).toMatchObject({ status: 'failed', yaml_errors: error })
    expect(await get(project, '/ci/lint?dry_run=true')).toMatchObject({ valid: false, errors: [error] })
    await branch(project, 'main-old', 'main')
    expect(await get(project, '/ci/lint?dry_run=true')).toMatchObject({ valid: false, errors: ['No stages / jobs for this pipeline.'] })
  })

  it('compares with 10 refs at most (CI-261)', async () => {
    const job = (n: number) => `j${n}: { script: x, rules: [{ changes: { paths: [a], compare_to: r${n} } }] }`
    const { project } = await withCi(Array.from({ length: 11 }, (_, n) => job(n)).join('\n'))
    const [{ id }] = await get(project, '/pipelines')
    expect((await get(project, `/pipelines/${id}`)).yaml_errors).toBe('rules:changes:compare_to has more than 10 different refs')
  })
})
