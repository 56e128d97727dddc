import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as texts from '../../src/http/documented.js'
import { type JsonSchema, shownOf } from '../../src/http/wire.js'
import { parseSshKey } from '../../src/lib/crypto/ssh-key.js'
import { checkRefName } from '../../src/lib/ref-name.js'
import { parseColor } from '../../src/lib/text/color.js'
import { emailFault } from '../../src/rules/email.js'
import { groupNameFaults, namespacePathFaults, projectNameFaults, projectPathFaults } from '../../src/rules/path.js'
import { branchNameFault } from '../../src/rules/refs/branch-name.js'

const KEYS = (JSON.parse(readFileSync(new URL('../support/keys/ssh-keys.json', import.meta.url), 'utf8')) as { line: string }[]).map(
  ({ line }) => line,
)

/** Whether a text fits what is shown of a parameter. */
function fits({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: JsonSchema, text: string): boolean {
  const length = [...text].length
  return new RegExp(pattern as string, 'u').test(text) && length >= (minLength as number) && length <= (maxLength as number)
}

const shown = (type: ReturnType<typeof texts.filled>) => shownOf(type).more as JsonSchema

const ODD = ['', ' ', '\t\n', 'a'.repeat(300), '\u0000', '\ud83d\ude00', '\u200b', '-', '.', '..', '/', '@', '#', ',', 'a,b', 'a b', ' a ', 'a\nb']
const NAMES = [
  'main',
  'a/b',
  '-a',
  'a-',
  'a.',
  '.a',
  'a.git',
  'a.GIT',
  'a.atom',
  'a.atomic',
  'a..b',
  'a.lock',
  'a.lock/b',
  'a//b',
  '/a',
  'a/',
  'a/.b',
]
const REFS = [
  'a@{1}',
  '@',
  'a@b',
  'HEAD',
  'refs/heads/a',
  '0'.repeat(40),
  'F'.repeat(64),
  'a~b',
  'a^b',
  'a:b',
  'a?b',
  'a*b',
  'a[b',
  'a\\b',
  'a]b',
  'ä/ö',
  'a\u007f',
]
const WORDS = [
  'Ada Lovelace',
  'ünï_cöde 3',
  '\u540d\u524d',
  '\u{1f468}\u200d\u{1f4bb} x',
  'x \u{1f600}',
  '\u00a9',
  'a – b',
  'a+b',
  '(a)',
  'a:b',
  '_',
  'e\u0301',
  '\u2764\ufe0f',
]
const SAMPLES = [
  ...ODD,
  ...NAMES,
  ...REFS,
  ...WORDS,
  'a@b',
  'a@b.example',
  'a@@b',
  'a b@c',
  'red',
  'Tan',
  '#fff',
  '#ffff',
  '#12abEF',
  'lightgoldenrodyellow',
]

/** What is shown, the rule of the record, and texts that both refuse. */
const SHAPES: Record<string, [schema: JsonSchema, taken: (text: string) => boolean, refused: string[]]> = {
  'a branch or tag (BR-15)': [
    texts.REF_NAME,
    (text) => checkRefName(`refs/heads/${text}`),
    ['', 'a b', 'a..b', '.a', 'a/', 'a//b', 'a.lock', 'a~b', 'a[b', 'a\\b'],
  ],
  'a new branch (BR-15)': [
    shown(texts.newBranch()),
    (text) => branchNameFault(text) === null,
    ['-a', '@', 'HEAD', 'refs/heads/a', '0'.repeat(40), 'a'.repeat(300)],
  ],
  'a username or the path of a group (GR-24)': [
    shown(texts.namespacePath()),
    (text) => namespacePathFaults(text, 'below').length === 0,
    ['', '-a', 'a.', 'a.git', 'a.GIT', 'a.atom', 'a b', 'ä/ö', 'a'.repeat(300)],
  ],
  'the path of a project (AC-18)': [
    shown(texts.projectPath()),
    (text) => projectPathFaults(text).length === 0,
    ['', '.', '..', '-a', 'a.git', 'a/b'],
  ],
  'the name of a project (AC-19)': [
    shown(texts.projectName()),
    (text) => projectNameFaults(text).length === 0,
    ['', ' ', ' a ', '-', '(a)', 'a/b', 'a,b'],
  ],
  'the name of a group (GR-27)': [shown(texts.groupName()), (text) => groupNameFaults(text).length === 0, ['', ' ', '(a)', 'a/b', 'a@b']],
  'an e-mail address (U-23)': [shown(texts.email()), (text) => emailFault(text) === null, ['', 'a', 'a@@b', 'a b@c', '@']],
  'a colour (LB-3)': [shown(texts.color()), (text) => parseColor(text.trim()) !== null, ['', '#ffff', 'a,b', '#']],
  'the title of a label (LB-3)': [
    shown(texts.labelTitle()),
    (text) => text.trim() !== '' && !text.includes(',') && text.length <= 255,
    ['', ' ', ',', 'a,b', 'a'.repeat(300)],
  ],
  'a text that is not blank': [shown(texts.filled()), (text) => text.trim() !== '', ['', ' ', '\t\n']],
}

describe('texts in the reference', () => {
  it.each(Object.entries(SHAPES))('%s: accepted values fit the schema', (_, [schema, taken]) => {
    expect(SAMPLES.filter((text) => taken(text) && !fits(schema, text))).toEqual([])
  })

  it('check nothing themselves: records do, with the messages of the API', () => {
    for (const text of ['x'.repeat(300), ' '.repeat(403), '']) expect([texts.title().parse(text), texts.email().parse(text)]).toEqual([text, text])
  })

  it.each(Object.entries(SHAPES))('%s: refused values do not fit', (_, [schema, taken, refused]) => {
    expect(refused.filter((text) => taken(text) || fits(schema, text))).toEqual([])
  })

  it('keys of every type, as ssh-keygen writes them (K-5)', () => {
    const schema = shown(texts.sshKey())
    const readable = KEYS.filter((line) => parseSshKey(line) !== null)
    expect(new Set(readable.map((line) => line.split(' ')[0])).size).toBeGreaterThan(5)
    for (const line of readable) {
      for (const given of [line, `${line} ada@example.com\n`, `  ${line}\r\n`]) expect([given, fits(schema, given)]).toEqual([given, true])
      expect(fits(schema, line.slice(0, 40))).toBe(false)
    }
    for (const text of ['', 'ssh-ed25519', 'ssh-ed25519 AAAA', 'nothing', '-----BEGIN OPENSSH PRIVATE KEY-----'])
      expect([text, fits(schema, text)]).toEqual([text, false])
  })
})
