// @module-tag long
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

/** No page is larger, whatever a repository holds. */
const MAX_BYTES = 6 * 1024 * 1024
/** Pages of one kind in one walk. */
const MAX_OF_KIND = 20

const ODD_NAMES = ['a b#c?.txt', '100%.txt', 'quote"\'<b>&.md', 'grüße/ünï.ts', '-dash', 'new', 'edit.json', 'deep/a/b/c/d.txt', 'tab\tname']

/** A repository with what trips up pages. */
function oddRepository(folder: string): void {
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, '-c', 'user.name=A <b>', '-c', 'user.email=a@example.org', ...args])
  const put = (name: string, content: string | Buffer) => {
    execFileSync('mkdir', ['-p', join(folder, name, '..')])
    writeFileSync(join(folder, name), content)
  }
  git('init', '-q', '-b', 'main')
  for (const name of ODD_NAMES) put(name, `one\ntwo ${name}\n`)
  put('README.md', `# Read\n\n[deep](deep/a/b/c/d.txt) [none](no/such.md) ${'> '.repeat(300)}deep\n`)
  put('crlf.txt', 'one\r\ntwo\r\n')
  put('utf16.txt', Buffer.from('\ufeffgrüß\n', 'utf16le'))
  put('latin1.txt', Buffer.from([0x67, 0x72, 0xfc, 0xdf, 10]))
  put('line.js', `x = "${'y'.repeat(900_000)}"\n`)
  put('huge.bin', Buffer.alloc(3_000_000, 1))
  put('lfs.bin', `version https://git-lfs.github.com/spec/v1\noid sha256:${'b'.repeat(64)}\nsize 5\n`)
  put('table.csv', 'a,b\n'.repeat(3_000))
  put('.gitmodules', '[submodule "s"]\n\tpath = sub\n\turl = https://example.org/x.git\n')
  execFileSync('ln', ['-s', 'deep/a/b/c/d.txt', join(folder, 'link')])
  execFileSync('ln', ['-s', 'nowhere', join(folder, 'dangling')])
  git('add', '-A')
  git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`)
  git('commit', '-qm', 'First <b>\n\nbody')
  const heads: string[] = []
  for (const branch of ['topic/one', 'two', 'deep']) {
    git('checkout', '-q', '-b', branch, 'main')
    put(`of-${branch.replace('/', '-')}.txt`, branch)
    git('add', `of-${branch.replace('/', '-')}.txt`)
    git('commit', '-qm', `On ${branch}`)
    heads.push(branch)
  }
  git('checkout', '-q', 'main')
  git('merge', '-q', '-m', 'An octopus', ...heads)
  git('mv', 'crlf.txt', 'moved.txt')
  git('commit', '-qm', 'Move')
  git('tag', 'v1/x')
  git('tag', '-m', 'Two', 'v2')
}

const pushed = async (project: TestProject, who: TestUser) => {
  const folder = mkdtempSync(join(tmpdir(), 'roost-crawl-'))
  oddRepository(folder)
  const url = new URL(`${t.url}/${project.fullPath}.git`)
  ;[url.username, url.password] = [who.username, who.token]
  // the service is in this process
  for (const what of ['--all', '--tags']) await promisify(execFile)('git', ['-C', folder, 'push', '-q', url.href, what])
  return folder
}

/** Follows every link below a project; the faults that it found, and the pages that it read. */
async function crawl(browser: TestBrowser, project: TestProject) {
  const start = `/${project.fullPath}`
  const queue = [start]
  const seen = new Set(queue)
  const faults: string[] = []
  let pages = 0
  const kinds = new Map<string, number>()
  while (queue.length > 0) {
    const path = queue.shift() as string
    const [kind = ''] = path.slice(start.length + 3).split('/', 1)
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if ((kinds.get(kind) ?? 0) > MAX_OF_KIND) continue
    const { status, html, headers } = await browser.open(path)
    pages++
    if (status >= 400) faults.push(`${status} ${path}`)
    if (!headers.get('content-type')?.startsWith('text/html')) continue
    if (Buffer.byteLength(html) > MAX_BYTES) faults.push(`${Buffer.byteLength(html)} bytes ${path}`)
    const $ = load(html)
    if ($('main b:not(.prose b), main script').length > 0) faults.push(`foreign markup ${path}`)
    for (const element of $('a[href], img[src]').toArray()) {
      const to = $(element).attr('href') ?? $(element).attr('src') ?? ''
      const [address = ''] = to.split('#', 1)
      // what is in a text is the author's; the history of each commit is that of all
      if (!address.startsWith(`${start}/`) && address !== start) continue
      if ($(element).closest('.prose').length > 0 && address.includes('/no/such')) continue
      if (seen.has(address)) continue
      seen.add(address)
      queue.push(address)
    }
  }
  return { pages, faults }
}

describe('every link of the pages of a project', () => {
  it('leads to a page of bounded size, for a visitor and for a member, and what pages show is what git says (WB-70)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    // the object of the pointer is nowhere
    await t.api('put', project.path, owner).send({ lfs_enabled: false }).expect(200)
    const folder = await pushed(project, owner)
    const member = new TestBrowser(t.url)
    await member.signIn(owner)
    for (const browser of [new TestBrowser(t.url), member]) {
      const { pages, faults } = await crawl(browser, project)
      expect(faults).toEqual([])
      expect(pages).toBeGreaterThan(80)
    }
    const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { maxBuffer: 2 ** 26 }).toString()
    const at = (page: string, rest: string) => `/${project.fullPath}/-/${page}/${rest.split('/').map(encodeURIComponent).join('/')}`
    const linesIn = ($: ReturnType<typeof load>, selector: string) =>
      $(selector)
        .toArray()
        .map((cell) => $(cell).text())
    const dangling = await member.open(at('blob', 'main/dangling'))
    expect([dangling.text.includes('nowhere'), dangling.$('.note a').length]).toEqual([true, 0])
    expect((await member.open(at('blob', 'main/link'))).$('.note a').attr('href')).toBe(at('blob', 'main/deep/a/b/c/d.txt'))
    for (const name of ODD_NAMES.filter((each) => !each.endsWith('.md'))) {
      const { $ } = await member.open(at('blob', `main/${name}`))
      expect(linesIn($, '.lines .code').join('\n')).toBe(git('show', `main:${name}`).trimEnd())
      const blame = await member.open(at('blame', `main/${name}`))
      expect(linesIn(blame.$, '.blame .code').length).toBe(git('blame', 'main', '--', name).trimEnd().split('\n').length)
    }
    const log = await member.open(at('commits', 'main'))
    expect(linesIn(log.$, '.rows .title').sort()).toEqual(git('log', '--format=%s', 'main').trimEnd().split('\n').sort())
    for (const sha of git('log', '--format=%H', '--no-merges', 'main').trimEnd().split('\n').slice(0, 4)) {
      const { $ } = await member.open(at('commit', sha))
      const [added, removed] = git('show', '--format=', '--numstat', sha)
        .trimEnd()
        .split('\n')
        .filter((line) => !line.startsWith('-'))
        .reduce(([a, b], line) => [a + Number(line.split('\t')[0]), b + Number(line.split('\t')[1])] as [number, number], [0, 0] as [number, number])
      // files that are too large for a diff say so, and have no lines
      if ($('.flash.alert, .diff .note').length === 0) expect([$('tr.added').length, $('tr.removed').length]).toEqual([added, removed])
    }
    rmSync(folder, { recursive: true })
  }, 300_000)
})
