import { describe, expect, it } from 'vitest'
import { loadYaml } from '../../../src/rules/ci/yaml/load.js'
import { Decimal } from '../../../src/rules/ci/yaml/values.js'
import { compileWith, errorsOf, jobsOf } from './support.js'

const read = (text: string) => loadYaml(`a: ${text}\n`).content.get('a')

describe('YAML 1.1 (CI-2)', () => {
  it.each([
    ['yes', true],
    ['Off', false],
    ['"yes"', 'yes'],
    ['y', 'y'],
    ['~', null],
    ['', null],
    ['010', 8],
    ['0x1F', 31],
    ['1_000', 1000],
    ['08', '08'],
    ['1e3', '1e3'],
    ['12e4567', '12e4567'],
    ['2020-01-02', '2020-01-02'],
    ['!!str 1', '1'],
  ])('a plain %s is %j', (text, value) => {
    expect(read(text)).toEqual(value)
  })

  it.each([
    ['1.0', '1.0'],
    ['1.10', '1.1'],
    ['.5', '0.5'],
  ])('a number with a fraction %s is %s as a text', (text, shown) => {
    expect(read(text)).toBeInstanceOf(Decimal)
    expect(String(read(text))).toBe(shown)
  })

  it('variables have the texts that the original makes of numbers', async () => {
    const { job } = await jobsOf('job: {script: x, variables: {A: 1.0, B: 010, C: 1e3, D: 12345678901234567890, E: }}')
    expect(job?.variables).toEqual([
      { key: 'A', value: '1.0' },
      { key: 'B', value: '8' },
      { key: 'C', value: '1e3' },
      { key: 'D', value: '12345678901234567890' },
      { key: 'E', value: '' },
    ])
  })

  it('merge keys go no deeper, and their order counts: of a list the first map wins, of several keys the last', async () => {
    const jobs = await jobsOf(`
.one: &one {script: one, variables: {A: "1", B: "1"}}
.two: &two {script: two, tags: [x]}
list: {<<: [*one, *two], variables: {A: "2"}}
several:
  <<: *one
  <<: *two
after: {script: own, <<: *two}
`)
    expect(jobs.list).toMatchObject({ script: ['one'], tags: ['x'], variables: [{ key: 'A', value: '2' }] })
    expect(jobs.several).toMatchObject({ script: ['two'], variables: [{ key: 'A' }, { key: 'B' }] })
    expect(jobs.after?.script).toEqual(['two'])
  })

  it('a plain key with a colon before it is the same key (RX-5)', async () => {
    const { content } = loadYaml(':job:\n  :script: echo\n  ":quoted": a\n  "::": b\n')
    expect(content.get('job')).toEqual(
      new Map([
        ['script', 'echo'],
        [':quoted', 'a'],
        ['::', 'b'],
      ]),
    )
  })

  it('of equal keys the last counts', async () => {
    expect((await jobsOf('job: {script: a}\njob: {script: b}')).job?.script).toEqual(['b'])
  })

  it.each([
    ['job: [1, 2', /^\(<unknown>\): .* at line 1 column \d+$/],
    ['invalid: yaml: test', '(<unknown>): mapping values are not allowed in this context at line 1 column 10'],
    ['a:\n\tb: 1', '(<unknown>): found character that cannot start any token while scanning for the next token at line 2 column 1'],
    ['a: *missing', 'Unknown alias: missing'],
    ['a: &a [*a]', 'Unknown alias: a'],
    ['just text', 'Invalid configuration format'],
    ['- a', 'Invalid configuration format'],
    ['a: {}\n---\nb: {}', 'The parsed YAML has too many documents'],
    [' \n', 'Please provide content of .gitlab-ci.yml'],
  ])('%j is refused', async (text, message) => {
    expect(await errorsOf(text)).toEqual([message instanceof RegExp ? expect.stringMatching(message) : message])
  })
})

describe('what a file may cost (CI-3, CI-40)', () => {
  it('a text of more than 1 MB is not read', async () => {
    expect(await errorsOf(`# ${'x'.repeat(1_048_576)}`)).toEqual(['The YAML file is too large: at most 1 MB is read'])
  })

  it('anchors that explode are refused', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 40; n++)
      lines.push(
        `a${n}: &a${n} [${Array(10)
          .fill(`*a${n - 1}`)
          .join(', ')}]`,
      )
    expect(await errorsOf(lines.join('\n'))).toEqual(['The parsed YAML is too big'])
  })

  it('references that explode are refused', async () => {
    const lines = ['.a0: {script: [x, x, x, x, x, x, x, x, x, x]}']
    for (let n = 1; n < 10; n++)
      lines.push(
        `.a${n}: {script: [${Array(10)
          .fill(`!reference [.a${n - 1}, script]`)
          .join(', ')}]}`,
      )
    lines.push('job: {script: !reference [.a9, script]}')
    expect(await errorsOf(lines.join('\n'))).toEqual(['The parsed YAML is too big'])
  })

  it.each([101, 5_000])('a nesting of %i is refused', async (depth) => {
    expect(await errorsOf(`a: ${'['.repeat(depth)}${']'.repeat(depth)}`)).toEqual(['The parsed YAML is too big'])
  })

  it('keys that mean something to JavaScript are ordinary', async () => {
    const { errors, jobs } = await compileWith('__proto__: {script: a}\nconstructor: {script: b, variables: {__proto__: c}}')
    expect(errors).toEqual([])
    expect(jobs.map((job) => job.name)).toEqual(['__proto__', 'constructor'])
    expect(jobs[1]?.variables).toEqual([{ key: '__proto__', value: 'c' }])
  })
})

describe('extends (CI-9)', () => {
  it('later bases win, then the job; maps merge deep, lists are replaced, null takes away', async () => {
    const { job } = await jobsOf(`
.base: {script: [a, b], variables: {A: "1", B: "1"}, tags: [x], when: manual}
.more: {variables: {B: "2"}, tags: [y, z]}
.top: {extends: .base}
job: {extends: [.top, .more], variables: {C: "3"}, when: null}
`)
    expect(job).toMatchObject({ script: ['a', 'b'], tags: ['y', 'z'], when: 'on_success' })
    expect(job?.variables).toEqual([
      { key: 'A', value: '1' },
      { key: 'B', value: '2' },
      { key: 'C', value: '3' },
    ])
  })

  it('faults name the job', async () => {
    expect(await errorsOf('job: {extends: [.a, .b], script: x}\n.a: {}')).toEqual(['job: unknown keys in `extends` (.b)'])
    expect(await errorsOf('job: {extends: .a}\n.a: {extends: job}')).toEqual([expect.stringContaining('circular dependency detected in `extends`')])
    const deep = Array.from({ length: 13 }, (_, n) => `.a${n}: {extends: .a${n + 1}}`)
    expect(await errorsOf(['job: {extends: .a0}', ...deep, '.a13: {script: x}'].join('\n'))).toEqual(['job: nesting too deep in `extends`'])
    expect(await errorsOf('job: {extends: .a}\n.a: [x]')).toEqual(['job: invalid base hashes in `extends` (.a)'])
  })
})

describe('!reference (CI-8)', () => {
  it('takes any part of the file, lists of scripts become flat', async () => {
    const { job } = await jobsOf(`
.setup: {script: [one, two], variables: {URL: u}}
.more: {script: [!reference [.setup, script], three]}
job:
  variables: {A: !reference [.setup, variables, URL]}
  script: [zero, !reference [.more, script]]
  rules: [!reference [.rules, rules]]
.rules: {rules: [{when: always}]}
`)
    expect(job?.script).toEqual(['zero', 'one', 'two', 'three'])
    expect(job?.variables).toEqual([{ key: 'A', value: 'u' }])
  })

  it.each([
    ['job: {script: !reference [.a, script]}', '!reference [".a", "script"] could not be found'],
    ['job: {script: !reference [job, script]}', '!reference ["job", "script"] is part of a circular chain'],
    ['job: {script: !reference []}', '!reference [] is not valid'],
    ['job: {script: !reference [.a, 0]}\n.a: [x]', '!reference [".a","0"] is not valid'],
  ])('%s is refused', async (text, message) => {
    expect(await errorsOf(text)).toEqual([message])
  })
})
