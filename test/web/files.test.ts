import { describe, expect, it } from 'vitest'
import { submodulePage, submoduleUrls } from '../../src/rules/submodules.js'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const linesOf = ({ $ }: Opened) =>
  $('.lines .code')
    .toArray()
    .map((cell) => $(cell).text())
const base64 = (bytes: Buffer) => ({ content: bytes.toString('base64'), encoding: 'base64' })

describe('a file', () => {
  it('of values is a table, in UTF-16 text, and one that Git LFS stores is named so (WB-68)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      files: {
        'a.csv': 'name,"what, it is"\r\n"a ""b""\nc",<b>\r\n',
        'big.csv': 'x,y\n'.repeat(1_500),
        lfs: `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 2097152\n`,
        crlf: 'one\r\ntwo\r\n',
      },
    })
    await t
      .api('post', `${project.path}/repository/commits`, who)
      .send({
        branch: 'main',
        commit_message: 'x',
        actions: [{ action: 'create', file_path: 'utf16', ...base64(Buffer.from('\ufeffgrüß\nend\n', 'utf16le')) }],
      })
      .expect(201)
    const browser = new TestBrowser(t.url)
    const at = (name: string) => browser.open(`/${project.fullPath}/-/blob/main/${name}`)
    const table = await at('a.csv')
    const cells = (selector: string) =>
      table
        .$(`.values ${selector}`)
        .toArray()
        .map((cell) => table.$(cell).text())
    expect([cells('th'), cells('td'), table.$('main b').length]).toEqual([['name', 'what, it is'], ['a "b"\nc', '<b>'], 0])
    expect(linesOf(await at('a.csv?viewer=simple'))).toHaveLength(3)
    const big = await at('big.csv')
    expect([big.$('.values tbody tr').length, big.text]).toEqual([1_000, expect.stringContaining('Only the first 1000 rows')])
    expect(linesOf(await at('utf16'))).toEqual(['grüß', 'end'])
    expect(linesOf(await at('crlf'))).toEqual(['one', 'two'])
    expect((await at('lfs')).text).toContain('This file is stored with Git LFS (2.0 MiB).')
    const member = await signedIn(who)
    // each link to change a file leads to a page that can
    for (const [name, label] of [
      ['utf16', 'Replace'],
      ['crlf', 'Edit'],
    ] as const) {
      const page = await member.open(`/${project.fullPath}/-/blob/main/${name}`)
      const edit = await member.open(page.$(`a:contains("${label}")`).attr('href') as string)
      expect([edit.status, edit.$('textarea[name=content]').length]).toEqual([200, label === 'Edit' ? 1 : 0])
    }
    await member.open(`/${project.fullPath}/-/edit/main/utf16`)
    expect((await member.submit('Replace file', { file: new File(['new'], 'x') })).at).toBe(`/${project.fullPath}/-/blob/main/utf16`)
    expect(linesOf(member.page as Opened)).toEqual(['new'])
  })

  it('that is missing where the API says that the README is leads to the folder; a path alone leads to its page (WB-68)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'docs/a.md': 'a' } })
    const browser = new TestBrowser(t.url)
    expect((await browser.open(`/${project.fullPath}/-/blob/main/README.md`)).at).toBe(`/${project.fullPath}/-/tree/main`)
    expect((await browser.open(`/${project.fullPath}/docs/a.md`)).at).toBe(`/${project.fullPath}/-/blob/main/docs/a.md`)
    expect((await browser.open(`/${project.fullPath}/docs`)).at).toBe(`/${project.fullPath}/-/tree/main/docs`)
    expect((await browser.open(`/${project.fullPath}/no/such`)).at).toContain('/users/sign_in')
  })

  it('begins with a template, which is filled in (WB-68)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, files: { a: 'a' } })
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/new/main?template=mit`)
    const text = browser.page?.$('textarea[name=content]').text() ?? ''
    expect([browser.page?.$('[name=file_name]').val(), text.includes(`Copyright (c) ${t.ctx.now().getUTCFullYear()}`)]).toEqual(['LICENSE', true])
    expect((await browser.submit('Commit file')).at).toBe(`/${project.fullPath}/-/blob/main/LICENSE`)
    expect((await browser.open(`/${project.fullPath}`)).text).toContain('MIT License')
  })
})

describe('links of repositories', () => {
  it('lead to what they name: a symbolic link to its file, a blame to the version before, through a rename (WB-68)', async () => {
    const who = await aUser(t.ctx)
    const text = 'one\ntwo\nthree\nfour\nfive\nsix\n'
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'old.txt': text } })
    await t
      .api('post', `${project.path}/repository/commits`, who)
      .send({
        branch: 'main',
        commit_message: 'Rename',
        actions: [{ action: 'move', previous_path: 'old.txt', file_path: 'new.txt', content: text.replace('two', '2') }],
      })
      .expect(201)
    const browser = new TestBrowser(t.url)
    const blame = await browser.open(`/${project.fullPath}/-/blame/main/new.txt`)
    const before = blame
      .$('.before')
      .toArray()
      .map((a) => blame.$(a).attr('href') as string)
    expect(before).toEqual([expect.stringMatching(/\/-\/blame\/[0-9a-f]{40}\/old\.txt$/)])
    const older = await browser.open(before[0] as string)
    expect([older.status, linesOf(older)[1], older.$('.before').length]).toEqual([200, 'two', 0])
  })

  it('of submodules lead to their pages, and to no other scheme (WB-68)', () => {
    const urls = submoduleUrls('[submodule "a"]\n\tpath = lib/a\n\turl = ../other.git\n[submodule "b"]\n path="b c"\n url=git@example.org:x/y.git\n')
    expect([...urls]).toEqual([
      ['lib/a', '../other.git'],
      ['b c', 'git@example.org:x/y.git'],
    ])
    expect(submodulePage('../other.git', 'team/app')).toEqual({ path: 'team/other' })
    expect(submodulePage('../../../../x', 'team/app')).toBe(null)
    expect(submodulePage('git@example.org:x/y.git', 'a/b')).toEqual({ address: 'https://example.org/x/y' })
    expect(submodulePage('ssh://git@example.org:22/x/y', 'a/b')).toEqual({ address: 'https://example.org/x/y' })
    expect(submodulePage('https://example.org/x.git', 'a/b')).toEqual({ address: 'https://example.org/x' })
    for (const url of ['javascript:alert(1)', 'file:///etc', '/abs', 'data:x', 'https://user:pw@example.org/x'])
      expect(submodulePage(url, 'a/b')).toBe(null)
  })
})
