import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { type Opened, TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'

const t = testApp()

const MIDDLE = Array.from({ length: 20 }, (_, i) => `  line ${i} of it`).join('\n')
/** The comment begins above the lines that a diff shows. */
const source = (name: string, said: string) =>
  `/* What it is:\n${MIDDLE}\n  ${said}\n  the end */\nexport const ${name} = 'text' // ${said}\nconst other = \`a && "<b>"\`\r\nexport default 1\n`
const OLD = { 'src/code.ts': source('before', 'if this'), 'style.css': 'a { color: red }\n', 'plain.unknown': 'const a = 1\n' }
const NEW = { 'src/code.ts': source('after', 'for that'), 'style.css': 'a { color: blue }\n', 'plain.unknown': 'const b = 1\n' }

const updated = (files: object) => Object.entries(files).map(([file_path, content]) => ({ action: 'update', file_path, content }))
const commit = async (project: TestProject, who: TestUser, files: object, more: object = {}) => {
  const body = { branch: 'main', commit_message: 'Change', actions: updated(files), ...more }
  const answer = await t.api('post', `${project.path}/repository/commits`, who).send(body).expect(201)
  return { sha: answer.body.id as string, parent: answer.body.parent_ids[0] as string }
}
const aRequest = async (project: TestProject, who: TestUser) => {
  const request = { source_branch: 'topic', target_branch: 'main', title: 'Change' }
  return (await t.api('post', `${project.path}/merge_requests`, who).send(request).expect(201)).body
}

/** The coloured texts of what is found, each with its letter. */
const colored = ({ $ }: Opened, within: string) =>
  $(within)
    .find('i')
    .toArray()
    .map((i) => `${$(i).attr('class')} ${$(i).text()}`)
const removedAndAdded = (page: Opened, row: string, end = '') => [
  colored(page, `${row}.removed${end}`).filter((each) => !each.startsWith('c')),
  colored(page, `${row}.added${end}`).filter((each) => !each.startsWith('c')),
]

it('is in colour in a commit, a comparison, before and in a merge request, in both views (WB-540)', async () => {
  const who = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: OLD })
  const { sha, parent } = await commit(project, who, NEW, { branch: 'topic', start_branch: 'main' })
  const { iid } = await aRequest(project, who)
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  const at = `/${project.fullPath}/-`
  const asked = new URLSearchParams({ 'merge_request[source_branch]': 'topic', 'merge_request[target_branch]': 'main' })
  const pages = [
    `${at}/commit/${sha}`,
    `${at}/commit/${sha}?view=parallel`,
    `${at}/commit/${sha}?w=1`,
    `${at}/compare/${parent}...topic`,
    `${at}/compare/main...topic?view=parallel`,
    `${at}/merge_requests/new?${asked}`,
    `${at}/merge_requests/${iid}/diffs`,
    `${at}/merge_requests/${iid}/diffs?view=parallel`,
  ]
  for (const path of pages) {
    const page = await browser.open(path)
    const box = `.box.diff:contains("src/code.ts")`
    const [removed, added] = removedAndAdded(page, `${box} `)
    expect([path, removed, added]).toEqual([path, ['k export', 'k const', "s 'text'"], ['k export', 'k const', "s 'text'"]])
    // what is in the comment is one, although it begins before the lines that are shown
    expect([...new Set(colored(page, `${box} tr`))]).toEqual(expect.arrayContaining(['c   line 19 of it', 'c   the end */']))
    expect(page.$(`${box} i`).filter((_, i) => /\b(?:if|for)\b/.test(page.$(i).text()) && page.$(i).attr('class') !== 'c').length).toBe(0)
    // changed words are marked on top
    expect(page.$(`${box} .added mark`).text()).toContain('after')
    expect(page.$(`${box} .added mark i.c`).text()).toContain('that')
    // the text is the same, also of lines that end otherwise and with markup
    expect(page.$(`${box} .code`).filter((_, cell) => page.$(cell).text().trim() === 'const other = `a && "<b>"`').length).toBeGreaterThan(0)
    expect([page.$('.box.diff:contains("plain.unknown") i').length, page.$('.lines [class^=hljs]').length, page.$('.lines b').length]).toEqual([
      0, 0, 0,
    ])
    expect(page.$('.box.diff:contains("style.css") i').length).toBeGreaterThan(0)
  }
  const opened = await browser.open((await browser.open(pages[0] as string)).$('a[aria-label="All lines of src/code.ts"]').attr('href') as string)
  expect(opened.$('tr.context i.c').length).toBeGreaterThan(20)
})

it('is in colour in the lines of threads and in suggestions, which have their numbers (WB-540)', async () => {
  const who = await aUser(t.ctx)
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: OLD })
  await commit(project, who, NEW, { branch: 'topic', start_branch: 'main' })
  const { iid } = await aRequest(project, who)
  const path = `${project.path}/merge_requests/${iid}`
  const { diff_refs } = (await t.api('get', path, who).expect(200)).body
  const position = { ...diff_refs, position_type: 'text', new_path: 'src/code.ts', old_path: 'src/code.ts' }
  const say = (body: string, new_line: number) =>
    t
      .api('post', `${path}/discussions`, who)
      .send({ body, position: { ...position, new_line } })
      .expect(201)
  await say('Why?', 22)
  await say("```suggestion:-1+0\n  the very end */\nlet after = 'text'\n```", 24)
  const browser = new TestBrowser(t.url)
  await browser.signIn(who)
  const page = await browser.open(`/${project.fullPath}/-/merge_requests/${iid}`)
  expect(colored(page, '.diff.excerpt .added').slice(0, 1)).toEqual(['c   for that'])
  const numbers = page
    .$('.suggestion tr')
    .toArray()
    .map((row) => [page.$(row).attr('class'), ...[0, 1].map((i) => page.$(row).find('.number').eq(i).attr('data-number'))].join(' '))
  expect(numbers).toEqual(['removed 23 ', 'removed 24 ', 'added  23', 'added  24'])
  expect([colored(page, '.suggestion .removed'), colored(page, '.suggestion .added')]).toEqual([
    ['c   the end */', 'k export', 'k const', "s 'text'", 'c // for that'],
    ['c   the ', 'c very ', 'c end */', 'k let', "s 'text'"],
  ])
  expect(page.$('.suggestion .added mark').text()).toContain('very')
  // of lines that have changed since, also beside the changes
  await commit(project, who, { 'src/code.ts': 'let gone = 1\n' }, { branch: 'topic' })
  await t.ctx.jobs.drain()
  const changes = await browser.open(`/${project.fullPath}/-/merge_requests/${iid}/diffs`)
  expect(colored(changes, '.outdated .excerpt .added').slice(0, 1)).toEqual(['c   for that'])
})

it('leaves sources plain that take too long, and those of others in colour (WB-540, SEC-276)', async () => {
  const who = await aUser(t.ctx)
  const hostile = `${`${'a'.repeat(1_900)}\n`.repeat(200)}`
  const names = [0, 1, 2, 3]
  const files = (end: string) => ({
    ...Object.fromEntries(names.map((n) => [`${n}.java`, `// ${n}\n${hostile}${end}\n`])),
    'long.ts': `const a = '${'a'.repeat(2_001)}'\nconst ${end} = 1\n`,
  })
  const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: files('one') })
  const fair = await aProject(t.ctx, { creator: who, visibility: 'public', files: OLD })
  const attack = await commit(project, who, files('two'))
  const { sha } = await commit(fair, who, NEW)
  const [stranger, reader] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await reader.signIn(who)
  const attacked = stranger.open(`/${project.fullPath}/-/commit/${attack.sha}`)
  const page = await reader.open(`/${fair.fullPath}/-/commit/${sha}`)
  expect([page.status, page.$('.diff tr.added').length]).toEqual([200, 4])
  const { status, $ } = await attacked
  expect([status, $('.diff i').length, $('.diff tr.added').length]).toEqual([200, 0, 5])
  // what had no colours for want of time has them later, and is not kept as it was
  expect((await reader.open(`/${fair.fullPath}/-/commit/${sha}`)).$('.diff i').length).toBeGreaterThan(10)
})
