import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCommit, parseTag } from '../../src/git/objects/object-codec.js'

const OID = 'a'.repeat(40)
const commit = (...lines: (string | Buffer)[]) => parseCommit(OID, Buffer.concat(lines.map((line) => Buffer.from(line))))
const HEAD = `tree ${'1'.repeat(40)}\n`

describe('parseCommit', () => {
  it('reads a merge with a signature and keeps the message to the last byte', () => {
    const read = commit(
      `${HEAD}parent ${'2'.repeat(40)}\nparent ${'3'.repeat(40)}\n`,
      'author Ada L <ada@example.com> 1 +0200\ncommitter Bob <bob@example.com> 2 -0330\n',
      'gpgsig -----BEGIN PGP SIGNATURE-----\n \n author unknown\n -----END PGP SIGNATURE-----\n\nTitle\n\nBody\n\n',
    )
    expect(read).toEqual({
      oid: OID,
      tree: '1'.repeat(40),
      parents: ['2'.repeat(40), '3'.repeat(40)],
      author: { name: 'Ada L', email: 'ada@example.com', seconds: 1, offset: '+0200' },
      committer: { name: 'Bob', email: 'bob@example.com', seconds: 2, offset: '-0330' },
      message: 'Title\n\nBody\n\n',
    })
  })

  it('honours the encoding header (SEC-151)', () => {
    const latin = Buffer.from('author J\xf6rg <j@x> 1 +0000\ncommitter J\xf6rg <j@x> 1 +0000\nencoding ISO-8859-1\n\ngr\xfc\xdfe\n', 'latin1')
    expect(commit(HEAD, latin)).toMatchObject({ author: { name: 'Jörg' }, message: 'grüße\n' })
  })

  it.each(['', 'encoding nonsense\n'])('replaces bytes that cannot be decoded (%j) (SEC-151)', (encoding) => {
    expect(commit(HEAD, `author A <a> 1 +0000\n${encoding}\n`, Buffer.from([0x61, 0xff, 0x0a])).message).toBe('a\ufffd\n')
  })

  it.each([
    ['author\n', '', '', 0, '+0000'],
    ['author Ada\n', 'Ada', '', 0, '+0000'],
    ['author <> 5 +0000\n', '', '', 5, '+0000'],
    ['author A <a@b\n', 'A <a@b', '', 0, '+0000'],
    ['author A <a@b> x\n', 'A', 'a@b', 0, '+0000'],
    ['author A <a@b> -5 +9999\n', 'A', 'a@b', -5, '+9999'],
    ['author A <a@b> 8589934592\n', 'A', 'a@b', 8589934592, '+0000'],
    ['author A <a>b> 7 -0100\n', 'A', 'a>b', 7, '-0100'],
    [`author A <a> ${'9'.repeat(400)} +0000\n`, 'A', 'a', Number.MAX_SAFE_INTEGER, '+0000'],
  ])('reads %j (SEC-152)', (line, name, email, seconds, offset) => {
    expect(commit(HEAD, line, '\n').author).toEqual({ name, email, seconds, offset })
  })

  it('takes no message and no headers at all (SEC-151)', () => {
    expect(commit(HEAD, 'author A <a> 1 +0000\n\n').message).toBe('')
    expect(commit('').tree).toBe('')
  })

  it('never throws and never makes invalid text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const { author, message } = commit(HEAD, 'author ', Buffer.from(bytes), '\n\n', Buffer.from(bytes))
        for (const text of [author.name, author.email, message]) expect(Buffer.from(text).toString()).toBe(text)
        expect(Number.isSafeInteger(author.seconds)).toBe(true)
      }),
    )
  })

  // in steps quadratic in the length, this would not end
  it('reads ten megabytes of headers (SEC-145)', () => {
    expect(commit(HEAD, Buffer.alloc(10_000_000, 'a b\n'), '\nx').message).toBe('x')
  })
})

describe('parseTag', () => {
  it('reads a tag with and without a tagger', () => {
    const text = `object ${OID}\ntype blob\ntag v1\ntagger T <t@x> 9 +0100\n\nhello\n`
    expect(parseTag(OID, Buffer.from(text))).toMatchObject({ target: OID, targetType: 'blob', tagger: { name: 'T', seconds: 9 }, message: 'hello\n' })
    expect(parseTag(OID, Buffer.from(text.replace(/tagger.*\n/, ''))).tagger).toBeNull()
  })
})
