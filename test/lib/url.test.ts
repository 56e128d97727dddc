import { describe, expect, it } from 'vitest'
import { isUrl } from '../../src/lib/url.js'

const WEB = ['http', 'https']

describe('addresses that people give (SEC-64)', () => {
  it('judges the thousandth time as the first', () => {
    // where Node compiles a function again once it is called often
    const wrong = Array.from({ length: 20_000 }, () => isUrl('https://ünï.example/ä', WEB)).filter((taken) => !taken)
    expect(wrong).toHaveLength(0)
  })

  it.each(['http://a', 'https://a.example:8443/x?y=z#f', 'HTTP://a', 'http://[::1]/', 'https://ünï.example/ä', 'http://a/@b', 'http://a?x=@'])(
    'takes %s',
    (text) => {
      expect(isUrl(text, WEB)).toBe(true)
    },
  )

  it.each([
    '',
    'a',
    '//a',
    'http:a',
    'http:/a',
    'http:///a',
    'http:\\\\a',
    'http://\\a',
    'ssh://a',
    'javascript://a/%0aalert(1)',
    'data:,x',
    'http://u@a',
    'http://u:p@a',
    'http://@a',
    'http://a\n',
    'http://a/\r',
    'http://a/\u0000',
    'http://a/\u007f',
    'http://a/\u0085',
    'http://a /',
    ' http://a',
    'http://a:99999',
    'http://[::1',
    'http://%',
    'http://a/\ud800',
  ])('refuses %j', (text) => {
    expect(isUrl(text, WEB)).toBe(false)
  })

  it('takes the schemes it is given', () => {
    expect([isUrl('ssh://a/b', ['ssh']), isUrl('git://a/b', ['ssh'])]).toEqual([true, false])
  })
})
