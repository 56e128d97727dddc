import { describe, expect, it } from 'vitest'
import { compileWith, variables } from './support.js'

const job = (script: string) => `job: {script: ${script}}`

describe('include (CI-4, CI-7)', () => {
  it('the including file wins, maps merge deep, lists are replaced; files of one depth are asked for together', async () => {
    const { errors, jobs, rounds } = await compileWith(
      `
include:
  - /one.yml
  - local: two.yml
job: {tags: [own], variables: {C: "3"}}
`,
      {
        'one.yml': 'include: nested.yml\njob: {script: one, tags: [a, b], variables: {A: "1", B: "1"}}',
        'two.yml': 'job: {variables: {B: "2"}}',
        'nested.yml': 'job: {script: nested}\nnested: {script: x}',
      },
    )
    expect(errors).toEqual([])
    expect(jobs.map((each) => each.name)).toEqual(['job', 'nested'])
    expect(jobs[0]).toMatchObject({ script: ['one'], tags: ['own'] })
    expect(jobs[0]?.variables.map((each) => `${each.key}${each.value}`)).toEqual(['A1', 'B2', 'C3'])
    expect(rounds.map((round) => round.length)).toEqual([2, 1])
  })

  it('every kind; a local file of another project is one of that project at that ref', async () => {
    const { errors, jobs, rounds } = await compileWith(
      `
include:
  - {project: "team/$NAME", ref: v1, file: [/ci/a.yml, ci/b.yml]}
  - https://example.com/r.yml
  - template: T.gitlab-ci.yml
`,
      {
        'team/lib:ci/a.yml': 'include: {local: /inner.yml}',
        'team/lib:ci/b.yml': 'b: {script: b}',
        'team/lib:inner.yml': 'inner: {script: i}',
        'https://example.com/r.yml': 'remote: {script: r}',
        'T.gitlab-ci.yml': 'template: {script: t}',
      },
      { variables: variables({ NAME: 'lib' }) },
    )
    expect(errors).toEqual([])
    expect(jobs.map((each) => each.name).sort()).toEqual(['b', 'inner', 'remote', 'template'])
    expect(rounds[1]).toEqual([{ kind: 'local', path: 'inner.yml', from: { project: 'team/lib', ref: 'v1' } }])
  })

  it('patterns take the files of the tree', async () => {
    const files = { 'ci/a.yml': 'a: {script: a}', 'ci/sub/b.yml': 'b: {script: b}', 'ci/sub/sub/.c.yml': 'c: {script: c}', 'ci/d.txt': '' }
    const names = async (include: string) => (await compileWith(`include: ${include}`, files)).jobs.map((each) => each.name)
    expect(await names('ci/*.yml')).toEqual(['a'])
    expect(await names('ci/**.yml')).toEqual(['a', 'b', 'c'])
    expect(await names('ci/**/*.yml')).toEqual(['b', 'c'])
    expect(await names('ci/*/*.yml')).toEqual(['b'])
    // all else is itself
    expect((await compileWith('include: "ci/[a]*.yml"', files)).errors).toEqual(['jobs config should contain at least one visible job'])
  })

  it('rules of an entry decide, by variables, files and changes', async () => {
    const files = { 'a.yml': job('a'), 'b.yml': 'b: {script: b}', Dockerfile: '' }
    const text = `
include:
  - {local: a.yml, rules: [{if: '$A == "1"'}]}
  - {local: b.yml, rules: [{exists: [Dockerfile], changes: [src/*]}]}
other: {script: x}
`
    const names = async (context: object) => (await compileWith(text, files, context)).jobs.map((each) => each.name)
    expect(await names({ changed: ['docs/x'] })).toEqual(['other'])
    expect(await names({ variables: variables({ A: '1' }), changed: ['src/x'] })).toEqual(['job', 'b', 'other'])
  })

  it('a kind that is not done here is no fault where its rules do not want it', async () => {
    const text = `include: {component: host/a/b@1, inputs: {x: y}, rules: [{if: $A}]}\n${job('x')}`
    expect((await compileWith(text)).errors).toEqual([])
    expect((await compileWith(text, {}, { variables: variables({ A: '1' }) })).errors).toEqual([
      'include:include `component` is not supported by this server',
    ])
  })

  it.each([
    ['include: a.txt', 'Included file `a.txt` does not have YAML extension!'],
    ['include: a.yml', 'Local file `a.yml` does not exist!'],
    ['include: {project: team/x, file: a.yml}', 'Project `team/x` not found or access denied!'],
    ['include: {template: X.yml}', 'Template file `X.yml` is not a valid location!'],
    ['include: https://example.com/x.yml', 'Remote file `https://example.com/x.yml` could not be fetched because of HTTP code `404` error!'],
    [
      'include: {local: a.yml, remote: b}',
      'include Each include must use only one of: `local`, `project`, `remote`, `template`, `artifact`, `component`',
    ],
    [
      'include: {foo: a.yml}',
      'include `{"foo":"a.yml"}` does not have a valid subkey for include. Valid subkeys are: `local`, `project`, `remote`, `template`, `artifact`, `component`',
    ],
    ['include: {component: x/y@1}', 'include:include `component` is not supported by this server'],
    ['include: {local: a.yml, foo: 1}', 'include:include config contains unknown keys: foo'],
    ['include: {project: a/b}', 'include `{"project":"a/b"}` must specify the file where to fetch the config from'],
    ['include: bad.yml', '`bad.yml`: Invalid configuration format'],
    ['include: outer.yml', '`bad.yml`: Invalid configuration format'],
  ])('%s is refused', async (text, message) => {
    const files = { 'bad.yml': '- x', 'outer.yml': 'include: bad.yml' }
    expect((await compileWith(`${text}\n${job('x')}`, files)).errors).toEqual([message])
  })

  it('a file that includes itself ends at the limit, and so do many', async () => {
    expect((await compileWith('include: a.yml', { 'a.yml': `include: a.yml\n${job('x')}` })).errors).toEqual([
      'Maximum of 100 nested includes are allowed!',
    ])
    const files = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`${n}.yml`, job('x')]))
    expect((await compileWith(`include: [${Object.keys(files).join(', ')}]`, files)).errors).toEqual(['Maximum of 100 nested includes are allowed!'])
  })

  it('files that are nested too deep are refused', async () => {
    const files = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`${n}.yml`, `include: ${n + 1}.yml\n${job('x')}`]))
    expect((await compileWith('include: 0.yml', files)).errors).toEqual(['Includes are nested too deep: at most 20 levels are read'])
  })
})

describe('inputs (CI-6)', () => {
  const file = `
spec:
  inputs:
    stage: {default: test}
    name: {}
    size: {type: number, default: 2}
    deep: {type: boolean, default: false}
    tags: {type: array, default: [a, b]}
    kind: {default: fast, options: [fast, slow]}
    tag: {default: v1, regex: ^v\\d+$}
---
"$[[ inputs.name ]]-job":
  stage: $[[ inputs.stage ]]
  script: ["echo $[[ inputs.name | truncate(0,2) ]] $[[ inputs.kind ]]", "echo $[[ inputs.tag | expand_vars ]]"]
  parallel: $[[ inputs.size ]]
  interruptible: $[[ inputs.deep ]]
  tags: $[[ inputs.tags ]]
`
  const withInputs = (inputs: string) => compileWith(`include: [{local: f.yml, inputs: ${inputs}}]\nother: {script: x}`, { 'f.yml': file })

  it('values are put in with their types', async () => {
    const { errors, jobs } = await withInputs('{name: build, size: 3, deep: true, tags: [z]}')
    expect(errors).toEqual([])
    expect(jobs[0]).toMatchObject({
      name: 'build-job',
      stage: 'test',
      script: ['echo bu fast', 'echo v1'],
      parallel: 3,
      interruptible: true,
      tags: ['z'],
    })
  })

  it('the file itself takes inputs as well', async () => {
    const { jobs } = await compileWith(file, {}, { inputs: { name: 'top' } })
    expect(jobs.map((each) => each.name)).toEqual(['top-job'])
  })

  it.each([
    ['{}', '`name` input: required value has not been provided'],
    ['{name: 1}', '`name` input: provided value is not a string'],
    ['{name: a, size: x}', '`size` input: provided value is not a number'],
    ['{name: a, tags: x}', '`tags` input: provided value is not an array'],
    ['{name: a, kind: x}', '`kind` input: `x` cannot be used because it is not in the list of allowed options'],
    ['{name: a, tag: x}', '`tag` input: provided value does not match required RegEx pattern'],
    ['{name: a, foo: x}', 'unknown input arguments: foo'],
  ])('inputs %s are refused', async (inputs, message) => {
    expect((await withInputs(inputs)).errors).toEqual([`\`f.yml\`: ${message}`])
  })

  it('faults of the header and of blocks', async () => {
    const errors = async (text: string) => (await compileWith(text)).errors
    expect(await errors('spec: {inputs: {a: {foo: 1}}}\n---\njob: {script: x}')).toEqual(['header:spec:inputs:a config contains unknown keys: foo'])
    expect(await errors('spec: {foo: 1}\n---\njob: {script: x}')).toEqual(['header:spec config contains unknown keys: foo'])
    expect(await errors('spec: {inputs: {a: {default: x}}}\n---\njob: {script: "$[[ inputs.b ]]"}')).toEqual([
      'unknown interpolation provided: `b` in `inputs.b`',
    ])
    expect(await errors('spec: {inputs: {a: {default: x}}}\n---\njob: {script: "$[[ inputs.a | foo ]]"}')).toEqual([
      'no function matching `foo`: check that the function name, arguments, and types are correct',
    ])
    expect((await compileWith('include: {local: a.yml, inputs: {x: y}}', { 'a.yml': job('x') })).errors).toEqual([
      '`a.yml`: Given inputs not defined in the `spec` section of the included configuration file',
    ])
  })
})
