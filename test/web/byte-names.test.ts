import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()
const bytes = (text: string) => Buffer.from(text, 'latin1')

describe('names that are not UTF-8', () => {
  it('have addresses for folder, file, raw, blame and history, and are not offered for changes (WB-237)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'README.md': 'x' } })
    const bare = bareOf(t, project)
    // both names look alike, and so do the folders; the last one has the characters that stand for bytes in the router
    bare.commits(
      {
        files: [
          [bytes('d\xff/a\xfe.txt'), 'first\n'],
          [bytes('d\xff/a\xfd.txt'), 'other\n'],
          [bytes('d\xfe/b.txt'), 'b\n'],
          [bytes("q\xff'$(x)\\n\n.txt"), 'hostile\n'],
          ['\u{10ffff}.txt', 'private\n'],
        ],
        message: 'Odd names',
      },
      { files: [[bytes('d\xff/a\xfe.txt'), 'first\nsecond\n']], message: 'Second line' },
    )
    const [visitor, member] = [new TestBrowser(t.url), new TestBrowser(t.url)]
    await member.signIn(owner)
    const at = `/${project.fullPath}`
    const linksIn = async (path: string, browser = visitor) => {
      const { $, status } = await browser.open(path)
      expect([path, status]).toEqual([path, 200])
      return $('.files tbody tr')
        .toArray()
        .map((row) => ({ to: String($(row).find('a').first().attr('href')), change: $(row).find('a.quiet').text() }))
    }
    const root = (await linksIn(at)).map(({ to }) => to)
    expect(root).toEqual([
      `${at}/-/tree/main/d%FE`,
      `${at}/-/tree/main/d%FF`,
      `${at}/-/blob/main/README.md`,
      `${at}/-/blob/main/q%FF'%24(x)%5Cn%0A.txt`,
      `${at}/-/blob/main/%F4%8F%BF%BF.txt`,
    ])
    const folder = await linksIn(`${at}/-/tree/main/d%FF`)
    expect(folder.map(({ to }) => to).slice(1)).toEqual([`${at}/-/blob/main/d%FF/a%FD.txt`, `${at}/-/blob/main/d%FF/a%FE.txt`])
    await expect
      .poll(async () => (await linksIn(`${at}/-/tree/main/d%FF`)).map(({ change }) => change).slice(1))
      .toEqual(['Odd names', 'Second line'])
    const text = async (kind: string, path: string) => (await visitor.open(`${at}/-/${kind}/main/${path}`)).text
    expect(await text('blob', 'd%FF/a%FE.txt')).toContain('second')
    expect(await text('blob', 'd%FF/a%FD.txt')).toContain('other')
    expect(visitor.page?.html).toContain('d\ufffd')
    for (const [path, content] of [
      ['d%FF/a%FE.txt', 'first\nsecond\n'],
      ['d%ff/a%fd.txt', 'other\n'],
      ["q%FF'%24(x)%5Cn%0A.txt", 'hostile\n'],
      ['%F4%8F%BF%BF.txt', 'private\n'],
    ]) {
      const raw = await fetch(`${t.url}${at}/-/raw/main/${path}`)
      expect([path, raw.status, await raw.text()]).toEqual([path, 200, content])
      const download = await fetch(`${t.url}${at}/-/raw/main/${path}?inline=false`)
      expect([download.status, download.headers.get('content-disposition')?.startsWith('attachment')]).toEqual([200, true])
      await download.body?.cancel()
    }
    // blame and history are of the very file
    const { $ } = await visitor.open(`${at}/-/blame/main/d%FF/a%FE.txt`)
    expect(
      $('td.by a')
        .not('.before')
        .toArray()
        .map((each) => $(each).text()),
    ).toEqual(['Odd names', 'Second line'])
    expect((await visitor.open(`${at}/-/blame/main/q%FF'%24(x)%5Cn%0A.txt`)).$('td.by a').text()).toBe('Odd names')
    const titles = async (path: string) =>
      (await visitor.open(`${at}/-/commits/main/${path}`))
        .$('.rows a.title')
        .toArray()
        .map((each) => visitor.page?.$(each).text())
    expect([await titles('d%FF/a%FE.txt'), await titles('d%FF/a%FD.txt'), await titles('d%FF'), await titles("q%FF'%24(x)%5Cn%0A.txt")]).toEqual([
      ['Second line', 'Odd names'],
      ['Odd names'],
      ['Second line', 'Odd names'],
      ['Odd names'],
    ])
    expect((await visitor.open(`${at}/-/commits/main/none%FF`)).$('.rows a.title').length).toBe(0)
    expect(
      (await visitor.open(`${at}/-/find_file/main?search=.txt`))
        .$('.rows a')
        .toArray()
        .map((each) => visitor.page?.$(each).attr('href')),
    ).toContain(`${at}/-/blob/main/d%FF/a%FD.txt`)
    // every link of these pages leads somewhere
    for (const page of [`${at}/-/blob/main/d%FF/a%FE.txt`, `${at}/-/tree/main/d%FF`, `${at}/-/blame/main/d%FF/a%FE.txt`]) {
      const opened = await visitor.open(page)
      for (const link of new Set(
        opened
          .$('main a')
          .toArray()
          .map((each) => String(opened.$(each).attr('href')))
          .filter((each) => each.startsWith(at)),
      ))
        expect([link, (await visitor.open(link)).status]).toEqual([link, 200])
    }
    // what git says of a rename from such a name
    bare.commits({
      files: [
        [bytes('d\xff/a\xfe.txt'), null],
        ['plain.txt', 'first\nsecond\n'],
      ],
      message: 'Renamed',
    })
    expect(await titles('plain.txt')).toEqual(['Renamed', 'Second line', 'Odd names'])
    const before = (await visitor.open(`${at}/-/commit/${bare.git('rev-parse', 'main').trim()}`)).$('.diff .corner a').attr('href') ?? ''
    expect((await visitor.open(before)).status).toBe(200)
    const page = await member.open(`${at}/-/blob/main/d%FF/a%FD.txt`)
    expect([page.text.includes('Edit'), (await member.open(`${at}/-/tree/main/d%FF`)).text.includes('New file')]).toEqual([false, false])
    const refused = await member.open(`${at}/-/edit/main/d%FF/a%FD.txt`)
    expect(refused.status).toBe(404)
    // the API says names as it did
    const { body } = await t.api('get', `${project.path}/repository/tree?path=d\ufffd&ref=main`, owner)
    expect(JSON.stringify(body)).not.toContain('bytePath')
    const signIn = await visitor.open(`/${owner.username}/none/-/blob/main/%FF`)
    expect(signIn.at).toContain(encodeURIComponent('/-/blob/main/%FF'))
  })
})
