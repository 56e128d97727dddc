import { describe, expect, it } from 'vitest'
import { plan } from '../../../src/rules/ci/plan.js'
import type { PipelineContext } from '../../../src/rules/ci/types.js'
import { compileWith, errorsOf, jobsOf, pipeline, planOf, variables } from './support.js'

const names = async (text: string, context: Partial<PipelineContext> = {}) => (await planOf(text, context)).jobs.map((job) => job.name)

describe('rules (CI-22)', () => {
  it('the first rule whose clauses all hold decides; without one the job is absent', async () => {
    const text = `
a: {script: x, rules: [{if: '$CI_COMMIT_BRANCH == "dev"'}]}
b: {script: x, rules: []}
c: {script: x, rules: [{if: $CI_COMMIT_BRANCH, when: never}, {when: always}]}
d: {script: x, rules: [{if: $CI_COMMIT_BRANCH, exists: [missing]}, {if: $CI_COMMIT_BRANCH, when: delayed, start_in: 1 hour, allow_failure: true, interruptible: true, variables: {V: rule}}], variables: {V: job, W: w}}
e: {script: x, rules: [[{if: '$CI_COMMIT_BRANCH =~ /^ma/'}]]}
`
    expect(await names(text)).toEqual(['d', 'e'])
    expect((await jobsOf(text)).d).toMatchObject({
      when: 'delayed',
      start_in: 3_600,
      allow_failure: true,
      interruptible: true,
      variables: [
        { key: 'V', value: 'rule' },
        { key: 'W', value: 'w' },
      ],
    })
  })

  it('manual in a rule blocks, manual of the job does not', async () => {
    const jobs = await jobsOf(`
a: {script: x, when: manual}
b: {script: x, rules: [{when: manual}]}
c: {script: x, when: manual, rules: [{if: $CI_COMMIT_BRANCH}]}
d: {script: x, when: manual, allow_failure: false}
e: {script: x, allow_failure: {exit_codes: 3}, rules: [{allow_failure: true}]}
`)
    expect(Object.values(jobs).map(({ name, when, allow_failure }) => [name, when, allow_failure])).toEqual([
      ['a', 'manual', true],
      ['b', 'manual', false],
      ['c', 'manual', true],
      ['d', 'manual', false],
      ['e', 'on_success', true],
    ])
    expect(jobs.e?.allow_failure_exit_codes).toBeNull()
  })

  it('conditions see predefined variables below those of the file, and all others above, by the environment of the job', async () => {
    const text = `
variables: {A: file, B: file, CI_COMMIT_BRANCH: file}
j: {script: x, variables: {B: job, C: $B-c}, environment: prod/$A, rules: [{if: '$A == "project" && $B == "job" && $C == "job-c" && $CI_COMMIT_BRANCH == "file" && $D == "prod"'}]}
k: {script: x, rules: [{if: $D}]}
`
    const overriding = [
      { key: 'A', value: 'project' },
      { key: 'D', value: 'prod', environment_scope: 'prod/*' },
      { key: 'E', value: 'x', environment_scope: 'test' },
    ]
    expect(await names(text, { overriding })).toEqual(['j'])
  })

  it('changes and exists are about paths; without anything to compare with changes hold', async () => {
    const text = `
a: {script: x, rules: [{changes: [src/*.ts, "$DIR/**/*"]}]}
b: {script: x, rules: [{exists: ["*.md"]}]}
c: {script: x, rules: [{changes: {paths: [docs/*], compare_to: refs/heads/$REF}}]}
d: {script: x}
`
    const predefined = variables({ CI_COMMIT_BRANCH: 'main', DIR: 'lib', REF: 'dev' })
    const context = { predefined, changed_paths_since: { 'refs/heads/dev': ['docs/x'] } }
    expect(await names(text, { ...context, changed_paths: ['src/x.ts'], tree: ['docs/README.md'] })).toEqual(['a', 'c', 'd'])
    expect(await names(text, { ...context, changed_paths: ['lib/deep/er/x'], tree: ['README.md'] })).toEqual(['a', 'b', 'c', 'd'])
    expect(await names(text, { ...context, changed_paths: ['other'], tree: null })).toEqual(['b', 'c', 'd'])
    expect(await names(text, { ...context, changed_paths: null })).toEqual(['a', 'c', 'd'])
    const missing = { 'refs/heads/dev': false as const }
    expect(await errorsOf(text, { predefined, changed_paths_since: missing })).toEqual([
      'Failed to parse rule for c: rules:changes:compare_to is not a valid ref',
    ])
    expect((await compileWith(text)).reads).toEqual({ changes: true, compare_to: ['refs/heads/$REF'], exists: true })
  })

  it('workflow: rules decide about the pipeline, and add variables', async () => {
    const text = `
workflow:
  name: Pipeline of $CI_COMMIT_BRANCH
  auto_cancel: {on_new_commit: none}
  rules: [{if: '$CI_COMMIT_BRANCH == "main"', variables: {V: workflow, W: workflow}, auto_cancel: {on_job_failure: all}}]
variables: {V: file}
j: {script: x, variables: {W: job}}
`
    const made = await planOf(text)
    expect(made).toMatchObject({
      errors: [],
      name: 'Pipeline of main',
      auto_cancel: { on_new_commit: null, on_job_failure: 'all' },
      stages: ['test'],
    })
    expect(made.jobs[0]?.variables).toEqual([
      { key: 'V', value: 'workflow' },
      { key: 'W', value: 'job' },
    ])
    expect(await planOf(text, { predefined: [] })).toMatchObject({
      errors: ['Pipeline filtered out by workflow rules.'],
      is_filtered: true,
      jobs: [],
    })
  })
})

describe('only and except (CI-25)', () => {
  const tag = { ref: 'v1.0', is_tag: true }
  const mergeRequest = { source: 'merge_request_event', is_merge_request: true, ref: 'topic' } as const

  it.each<[string, Partial<PipelineContext>, boolean]>([
    ['', {}, true],
    ['', tag, true],
    ['', mergeRequest, false],
    ['only: [main]', {}, true],
    ['only: [main]', mergeRequest, false],
    ['only: [dev]', {}, false],
    ['only: [tags]', tag, true],
    ['only: [branches]', tag, false],
    ['only: [/^v\\d/]', tag, true],
    ['only: [/^V/i]', tag, true],
    ['only: [merge_requests]', mergeRequest, true],
    ['only: [pushes]', {}, true],
    ['only: [schedules]', { source: 'schedule' }, true],
    ['only: [web, api]', { source: 'api' }, true],
    ['only: [pipelines]', { source: 'pipeline' }, true],
    ['only: [main@team/app]', {}, true],
    ['only: [main@other/app]', {}, false],
    ['only: {variables: [$CI_COMMIT_BRANCH]}', {}, true],
    ['only: {variables: [$NONE]}', {}, false],
    ['only: {variables: [$CI_COMMIT_BRANCH]}', mergeRequest, false],
    ['only: {refs: [main], changes: [x]}', { changed_paths: ['y'] }, false],
    ['only: {refs: [main], changes: [x]}', { changed_paths: ['x'] }, true],
    ['only: {refs: [main], changes: [x]}', {}, true],
    ['only: {kubernetes: active}', {}, false],
    ['except: {kubernetes: active}', {}, true],
    ['except: [main]', {}, false],
    ['except: {refs: [dev], variables: [$CI_COMMIT_BRANCH]}', {}, false],
    ['except: {changes: [x]}', { changed_paths: ['y'] }, true],
    ['except: [tags]', {}, true],
  ])('%s of %j: %s', async (keys, context, isThere) => {
    expect((await names(`.pre: {script: x}\nj: {script: x, ${keys}}`.replace('.pre: {script: x}\n', ''), context)).length > 0).toBe(isThere)
  })

  it('the default of branches and tags is gone where rules decide', async () => {
    expect(await names('workflow: {rules: [{when: always}]}\nj: {script: x}', mergeRequest)).toEqual(['j'])
  })
})

describe('the jobs of a pipeline (CI-30 to CI-33)', () => {
  it('in order of stages, then of the file; stages without jobs are left out', async () => {
    const { jobs, stages } = await planOf(`
stages: [one, two, three]
c: {script: x, stage: three}
p: {script: x, stage: .post}
a: {script: x, stage: one}
b: {script: x, stage: one}
`)
    expect(stages).toEqual(['one', 'three', '.post'])
    expect(jobs.map((job) => [job.name, job.stage_index])).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 1],
      ['p', 2],
    ])
  })

  it.each(['j: {script: x, only: [dev]}', 'j: {script: x, stage: .pre}\nk: {script: x, stage: .post}'])(
    'no pipeline without jobs of a stage between: %s',
    async (text) => {
      expect(await planOf(text)).toMatchObject({ errors: ['No stages / jobs for this pipeline.'], is_empty: true })
    },
  )

  it('parallel makes many of one, by numbers or by a matrix', async () => {
    const jobs = await jobsOf(`
n: {script: x, parallel: 2}
m:
  script: x
  variables: {OS: job}
  tags: [$OS]
  environment: $OS-$CI_NODE_INDEX
  parallel: {matrix: [{OS: [linux, mac], V: [1, 2]}, {OS: bsd}]}
`)
    expect(Object.keys(jobs)).toEqual(['n 1/2', 'n 2/2', 'm: [linux, 1]', 'm: [linux, 2]', 'm: [mac, 1]', 'm: [mac, 2]', 'm: [bsd]'])
    expect(jobs['n 2/2']).toMatchObject({ group_name: 'n', parallel: { index: 2, total: 2 }, matrix: null })
    expect(jobs['m: [mac, 1]']).toMatchObject({
      tags: ['mac'],
      environment: { name: 'mac-3' },
      parallel: { index: 3, total: 5 },
      matrix: { OS: 'mac', V: '1' },
    })
    expect(jobs['m: [mac, 1]']?.variables).toEqual([
      { key: 'OS', value: 'mac' },
      { key: 'V', value: '1' },
    ])
  })

  it('needs: by name, of all that parallel makes, or of some; dependencies follow them', async () => {
    const jobs = await jobsOf(`
a: {script: x, stage: build, parallel: 2}
m: {script: x, stage: build, parallel: {matrix: [{A: [1, 2], B: [x, y]}]}}
one: {script: x, needs: [a]}
two: {script: x, needs: ["a 2/2", {job: m, artifacts: false, parallel: {matrix: [{A: 1, B: [x, y]}]}}]}
own: {script: x, needs: [{job: m, parallel: {matrix: [{A: "$[[ matrix.A ]]", B: y}]}}], parallel: {matrix: [{A: [1, 2]}]}}
none: {script: x, needs: []}
some: {script: x, dependencies: [a]}
zero: {script: x, dependencies: []}
rest: {script: x}
`)
    const needs = (name: string) => jobs[name]?.needs?.map((each) => each.job)
    expect(needs('one')).toEqual(['a 1/2', 'a 2/2'])
    expect(needs('two')).toEqual(['a 2/2', 'm: [1, x]', 'm: [1, y]'])
    expect(jobs.two?.dependencies).toEqual(['a 2/2'])
    expect([needs('own: [1]'), needs('own: [2]')]).toEqual([['m: [1, y]'], ['m: [2, y]']])
    expect(jobs.none).toMatchObject({ needs: [], dependencies: [] })
    expect(jobs.some).toMatchObject({ needs: null, dependencies: ['a 1/2', 'a 2/2'] })
    expect(jobs.zero).toMatchObject({ needs: null, dependencies: [] })
    expect(jobs.rest).toMatchObject({ needs: null, dependencies: null })
  })

  it('needs of other pipelines are no jobs to wait for', async () => {
    const { j } = await jobsOf('j: {script: x, needs: [{project: a/b, ref: $R, job: c}, {pipeline: $P, job: d, artifacts: false, optional: true}]}')
    expect(j).toMatchObject({
      needs: [],
      external_needs: [
        { job: 'c', artifacts: true, optional: false, project: 'a/b', ref: '$R', pipeline: null },
        { job: 'd', artifacts: false, optional: true, project: null, ref: null, pipeline: '$P' },
      ],
    })
  })

  it('a need that is not in the pipeline is a fault, unless it is optional; a rule may have its own', async () => {
    const text = (need: string) => `a: {script: x, stage: build, only: [dev]}\nb: {script: x, stage: build}\nj: {script: x, needs: [${need}]}`
    expect(await errorsOf(text('a'))).toEqual([
      "'j' job needs 'a' job, but 'a' does not exist in the pipeline. This might be because of the only, except, or rules keywords. To need a job that sometimes does not exist in the pipeline, use needs:optional.",
    ])
    expect((await jobsOf(text('{job: a, optional: true}, b'))).j?.needs).toEqual([{ job: 'b', artifacts: true }])
    const { j } = await jobsOf('a: {script: x}\nb: {script: x}\nj: {script: x, needs: [a], rules: [{if: $CI_COMMIT_BRANCH, needs: [b]}]}')
    expect(j?.needs).toEqual([{ job: 'b', artifacts: true }])
  })

  it('at most 50 needs, and 2,000 jobs (CI-40)', async () => {
    const many = Array.from({ length: 51 }, (_, n) => `a${n}`)
    const text = `${many.map((name) => `${name}: {script: x}`).join('\n')}\nj: {script: x, needs: [${many.join(', ')}]}`
    expect(await errorsOf(text)).toEqual([
      'j: one job can only need 50 others, but you have listed 51. See needs keyword documentation for more details',
    ])
    const large = Array.from({ length: 11 }, (_, n) => `a${n}: {script: x, parallel: 200}`).join('\n')
    expect(await errorsOf(large)).toEqual([expect.stringMatching(/^The number of jobs has exceeded the limit of 2000\./)])
  })

  it('a configuration with errors has a plan with these', async () => {
    expect(plan(await compileWith('j: x'), pipeline())).toMatchObject({ errors: [expect.any(String)], jobs: [] })
  })

  it('everything is JSON', async () => {
    const compiled = await compileWith('variables: {A: 1.0, B: {value: x, expand: false}}\nj: {script: x, parallel: 2, rules: [{if: $A}], image: a}')
    expect(JSON.parse(JSON.stringify(compiled))).toEqual(compiled)
    const made = plan(compiled, pipeline())
    expect(JSON.parse(JSON.stringify(made))).toEqual(made)
  })
})
