import { describe, expect, it } from 'vitest'
import { compileWith, errorsOf, jobsOf } from './support.js'

/** A job `j` with these keys beside its script. */
const job = (keys: string) => `j: {script: x, ${keys}}`

describe('what is wrong with a job, by its name and keyword (CI-11, CI-14)', () => {
  it.each([
    ['foo: 1, bar: 2', 'jobs:j config contains unknown keys: foo, bar'],
    ['stage: 1', 'jobs:j:stage config should be a string'],
    ['when: sometimes', 'jobs:j when should be one of: on_success, on_failure, always, manual, delayed'],
    ['when: delayed', 'jobs:j start in should be a duration'],
    ['when: delayed, start_in: 8 days', 'jobs:j start in should not exceed the limit'],
    ['start_in: 1 day', 'jobs:j start in must be blank'],
    ['tags: mysql', 'jobs:j:tags config should be an array of strings'],
    ['image: [x]', 'jobs:j:image config should be a hash or a string'],
    ['image: {entrypoint: [x]}', "jobs:j:image name can't be blank"],
    ['image: {name: x, foo: 1}', 'jobs:j:image config contains unknown keys: foo'],
    ['image: {name: x, entrypoint: y}', 'jobs:j:image entrypoint should be an array of strings'],
    ['image: {name: x, pull_policy: []}', "jobs:j:image:pull_policy config can't be blank"],
    ['image: {name: x, docker: {user: ""}}', 'jobs:j:image:executor_opts:docker user invalid format'],
    ['image: {name: x, pull_policy: often}', 'jobs:j:image:pull_policy config unknown value: often'],
    ['image: {name: x, kubernetes: {user: 1}}', 'jobs:j:image `kubernetes` is not supported by this server'],
    ['services: x', 'jobs:j:services config should be an array'],
    ['services: [1]', 'jobs:j:services:service config should be a hash or a string'],
    ['before_script: 1', 'jobs:j:before_script config should be a string or a nested array of strings up to 10 levels deep'],
    ['after_script: [1]', 'jobs:j:after_script config should be a string or a nested array of strings up to 10 levels deep'],
    ['allow_failure: maybe', 'jobs:j allow failure should be a hash or a boolean value'],
    ['allow_failure: {exit_codes: x}', 'jobs:j:allow_failure exit codes should be an array of integers or an integer'],
    ['allow_failure: {codes: 1}', 'jobs:j:allow_failure config contains unknown keys: codes'],
    ['variables: x', 'jobs:j:variables config should be a hash of key value pairs'],
    ['variables: {A: [1]}', 'jobs:j:variables config should be a hash of key value pairs'],
    ['variables: {A: {value: x, description: y}}', 'jobs:j:variables:A config contains unknown keys: description'],
    ['parallel: 0', 'jobs:j:parallel config must be greater than or equal to 1'],
    ['parallel: 201', 'jobs:j:parallel config must be less than or equal to 200'],
    ['parallel: x', 'jobs:j:parallel should be an integer or a hash'],
    ['parallel: {matrix: [{A: []}]}', 'jobs:j:parallel:matrix:variables config should be a hash of key value pairs, value can be an array'],
    ['retry: 3', 'jobs:j:retry config must be less than or equal to 2'],
    ['retry: {max: -1}', 'jobs:j:retry max must be greater than or equal to 0'],
    ['retry: x', 'jobs:j:retry config has to be either an integer or a hash'],
    ['retry: {when: [never, always]}', 'jobs:j:retry when contains unknown values: never'],
    ['timeout: soon', 'jobs:j:timeout config should be a duration'],
    ['timeout: 2 months', 'jobs:j:timeout config should not exceed the limit'],
    ['coverage: x', 'jobs:j:coverage config must be a regular expression with re2 syntax'],
    ['coverage: /(/', 'jobs:j:coverage config must be a regular expression with re2 syntax'],
    ['interruptible: x', 'jobs:j:interruptible config should be a boolean value'],
    ['resource_group: 1', 'jobs:j resource group should be a string'],
    ['dependencies: x', 'jobs:j dependencies should be an array of strings'],
    ['dependencies: [missing]', 'j job: undefined dependency: missing'],
    ['needs: 1', 'jobs:j:needs config can only be a hash or an array'],
    ['needs: [1]', 'jobs:j:needs:need has an unsupported type'],
    ['needs: [{job: a, foo: 1}]', 'jobs:j:needs:need config contains unknown keys: foo'],
    ['needs: [{project: a/b, job: c}]', "jobs:j:needs:need ref can't be blank"],
    ['needs: [{pipeline: a/b}]', 'jobs:j:needs:need `pipeline` without `job` is not supported by this server'],
    ['needs: [missing]', 'j job: undefined need: missing'],
    ['only: main', 'jobs:j:only has to be either an array of conditions or a hash'],
    ['only: [1]', 'jobs:j:only config should be an array of strings or regular expressions using re2 syntax'],
    ['except: ["/(/"]', 'jobs:j:except config should be an array of strings or regular expressions using re2 syntax'],
    ['only: {kubernetes: maybe}', 'jobs:j:only kubernetes unknown value: maybe'],
    ['only: {variables: ["$A ="]}', 'jobs:j:only variables invalid expression syntax'],
    ['rules: x', 'jobs:j rules should be an array containing hashes and arrays of hashes'],
    ['rules: [{}]', "jobs:j:rules:rule config can't be blank"],
    ['rules: [{if: "$A ="}]', 'jobs:j:rules:rule if invalid expression syntax'],
    ['rules: [{when: sometimes}]', 'jobs:j:rules:rule when unknown value: sometimes'],
    ['rules: [{when: delayed}]', "jobs:j:rules:rule start in can't be blank"],
    ['rules: [{if: $A, needs: [{project: a/b, ref: c, job: d}]}]', 'jobs:j:rules:rule:needs config uses invalid types: cross_dependency'],
    ['rules: [{start_in: 1 day}]', 'jobs:j:rules:rule config contains disallowed keys: start_in'],
    ['rules: [{changes: x}]', 'jobs:j:rules:rule:changes config should be an array of strings'],
    [`rules: [{exists: [${'x, '.repeat(51)}]}]`, 'jobs:j:rules:rule exists is too long (maximum is 50 characters)'],
    ['rules: [{exists: {paths: [x], project: a/b}}]', 'jobs:j:rules:rule:exists `project` is not supported by this server'],
    ['rules: [], only: [main]', 'jobs:j config key may not be used with `rules`: only'],
    ['inherit: {default: [foo]}', 'jobs:j:inherit:default config contains unknown values: foo'],
    ['artifacts: [x]', 'jobs:j:artifacts config should be a hash'],
    ['artifacts: {paths: x}', 'jobs:j:artifacts paths should be an array of strings'],
    ['artifacts: {expire_in: 7 elephants}', 'jobs:j:artifacts expire in should be a duration'],
    ['artifacts: {when: never}', 'jobs:j:artifacts when should be one of: on_success, on_failure, always'],
    ['artifacts: {untracked: x}', 'jobs:j:artifacts untracked should be a boolean value'],
    ['artifacts: {reports: {foo: x}}', 'jobs:j:artifacts:reports config contains unknown keys: foo'],
    ['artifacts: {reports: {junit: 1}}', 'jobs:j:artifacts:reports junit should be an array of strings or a string'],
    ['artifacts: {expose_as: x}', "jobs:j:artifacts paths can't be blank"],
    ['cache: x', 'jobs:j:cache config should be a hash'],
    ['cache: {key: a/b}', 'jobs:j:cache:key config cannot contain the "/" character'],
    ['cache: {key: ..}', 'jobs:j:cache:key config cannot be "." or ".."'],
    ['cache: {policy: x}', 'jobs:j:cache policy should be a variable or one of: pull-push, push, pull'],
    ['cache: [{}, {}, {}, {}, {}]', 'jobs:j:cache:caches config no more than 4 caches can be created'],
    ['environment: {url: x}', "jobs:j:environment name can't be blank"],
    ['environment: {name: x, action: go}', 'jobs:j:environment action should be start, stop, prepare, verify, or access'],
    ['environment: {name: x, on_stop: k}', 'j job: on_stop job k is not defined'],
    ['environment: {name: x, auto_stop_in: soon}', 'jobs:j:environment auto stop in should be a duration'],
    ['release: {tag_name: v1}', "jobs:j:release description can't be blank"],
    ['release: {tag_name: v1, description: d, released_at: soon}', 'jobs:j:release released at must be a valid datetime'],
    ['stage: build2', 'j job: chosen stage build2 does not exist; available stages are .pre, build, test, deploy, .post'],
    ['secrets: {A: {vault: x}}', 'jobs:j `secrets` is not supported by this server'],
    ['id_tokens: {A: {aud: x}}', 'jobs:j `id_tokens` is not supported by this server'],
    ['hooks: {pre_get_sources_script: x}', 'jobs:j `hooks` is not supported by this server'],
    ['trigger: a/b', 'jobs:j config contains unknown keys: trigger'],
  ])('%s', async (keys, message) => {
    expect(await errorsOf(job(keys))).toEqual([message])
  })

  it.each([
    ['j: x', 'jobs:j config should implement a script:, run:, or trigger: keyword'],
    ['j: {stage: test}', 'jobs:j config should implement a script:, run:, or trigger: keyword'],
    ['j: {run: [{name: a, script: b}]}', 'jobs:j `run` is not supported by this server'],
    ['j: {script: }', "jobs:j script can't be blank"],
    ['j: {needs: [a]}\na: {script: x}', 'jobs:j config should contain either a trigger or a needs:pipeline'],
    ['.j: {script: x}', 'jobs config should contain at least one visible job'],
    [`${'j'.repeat(256)}: {script: x}`, `jobs:${'j'.repeat(256)} name is too long (maximum is 255 characters)`],
    ['stages: test\nj: {script: x}', 'stages config should be an array of strings'],
    ['image: [x]\nj: {script: x}', 'image config should be a hash or a string'],
    ['default: {foo: 1}\nj: {script: x}', 'default config contains unknown keys: foo'],
    ['default: {image: a}\nimage: b\nj: {script: x}', 'default config image is defined in top-level and `default:` entry'],
    ['variables: {A: {value: x, options: [y]}}\nj: {script: x}', 'variables:A config value must be present in options'],
    ['workflow: {foo: 1}\nj: {script: x}', 'workflow config contains unknown keys: foo'],
    ['workflow: {rules: [{when: manual}]}\nj: {script: x}', 'workflow:rules:rule when unknown value: manual'],
    [
      'workflow: {auto_cancel: {on_new_commit: x}}\nj: {script: x}',
      'workflow:auto_cancel on new commit must be one of: conservative, interruptible, none',
    ],
    ['j: {trigger: {project: a/b, foo: 1}}', 'jobs:j:trigger config contains unknown keys: foo'],
    ['j: {trigger: slug}', 'jobs:j:trigger should be the full path of a project'],
    ['j: {trigger: {project: slug/}}', 'jobs:j:trigger project should be the full path of a project'],
    ['j: {trigger: {include: [{project: /slug, file: a.yml}]}}', 'jobs:j:trigger:include project should be the full path of a project'],
    ['j: {trigger: a/b, needs: [{pipeline: $P, job: c}]}', 'jobs:j:needs config uses invalid types: cross_dependency'],
    ['j: {trigger: {strategy: depend}}', "jobs:j:trigger project can't be blank"],
    ['j: {trigger: {include: a.yml, strategy: x}}', 'jobs:j:trigger strategy should be one of: depend, mirror'],
    ['j: {trigger: {include: [a, b, c, d]}}', 'jobs:j:trigger:include config is too long (maximum is 3)'],
    ['j: {trigger: {include: [{artifact: a.yml}]}}', 'jobs:j:trigger:include config must specify the job where to fetch the artifact from'],
    ['j: {trigger: a/b, when: delayed}', 'jobs:j when should be one of: on_success, on_failure, always, manual'],
    ['a: {script: x, stage: deploy}\nj: {script: x, needs: [a]}', 'j job: need a is not defined in current or prior stages'],
    ['a: {script: x, stage: deploy}\nj: {script: x, dependencies: [a]}', 'j job: dependency a is not defined in current or prior stages'],
    ['a: {script: x}\nj: {script: x, needs: [a, a]}', 'j has the following needs duplicated: a.'],
    ['a: {script: x}\nb: {script: x}\nj: {script: x, needs: [a], dependencies: [b]}', 'jobs:j dependencies the b should be part of needs'],
    ['a: {script: x, needs: [j]}\nj: {script: x, needs: [a]}', 'The pipeline has circular dependencies: topological sort failed: ["a", "j"]'],
    ['a: {script: x}\nj: {script: x, environment: {name: e, on_stop: a}}', 'j job: on_stop job a does not have environment defined'],
    ['a: {script: x, environment: e}\nj: {script: x, environment: {name: e, on_stop: a}}', 'j job: on_stop job a needs to have action stop defined'],
    [
      'a: {script: x, environment: {name: f, action: stop}}\nj: {script: x, environment: {name: e, on_stop: a}}',
      'j job: on_stop job a have different environment name',
    ],
  ])('%s', async (text, message) => {
    expect(await errorsOf(text)).toEqual([message])
  })

  it('a wrong default is reported once, and at most 100 errors are', async () => {
    const many = Array.from({ length: 150 }, (_, n) => `j${n}: {script: x, tags: 1}`).join('\n')
    expect((await errorsOf(`default: {services: x}\n${many}`)).length).toBe(100)
    expect(await errorsOf('default: {services: x}\na: {script: x}\nb: {script: x}')).toEqual(['default:services config should be an array'])
  })

  it('warns of a last rule that always holds, and of old keywords', async () => {
    const { warnings } = await compileWith('j: {script: x, rules: [{if: $A}, {when: always}]}\nk: {script: x, type: test}')
    expect(warnings).toEqual([
      expect.stringMatching(/^jobs:j may allow multiple pipelines to run for a single action/),
      'jobs:k `type` is deprecated in 9.0 and will be removed in 15.0.',
    ])
    expect((await compileWith('workflow: {rules: [{when: always}]}\nj: {script: x, rules: [{when: always}]}')).warnings).toEqual([])
  })
})

describe('default and inherit (CI-10)', () => {
  const text = (keys: string) => `
default: {image: ruby, tags: [a], retry: 1, timeout: 3h 30m, interruptible: true, before_script: [b], after_script: c, artifacts: {paths: [x]}}
cache: {paths: [y]}
services: [redis]
variables: {A: "1", B: "2"}
j: {script: x, ${keys}}
`
  it('a default is taken whole where the job lacks the key', async () => {
    const { j } = await jobsOf(text('image: node'))
    expect(j).toMatchObject({
      image: { name: 'node' },
      tags: ['a'],
      retry: { max: 1 },
      timeout: 12_600,
      interruptible: true,
      before_script: ['b'],
      after_script: ['c'],
      artifacts: { paths: ['x'] },
      cache: [{ key: 'default', paths: ['y'], policy: 'pull-push' }],
      services: [{ name: 'redis' }],
    })
  })

  it('inherit says which', async () => {
    expect((await jobsOf(text('inherit: {default: false, variables: false}'))).j).toMatchObject({
      image: null,
      tags: [],
      before_script: [],
      variables: [],
    })
    expect((await jobsOf(text('inherit: {default: [image], variables: [B]}'))).j).toMatchObject({
      image: { name: 'ruby' },
      tags: [],
      variables: [{ key: 'B', value: '2' }],
    })
  })
})

describe('the parts of a job', () => {
  it('reads all of them', async () => {
    const { j } = await jobsOf(`
a: {script: x, environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}, when: manual}
j:
  script: [one, [two, [three]]]
  image: {name: ruby, entrypoint: [sh], pull_policy: always, docker: {platform: arm64, user: me}}
  services: [{name: pg, alias: db, command: [run], variables: {A: b}}]
  allow_failure: {exit_codes: [1, 2]}
  retry: {max: 2, when: [runner_system_failure], exit_codes: 137}
  coverage: '/Lines: (\\d+)%/'
  resource_group: prod-$CI_COMMIT_REF_NAME
  tags: [$CI_COMMIT_REF_NAME, docker]
  environment: {name: review/$CI_COMMIT_REF_NAME, url: "https://$CI_JOB_ID.example.com", on_stop: a, auto_stop_in: 1 week, deployment_tier: testing}
  artifacts:
    name: all
    paths: [out/]
    exclude: [out/tmp]
    expire_in: 2 days
    access: developer
    reports: {junit: j.xml, dotenv: [d.env], coverage_report: {coverage_format: cobertura, path: c.xml}}
  cache:
    - {key: {files: [a.lock], prefix: $CI_JOB_NAME}, paths: [v], policy: pull, fallback_keys: [x]}
    - {key: k, untracked: true, when: always}
  release: {tag_name: $T, description: d, assets: {links: [{name: n, url: u, link_type: other}]}}
`)
    expect(j).toMatchObject({
      script: ['one', 'two', 'three'],
      image: { name: 'ruby', entrypoint: ['sh'], pull_policy: ['always'], docker: { platform: 'arm64', user: 'me' } },
      services: [{ name: 'pg', alias: 'db', command: ['run'], variables: [{ key: 'A', value: 'b' }] }],
      allow_failure: false,
      allow_failure_exit_codes: [1, 2],
      retry: { max: 2, when: ['runner_system_failure'], exit_codes: [137] },
      coverage: 'Lines: (\\d+)%',
      resource_group: 'prod-main',
      tags: ['main', 'docker'],
      environment: { name: 'review/main', url: 'https://$CI_JOB_ID.example.com', on_stop: 'a', auto_stop_in: '1 week', deployment_tier: 'testing' },
      artifacts: {
        expire_in: '2 days',
        expire_in_seconds: 172_800,
        access: 'developer',
        reports: [
          { type: 'junit', paths: ['j.xml'] },
          { type: 'dotenv', paths: ['d.env'] },
          { type: 'cobertura', paths: ['c.xml'] },
        ],
      },
      cache: [
        { key: { files: ['a.lock'], prefix: '$CI_JOB_NAME' }, policy: 'pull', fallback_keys: ['x'] },
        { key: 'k', untracked: true, when: 'always' },
      ],
      release: { tag_name: '$T', assets: [{ name: 'n', url: 'u', link_type: 'other', filepath: null }] },
    })
  })

  it('triggers of other projects and of child pipelines', async () => {
    const { a, b, c } = await jobsOf(`
a: {trigger: team/app}
b: {trigger: {project: team/app, branch: x, strategy: depend, forward: {pipeline_variables: true}, inputs: {n: 1}}}
c: {trigger: {include: [child.yml, {project: p/q, file: [a.yml, b.yml], ref: v1}, {artifact: g.yml, job: gen, inputs: {x: [1]}}]}}
`)
    expect(a).toMatchObject({
      kind: 'bridge',
      script: [],
      trigger: { project: 'team/app', strategy: null, forward: { yaml_variables: true, pipeline_variables: false } },
    })
    expect(b?.trigger).toMatchObject({ branch: 'x', strategy: 'depend', forward: { pipeline_variables: true }, inputs: { n: 1 } })
    expect(c?.trigger?.include).toEqual([
      { kind: 'local', path: 'child.yml', inputs: {} },
      { kind: 'project', project: 'p/q', ref: 'v1', path: 'a.yml', inputs: {} },
      { kind: 'project', project: 'p/q', ref: 'v1', path: 'b.yml', inputs: {} },
      { kind: 'artifact', path: 'g.yml', job: 'gen', inputs: { x: [1] } },
    ])
  })

  it('the merged file has no includes, and reads the same', async () => {
    const { merged_yaml } = await compileWith('include: a.yml\nj: {extends: .a, tags: ["on", "1"]}', {
      'a.yml': '.a: {script: [x], variables: {V: 1.0, W: 010}}',
    })
    expect(merged_yaml).toBe(
      [
        '---',
        '.a:',
        '  script:',
        '    - x',
        '  variables:',
        '    V: 1.0',
        '    W: 8',
        'j:',
        '  script:',
        '    - x',
        '  variables:',
        '    V: 1.0',
        '    W: 8',
        '  extends: .a',
        '  tags:',
        '    - "on"',
        '    - "1"',
        '',
      ].join('\n'),
    )
  })
})
