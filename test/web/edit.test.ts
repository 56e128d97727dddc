import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}
const raw = async (project: TestProject, who: TestUser, path: string, ref = 'main') =>
  (await t.api('get', `${project.path}/repository/files/${encodeURIComponent(path)}/raw?ref=${encodeURIComponent(ref)}`, who)).text

describe('a file', () => {
  it('is changed in a page, on its branch or on a new one, and keeps the ends of its lines', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'docs/a.txt': 'one\ntwo\n' } })
    const crlf = { action: 'create', file_path: 'crlf', content: Buffer.from('one\r\ntwo\r\n').toString('base64'), encoding: 'base64' }
    await t
      .api('post', `${project.path}/repository/commits`, who)
      .send({ branch: 'main', commit_message: 'x', actions: [crlf] })
      .expect(201)
    const browser = await signedIn(who)
    const file = await browser.open(`/${project.fullPath}/-/blob/main/docs/a.txt`)
    await browser.open(file.$('a:contains("Edit")').attr('href') as string)
    expect(browser.page?.$('#content').val()).toBe('one\ntwo\n')
    const saved = await browser.submit('Commit changes', { content: 'one\r\n2\r\n' })
    expect([saved.at, saved.text]).toEqual([
      `/${project.fullPath}/-/blob/main/docs/a.txt`,
      expect.stringContaining('Your change is on the branch main.'),
    ])
    expect(await raw(project, who, 'docs/a.txt')).toBe('one\n2\n')
    await browser.open(`/${project.fullPath}/-/edit/main/crlf`)
    await browser.submit('Commit changes', { content: 'one\r\n2\r\n', branch_name: 'typo', file_path: 'docs/crlf', commit_message: 'Mend a typo' })
    expect([await raw(project, who, 'docs/crlf', 'typo'), await raw(project, who, 'crlf')]).toEqual(['one\r\n2\r\n', 'one\r\ntwo\r\n'])
  })

  it('that has changed meanwhile is not overwritten: the text that was typed stays', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one\n' } })
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/edit/main/a`)
    const actions = [{ action: 'update', file_path: 'a', content: 'theirs\n' }]
    await t.api('post', `${project.path}/repository/commits`, who).send({ branch: 'main', commit_message: 'Theirs', actions }).expect(201)
    const refused = await browser.submit('Commit changes', { content: 'mine\n' })
    expect([refused.status, refused.$('#content').val()]).toEqual([422, 'mine\n'])
    expect(refused.text).toContain('The file has changed since you opened it.')
    expect(await raw(project, who, 'a')).toBe('theirs\n')
    await browser.submit('Commit changes')
    expect(await raw(project, who, 'a')).toBe('mine\n')
  })

  it('is made, uploaded and deleted', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
    const browser = await signedIn(who)
    const home = await browser.open(`/${project.fullPath}`)
    await browser.open(home.$('a:contains("New file")').attr('href') as string)
    expect((await browser.submit('Commit file', { file_name: ' ' })).text).toContain("Name can't be blank.")
    expect((await browser.submit('Commit file', { file_name: 'x/new.txt', content: 'new' })).at).toBe(`/${project.fullPath}/-/blob/main/x/new.txt`)
    await browser.open(`/${project.fullPath}/-/new/main/x`)
    await browser.follow('Upload a file')
    const bytes = Buffer.from([0, 255, 1])
    await browser.submit('Upload file', { file: new File([bytes], 'b.bin') })
    const { body } = await t.api('get', `${project.path}/repository/files/x%2Fb.bin?ref=main`, who).expect(200)
    expect(body.content).toBe(bytes.toString('base64'))
    await browser.open(`/${project.fullPath}/-/blob/main/a`)
    await browser.follow('Delete')
    expect((await browser.submit('Delete file')).text).toContain('a is deleted on the branch main.')
    await t.api('get', `${project.path}/repository/files/a?ref=main`, who).expect(404)
  })

  it('is replaced and renamed by pages to which a menu leads, also one that is no text (WB-641)', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'd/b.bin': 'a\0b' } })
    const browser = await signedIn(who)
    const file = await browser.open(`/${project.fullPath}/-/blob/main/d/b.bin`)
    const menu = file.$('.menu .items a').toArray()
    expect(menu.map((link) => file.$(link).text()).filter((text) => /Replace|Rename|Delete/.test(text))).toEqual([
      'Replace',
      'Rename or move',
      'Delete',
    ])
    // there is nothing to edit
    expect((await browser.open(`/${project.fullPath}/-/edit/main/d/b.bin`)).at).toBe(`/${project.fullPath}/-/replace/main/d/b.bin`)
    expect((await browser.submit('Replace file')).text).toContain("File can't be blank.")
    const replaced = await browser.submit('Replace file', { file: new File([Buffer.from([0, 2])], 'other.bin') })
    expect(replaced.at).toBe(`/${project.fullPath}/-/blob/main/d/b.bin`)
    await browser.follow('Rename or move')
    expect((await browser.submit('Rename file')).text).toContain('New path is the same as before.')
    expect((await browser.submit('Rename file', { file_path: 'e/c.bin' })).at).toBe(`/${project.fullPath}/-/blob/main/e/c.bin`)
    const { body } = await t.api('get', `${project.path}/repository/files/e%2Fc.bin?ref=main`, who).expect(200)
    expect(body.content).toBe(Buffer.from([0, 2]).toString('base64'))
    await t.api('get', `${project.path}/repository/files/d%2Fb.bin?ref=main`, who).expect(404)
    for (const page of ['replace', 'rename', 'delete']) expect((await browser.open(`/${project.fullPath}/-/${page}/main/none`)).status).toBe(404)
  })

  it('that somebody else has changed is neither replaced, renamed nor deleted before that is said', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'one' } })
    const browser = await signedIn(who)
    let theirs = 0
    for (const [page, button] of [
      ['replace', 'Replace file'],
      ['rename', 'Rename file'],
      ['delete', 'Delete file'],
    ] as const) {
      await browser.open(`/${project.fullPath}/-/${page}/main/a`)
      const actions = [{ action: 'update', file_path: 'a', content: `theirs ${theirs++}` }]
      await t.api('post', `${project.path}/repository/commits`, who).send({ branch: 'main', commit_message: 'Theirs', actions }).expect(201)
      const refused = await browser.submit(button, { file_path: 'b', ...(page === 'replace' && { file: new File(['x'], 'x') }) })
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('The file has changed since you opened it.')])
    }
  })

  it('shows what the commit would change, and Markdown as its readers see it, before it is saved (WB-640)', async () => {
    const who = await aUser(t.ctx)
    const files = { 'docs/a.md': '# One\n\n[b](b.md)\n', 'docs/b.md': 'b', 'crlf.ts': 'const a = 1\r\nconst b = 2\r\n' }
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files })
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/edit/main/docs/a.md`)
    const preview = await browser.submit('Commit changes', { show: 'text', content: '# Two\n\n[b](b.md)\n' })
    expect([preview.status, preview.$('#shown h1').text(), preview.$('#content').val()]).toEqual([200, 'Two', '# Two\n\n[b](b.md)\n'])
    expect(preview.$('#shown a:contains("b")').attr('href')).toBe(`/${project.fullPath}/-/blob/main/docs/b.md`)
    const changes = await browser.submit('Commit changes', { show: 'changes' })
    expect(changes.$('#shown tr.removed .code').text()).toBe('# One')
    expect(changes.$('#shown tr.added .code').text()).toBe('# Two')
    expect(changes.$('button[aria-current]').text()).toBe('Preview changes')
    expect(await raw(project, who, 'docs/a.md')).toBe('# One\n\n[b](b.md)\n')
    await browser.open(`/${project.fullPath}/-/edit/main/crlf.ts`)
    expect(browser.page?.$('button:contains("Preview")').length).toBe(1)
    const same = await browser.submit('Commit changes', { show: 'changes', content: 'const a = 1\r\nconst b = 2\r\n' })
    expect(same.$('#shown').text()).toContain('Nothing is changed.')
    const coloured = await browser.submit('Commit changes', { show: 'changes', content: 'const a = 1\nconst b = "<b>"\n' })
    expect(coloured.$('#shown tr.added .code').text()).toBe('const b = "<b>"')
    expect(coloured.$('#shown tr.added .code i').length).toBeGreaterThan(0)
    await browser.open(`/${project.fullPath}/-/new/main/docs`)
    const fresh = await browser.submit('Commit file', { show: 'text', file_name: 'new.md', content: '**new**' })
    expect(fresh.$('#shown strong').text()).toBe('new')
    const plain = await browser.submit('Commit file', { show: 'text', file_name: 'new.txt' })
    expect(plain.$('#shown').text()).toContain('Only Markdown looks different from its text.')
    expect((await browser.submit('Commit file', { file_name: 'new.md' })).at).toBe(`/${project.fullPath}/-/blob/main/docs/new.md`)
  })

  it('is changed neither by those who may not push, nor at a tag or a commit, and a refusal says why', async () => {
    const [who, reader, developer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: who, developer, visibility: 'public', files: { a: 'a' } })
    const stranger = await signedIn(reader)
    expect((await stranger.open(`/${project.fullPath}/-/blob/main/a`)).$('a:contains("Edit")').length).toBe(0)
    expect((await stranger.open(`/${project.fullPath}/-/edit/main/a`)).status).toBe(403)
    const browser = await signedIn(developer)
    const { body } = await t.api('get', `${project.path}/repository/commits/main`, who).expect(200)
    expect((await browser.open(`/${project.fullPath}/-/edit/${body.id}/a`)).status).toBe(404)
    // the default branch is protected
    await browser.open(`/${project.fullPath}/-/edit/main/a`)
    const refused = await browser.submit('Commit changes', { content: 'b' })
    expect([refused.status, refused.$('#content').val(), refused.text]).toEqual([
      422,
      'b',
      expect.stringContaining('You are not allowed to push into this branch'),
    ])
  })
})
