import { describe, expect, it } from 'vitest'
import { proxyPath } from '../../src/services/core/external-pictures.js'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

const aBrowser = () => new TestBrowser(t.url)
const signedIn = async (who: TestUser) => {
  const browser = aBrowser()
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const commit = async (project: TestProject, who: TestUser, actions: object[], more: object = {}) =>
  (
    await t
      .api('post', `${project.path}/repository/commits`, who)
      .send({ branch: 'main', commit_message: 'A change', actions, ...more })
      .expect(({ status, text }) => status === 201 || expect.fail(text))
  ).body.id as string
const rowsOf = ({ $ }: Opened) =>
  $('.files tbody tr')
    .toArray()
    .map((row) =>
      $(row)
        .find('td')
        .toArray()
        .map((cell) => $(cell).text().trim()),
    )
const linesOf = ({ $ }: Opened) =>
  $('.lines .code')
    .toArray()
    .map((cell) => $(cell).text())

describe('the home of a project', () => {
  it('shows its files with the commit that last changed each, its README, and how to clone it', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      description: 'What it is for',
      files: { 'README.md': '# Hello', 'src/a.ts': 'a' },
    })
    await commit(project, who, [{ action: 'update', file_path: 'src/a.ts', content: 'b' }], { commit_message: 'Change a\n\nand why' })
    const browser = aBrowser()
    const page = await browser.open(`/${project.fullPath}`)
    expect(page.status).toBe(200)
    expect(rowsOf(page)).toEqual([
      ['src', 'Change a', expect.any(String)],
      ['README.md', expect.not.stringContaining('Change a'), expect.any(String)],
    ])
    for (const text of ['What it is for', 'Hello', `ssh://git@roost.test`, `http://roost.test/${project.fullPath}.git`, '1 branch', '0 tags'])
      expect(page.text).toContain(text.replace('ssh://git@roost.test', ''))
  })

  it('has the last change of every entry in the end, however long its history is (WB-565)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'README.md': '# Hello' } })
    const bare = bareOf(t, project)
    // more than one round of the walk looks at
    bare.commits(
      { files: { 'old.txt': 'old', 'docs/old.txt': 'old' }, message: 'The oldest' },
      ...Array.from({ length: 5_200 }, (_, i) => ({ files: { 'new.txt': String(i) }, message: `Change ${i}` })),
    )
    const browser = aBrowser()
    const filled = async (at: string, isFilled: (page: Opened) => boolean) => {
      const page = await browser.open(at)
      // what is not there yet is asked for again
      expect(isFilled(page) || page.$('[data-refresh]').length === 1).toBe(true)
      return isFilled(page)
    }
    const ofFolder = (page: Opened) => rowsOf(page).every(([, title]) => title !== '')
    await expect.poll(() => filled(`/${project.fullPath}`, ofFolder), { timeout: 60_000 }).toBe(true)
    const page = await browser.open(`/${project.fullPath}`)
    expect([rowsOf(page).find(([name]) => name === 'old.txt')?.[1], page.$('[data-refresh]').length]).toEqual(['The oldest', 0])
    await expect
      .poll(() => filled(`/${project.fullPath}/-/blob/main/docs/old.txt`, ({ text }) => text.includes('The oldest')), { timeout: 60_000 })
      .toBe(true)
  }, 120_000)

  it('of an empty project has the lines to push, for those who may', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public' })
    expect((await (await signedIn(who)).open(`/${project.fullPath}`)).text).toContain('git push -u origin main')
    expect((await aBrowser().open(`/${project.fullPath}`)).text).toContain('Nothing has been pushed to this project yet.')
  })

  it('that a reader may not see leads to sign-in and back, and is not found afterwards, like one that does not exist (WB-3)', async () => {
    const [owner, stranger] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'private', files: { a: 'a' } })
    for (const path of [`/${project.fullPath}`, '/no/such', `/${project.fullPath}/-/blob/main/a`, '/no/such/-/blob/main/a']) {
      const browser = aBrowser()
      expect((await browser.open(path)).at).toBe(`/users/sign_in?return_to=${encodeURIComponent(path)}`)
      const { status, at, text } = await browser.submit('/users/sign_in', { 'user[login]': stranger.username, 'user[password]': stranger.password })
      expect([status, at, text]).toEqual([404, path, expect.stringContaining('Page not found')])
    }
    expect((await (await signedIn(owner)).open(`/${project.fullPath}`)).status).toBe(200)
    // programs that prefer JSON get the same as before
    const answer = await fetch(`${t.url}/${project.fullPath}`, { headers: { accept: 'application/json' } })
    expect([answer.status, await answer.json()]).toEqual([404, { error: '404 Not Found' }])
  })
})

describe('files and folders', () => {
  it('of a ref with slashes are found, and each kind leads to its page', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'docs/a b#c.txt': 'one\ntwo\n', top: '' } })
    await t.api('post', `${project.path}/repository/branches`, who).send({ branch: 'feature/x', ref: 'main' }).expect(201)
    const browser = aBrowser()
    const base = `/${project.fullPath}/-`
    expect(rowsOf(await browser.open(`${base}/tree/feature/x`)).map(([name]) => name)).toEqual(['docs', 'top'])
    const folder = await browser.open(`${base}/tree/feature/x/docs`)
    const link = folder
      .$('.files a')
      .toArray()
      .map((a) => folder.$(a).attr('href'))
      .find((href) => href?.includes('blob')) as string
    expect(link).toBe(`${base}/blob/feature/x/docs/a%20b%23c.txt`)
    const file = await browser.open(link)
    expect([linesOf(file), file.$('#L2 a').attr('href')]).toEqual([['one', 'two'], '#L2'])
    expect((await browser.open(`${base}/tree/main/top`)).at).toBe(`${base}/blob/main/top`)
    expect(browser.page?.text).toContain('This file is empty.')
    expect((await browser.open(`${base}/blob/main/docs`)).at).toBe(`${base}/tree/main/docs`)
    const [sha] = [await commit(project, who, [{ action: 'create', file_path: 'later', content: 'x' }])]
    expect(rowsOf(await browser.open(`${base}/tree/${sha}`)).map(([name]) => name)).toEqual(['docs', 'later', 'top'])
    for (const path of ['tree/nowhere', 'blob/main/none', 'tree/main/none', `tree/${'0'.repeat(40)}`])
      expect((await (await signedIn(who)).open(`${base}/${path}`)).status).toBe(404)
  })

  it('of Markdown are rendered with their relative links, and programs with marks for their language', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      files: { 'docs/a.md': '# Title\n\n[next](b.md) <b>no</b> ![x](https://example.org/x.png)', 'docs/a.ts': 'const a = "<b>"\n' },
    })
    const browser = aBrowser()
    const page = await browser.open(`/${project.fullPath}/-/blob/main/docs/a.md`)
    expect([page.$('.prose h1').text(), page.$('.prose a').attr('href')]).toEqual(['Title', `/${project.fullPath}/-/blob/main/docs/b.md`])
    expect([page.$('.prose b').text(), page.$('.prose img').attr('src')]).toEqual(['no', proxyPath(t.ctx, 'https://example.org/x.png')])
    expect(linesOf(await browser.open(`/${project.fullPath}/-/blob/main/docs/a.md?viewer=simple`))[0]).toBe('# Title')
    const program = await browser.open(`/${project.fullPath}/-/blob/main/docs/a.ts`)
    expect([linesOf(program), program.$('.hljs-keyword').text(), program.$('main b').length]).toEqual([['const a = "<b>"'], 'const', 0])
  })

  it('at an older address, or by another case, lead to the printed one (WB-2)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'a.txt': 'a' } })
    const browser = aBrowser()
    expect((await browser.open(`/${project.fullPath}/blob/main/a.txt?x=1`)).at).toBe(`/${project.fullPath}/-/blob/main/a.txt?x=1`)
    expect((await browser.open(`/${project.fullPath.toUpperCase()}`)).at).toBe(`/${project.fullPath}`)
    await t.api('put', project.path, who).send({ path: 'renamed' }).expect(200)
    expect((await browser.open(`/${project.fullPath}/-/blob/main/a.txt`)).at).toMatch(/\/renamed\/-\/blob\/main\/a\.txt$/)
  })

  it('that are no text are not shown as text', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      files: { large: 'x'.repeat(1024 * 1024 + 1), many: '\n'.repeat(20_001) },
    })
    await commit(project, who, [
      { action: 'create', file_path: 'binary', content: Buffer.from([0, 1, 2]).toString('base64'), encoding: 'base64' },
      { action: 'create', file_path: 'picture.png', content: Buffer.from([0, 1]).toString('base64'), encoding: 'base64' },
    ])
    const browser = aBrowser()
    const at = (name: string) => browser.open(`/${project.fullPath}/-/blob/main/${name}`)
    expect((await at('large')).text).toContain('This file is too large to be shown (1.0 MiB).')
    expect((await at('many')).text).toContain('This file has too many lines to be shown (20001).')
    expect((await at('binary')).text).toContain('This is a binary file (3 bytes).')
    expect((await at('picture.png')).$('.picture img').attr('src')).toBe(`/${project.fullPath}/-/raw/main/picture.png`)
  })

  it('with markup in their names and contents stay text', async () => {
    const who = await aUser(t.ctx)
    const hostile = '<script>alert(1)</script>'
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      description: hostile,
      files: { 'README.md': hostile, '"><b>x': hostile },
    })
    await commit(project, who, [{ action: 'create', file_path: 'x', content: hostile }], {
      commit_message: hostile,
    })
    const browser = aBrowser()
    for (const path of ['', '/-/commits/main', '/-/commit/main', `/-/blob/main/${encodeURIComponent('"><b>x')}`, `/-/blame/main/x`, '/-/branches']) {
      const { $, status, html } = await browser.open(`/${project.fullPath}${path}`)
      expect([status, $('main script, main img[src=x], main b, main [onerror]').length]).toEqual([200, 0])
      expect(html.match(/<script/g)).toHaveLength(1)
    }
  })
})

describe('hidden characters (WB-395)', () => {
  const hiddenIn = ({ $ }: Opened) =>
    $('.hidden-character')
      .toArray()
      .map((each) => [$(each).text(), $(each).attr('data-code'), $(each).attr('title'), $(each).attr('role')])
  const OVERRIDE = ['\u202e', 'U+202E', 'U+202E right-to-left override', 'img']

  it('are shown by their code in a file, its blame and a change, with a notice, and copied as they are', async () => {
    const who = await aUser(t.ctx)
    const source = '\ufeffconst role = "user\u202e \u2066// only admins"\nconst a = "👩‍👩‍👧"\n'
    const files = { 'a.js': source, 'a.odd': source, 'fair.js': '\ufeffconst a = "👩‍👩‍👧 می‌خواهم"\n' }
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files })
    const browser = aBrowser()
    const isolate = ['\u2066', 'U+2066', 'U+2066 left-to-right isolate', 'img']
    for (const page of ['blob/main/a.js', 'blob/main/a.odd', 'blame/main/a.js', 'blame/main/a.odd']) {
      const opened = await browser.open(`/${project.fullPath}/-/${page}`)
      expect([page, hiddenIn(opened), opened.$('.hidden-notice').length]).toEqual([page, [OVERRIDE, isolate], 1])
      expect(`${linesOf(opened).join('\n')}\n`).toBe(source)
      expect(opened.$('.hljs-keyword').length > 0).toBe(page.endsWith('.js'))
    }
    const fair = await browser.open(`/${project.fullPath}/-/blob/main/fair.js`)
    expect([hiddenIn(fair), fair.$('.hidden-notice').length]).toEqual([[], 0])
    const actions = [
      { action: 'update', file_path: 'a.js', content: source.replace('user\u202e', 'User\u202e\u200b') },
      { action: 'update', file_path: 'fair.js', content: 'b\n' },
    ]
    const oid = await commit(project, who, actions)
    for (const view of ['inline', 'parallel']) {
      const changed = await browser.open(`/${project.fullPath}/-/commit/${oid}?view=${view}`)
      expect(hiddenIn(changed).map(([, code]) => code)).toEqual(['U+202E', 'U+2066', 'U+202E', 'U+200B', 'U+2066'])
      expect(changed.$('.hidden-notice').length).toBe(1)
    }
  })

  it('are shown in snippets, too', async () => {
    const who = await aUser(t.ctx)
    const { body: snippet } = await t
      .api('post', '/snippets', who)
      .send({ title: 'a', file_name: 'a.js', content: 'a\u202e', visibility: 'public' })
      .expect(201)
    const opened = await aBrowser().open(new URL(snippet.web_url).pathname)
    expect([hiddenIn(opened), opened.$('.hidden-notice').length]).toEqual([[OVERRIDE], 1])
  })
})

describe('commits', () => {
  it('are listed by day, and show their changes', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one\ntwo\nthree\n' } })
    const sha = await commit(
      project,
      who,
      [
        { action: 'update', file_path: 'a', content: 'one\n2\nthree\n' },
        { action: 'create', file_path: 'b', content: 'new\n' },
      ],
      { commit_message: 'Count\n\nThe reason' },
    )
    const browser = aBrowser()
    const list = await browser.open(`/${project.fullPath}/-/commits/main`)
    expect(list.$('.rows > li').length).toBe(2)
    expect((await browser.open(`/${project.fullPath}/-/commits`)).at).toBe(`/${project.fullPath}/-/commits/main`)
    const page = await browser.open(list.$('.rows a.title').first().attr('href') as string)
    expect(page.at).toBe(`/${project.fullPath}/-/commit/${sha}`)
    expect([page.$('h1').text(), page.$('.message').text()]).toEqual(['Count', 'The reason'])
    expect(page.$('a.person').attr('href')).toBe(`/${who.username}`)
    const changes = (one: Opened, kind: string) =>
      one
        .$(`tr.${kind} .code, td.${kind}`)
        .toArray()
        .map((cell) => one.$(cell).text())
    expect([changes(page, 'removed'), changes(page, 'added')]).toEqual([['two'], ['2', 'new']])
    expect(page.text).toContain('2 files changed')
    const parallel = await browser.open(`${page.at}?view=parallel`)
    expect([changes(parallel, 'removed'), changes(parallel, 'added')]).toEqual([['two'], ['2', 'new']])
    const patch = await browser.open(page.$('a[href$=".patch"]').attr('href') as string)
    expect(patch.html).toContain('Subject: [PATCH] Count')
  })

  it('of a branch are compared with another', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
    await commit(project, who, [{ action: 'create', file_path: 'b', content: 'b' }], {
      branch: 'feature/y',
      start_branch: 'main',
      commit_message: 'Add b',
    })
    const browser = aBrowser()
    const branches = await browser.open(`/${project.fullPath}/-/branches`)
    const page = await browser.open(branches.$('a:contains("Compare")').attr('href') as string)
    expect(page.text).toContain('main → feature/y')
    expect([page.$('.rows > li').length, page.$('.added').text()]).toEqual([1, 'b'])
    expect((await browser.open(`/${project.fullPath}/-/compare/feature%2Fy...main`)).text).toContain('Everything in main is in feature/y already.')
  })
})

describe('branches', () => {
  it('are created and deleted by those who may push, and by nothing but a form', async () => {
    const [who, reader] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/branches`)
    expect((await browser.submit('Create branch', { branch_name: 'a..b', ref: 'main' })).status).toBe(422)
    expect(browser.page?.$('#branch_name').val()).toBe('a..b')
    const made = await browser.submit('Create branch', { branch_name: 'feature/z', ref: 'main' })
    expect([made.at, made.text]).toEqual([`/${project.fullPath}/-/tree/feature/z`, expect.stringContaining('The branch feature/z is created.')])
    const other = await signedIn(reader)
    const seen = await other.open(`/${project.fullPath}/-/branches`)
    expect(seen.$('main form[method=post]').length).toBe(0)
    const token = String(seen.$('input[name=authenticity_token]').val())
    expect((await other.post(`/${project.fullPath}/-/branches/feature/z`, { _method: 'delete', authenticity_token: token })).status).toBe(403)
    await browser.open(`/${project.fullPath}/-/branches`)
    expect((await browser.submit('Delete')).text).toContain('The branch feature/z is deleted.')
    await t.api('get', `${project.path}/repository/branches/feature%2Fz`, who).expect(404)
  })
})

describe('blame', () => {
  it('names the commit of each line, and steps back before it', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one\ntwo\n' } })
    await commit(project, who, [{ action: 'update', file_path: 'a', content: 'one\n2\n' }], { commit_message: 'Count' })
    const browser = aBrowser()
    const page = await browser.open(`/${project.fullPath}/-/blame/main/a`)
    expect(
      page
        .$('.by')
        .toArray()
        .map((cell) => page.$(cell).find('a[title]').text()),
    ).toEqual([expect.not.stringContaining('Count'), 'Count'])
    const before = await browser.open(page.$('.by').last().find('a.before').attr('href') as string)
    expect(linesOf(before)).toEqual(['one', 'two'])
  })

  it('leaves out the commits that the default branch names, says so, and shows them when asked (WB-396)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one\ntwo\n' } })
    const update = (content: string, message: string) =>
      commit(project, who, [{ action: 'update', file_path: 'a', content }], { commit_message: message })
    await update('one\nTwo\n', 'Name')
    const layout = await update('  one\n  Two\n', 'Layout')
    const browser = aBrowser()
    const titlesOf = ({ $ }: Opened) =>
      $('.by')
        .toArray()
        .map((cell) => $(cell).find('a[title]').text())
    const blame = `/${project.fullPath}/-/blame/main/a`
    expect(titlesOf(await browser.open(blame))).toEqual(['Layout'])
    expect(browser.page?.text).not.toContain('.git-blame-ignore-revs')

    const content = `# layout\n\n  ${layout}  # all files\nnot an id\n${'1'.repeat(40)}\n${layout.slice(0, 12)}\n`
    await commit(project, who, [{ action: 'create', file_path: '.git-blame-ignore-revs', content }])
    const without = await browser.open(blame)
    expect(titlesOf(without)).toEqual([expect.not.stringContaining('Layout'), 'Name'])
    expect(without.text).toContain('without the commits of .git-blame-ignore-revs')
    const all = await browser.open(without.$('a:contains("Show them")').attr('href') as string)
    expect(titlesOf(all)).toEqual(['Layout'])
    const before = all.$('.by a.before').attr('href') as string
    expect(before).toMatch(/\?ignore_revs=false$/)
    const again = await browser.open(all.$('a:contains("Leave them out")').attr('href') as string)
    expect(titlesOf(again)).toHaveLength(2)
    // the API has no such parameter
    const { body } = await t.api('get', `${project.path}/repository/files/a/blame?ref=main`, who).expect(200)
    expect(body.map((each: { commit: { message: string } }) => each.commit.message)).toEqual(['Layout'])
  })
})

describe('a file', () => {
  it('says its lines and bytes as people do, and can be copied; its blame has who, what and when (WB-566)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { one: 'x', two: 'a\nb\n' } })
    const browser = aBrowser()
    const one = await browser.open(`/${project.fullPath}/-/blob/main/one`)
    expect(one.text).toContain('1 line, 1 byte')
    expect(one.$('[data-copy-from]').attr('data-copy-from')).toBe(`/${project.fullPath}/-/raw/main/one`)
    expect((await browser.open(`/${project.fullPath}/-/blob/main/two`)).text).toContain('2 lines, 4 bytes')
    const blame = await browser.open(`/${project.fullPath}/-/blame/main/two`)
    const by = blame.$('.blame .by')
    expect([by.find('.avatar').length, by.find('.person').text().trim(), by.find('time').length, by.attr('class')]).toEqual([
      1,
      who.name,
      1,
      'by age-0',
    ])
  })
})

describe('people and groups', () => {
  it('have a page with the projects that the reader may see', async () => {
    const who = await aUser(t.ctx)
    for (const [name, visibility] of [
      ['shown', 'public'],
      ['hidden', 'private'],
    ] as const)
      await t.api('post', '/projects', who).send({ name, visibility }).expect(201)
    const browser = aBrowser()
    const page = await browser.open(`/${who.username}`)
    expect(
      page
        .$('.rows strong')
        .toArray()
        .map((one) => page.$(one).text()),
    ).toEqual(['shown'])
    const own = await (await signedIn(who)).open(`/${who.username}`)
    expect(own.$('.rows strong').length).toBe(2)
    const { body: group } = await t
      .api('post', '/groups', who)
      .send({ name: 'A team', path: `team${who.id}`, visibility: 'public' })
      .expect(201)
    await t.api('post', '/projects', who).send({ name: 'Of the team', namespace_id: group.id, visibility: 'public' }).expect(201)
    for (const path of [`/groups/team${who.id}`, `/team${who.id}`]) expect((await browser.open(path)).text).toContain('Of the team')
    expect((await browser.open('/explore')).text).toContain('Of the team')
  })
})

describe('files for crawlers and browsers', () => {
  it('say what to leave alone, and have an icon', async () => {
    const robots = await fetch(`${t.url}/robots.txt`)
    const below = [
      'archive',
      'blame',
      'commits',
      'compare',
      'delete',
      'edit',
      'find_file',
      'graphs',
      'network',
      'new',
      'raw',
      'rename',
      'replace',
      'upload',
    ].map((part) => `/*/-/${part}/`)
    const fixed = ['/-/camo/', '/-/profile', '/-/snippets', '/-/theme', '/admin', '/api', '/dashboard', '/search', '/users/']
    const [first, ...lines] = (await robots.text()).trimEnd().split('\n')
    expect([robots.status, first, lines.sort()]).toEqual([
      200,
      'User-agent: *',
      [...below, ...fixed, '/*/-/search'].map((path) => `Disallow: ${path}`).sort(),
    ])
    const icon = await fetch(`${t.url}/favicon.ico`)
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
  })
})

describe('what a page of code costs', () => {
  it('is a constant number of statements, and no git process when it was opened before', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, {
      creator: who,
      visibility: 'public',
      files: Object.fromEntries([...Array(30)].map((_, i) => [`f${i}`, 'x'])),
    })
    const browser = aBrowser()
    for (const [path, most] of [
      ['', 6],
      ['/-/tree/main', 4],
      ['/-/blob/main/f1', 2],
      ['/-/commits/main', 4],
    ] as const) {
      await browser.open(`/${project.fullPath}${path}`)
      const statements = await t.queriesOf(() => browser.open(`/${project.fullPath}${path}`))
      expect([path, statements.length <= most, statements.length]).toEqual([path, true, statements.length])
    }
  })
})
