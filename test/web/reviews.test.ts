import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser, type TestProject, type TestUser } from '../support/factories.js'
import { aMergeRequest } from '../support/merge-requests.js'
import { bareOf } from '../support/repositories.js'

const t = testApp()

const LINES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
const text = (lines: string[]) => lines.map((line) => `${line}\n`).join('')
const changed = LINES.with(1, 'TWO')

async function signedIn(who: TestUser) {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

/** Commits files to a branch; those that a new project of these tests has are changed, others are made. */
async function commit(project: TestProject, branch: string, files: Record<string, string>, more: { start_branch?: string; message?: string } = {}) {
  const { message = 'Work', ...from } = more
  const known = new Set(['a.txt', 'b', ...(message === 'Again' ? ['sub/c'] : [])])
  const actions = Object.entries(files).map(([file_path, content]) => ({ action: known.has(file_path) ? 'update' : 'create', file_path, content }))
  await t
    .api('post', `${project.path}/repository/commits`, project.creator)
    .send({ branch, commit_message: message, actions, ...from })
    .expect(201)
  await t.ctx.jobs.drain()
}

/** A project with a merge request by a developer, which changes the second line of `a.txt`. */
async function aReview(files: Record<string, string> = { 'a.txt': text(changed) }) {
  const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'public', files: { 'a.txt': text(LINES), b: 'b\n' } })
  await commit(project, 'topic', files, { start_branch: 'main' })
  const request = await aMergeRequest(t, { project, caller: author, source: 'topic', files: null })
  await t.ctx.jobs.drain()
  const at = `/${project.fullPath}/-/merge_requests/${request.iid}`
  return { owner, author, project, request, at }
}

const push = (project: TestProject, files: Record<string, string>, message = 'More') => commit(project, 'topic', files, { message })

/** Follows the button beside a line that begins a comment. */
async function beginComment(browser: TestBrowser, at: string, line: string) {
  const $ = (await browser.open(`${at}/diffs`)).$
  const form = $('form[data-comment]').first()
  const query = new URLSearchParams(form.serializeArray().map(({ name, value }) => [name, value]))
  query.set('line', line)
  return browser.open(`${form.attr('action')?.replace(/#.*/, '')}?${query}`)
}

describe('labels of merge requests', () => {
  it('have their colours on the page, in the list, and among the merge requests of a commit', async () => {
    const { owner, project, request, at } = await aReview()
    await t.api('post', `${project.path}/labels`, owner).send({ name: 'urgent', color: '#AB12CD' }).expect(201)
    await t.api('put', `${project.path}/merge_requests/${request.iid}`, owner).send({ labels: 'urgent' }).expect(200)
    const browser = await signedIn(owner)
    for (const path of [at, `/${project.fullPath}/-/merge_requests`, `/${project.fullPath}/-/commit/topic/merge_requests`]) {
      const { $ } = await browser.open(path)
      expect([path, $('.badge.label', 'main').not('.choices *').text().trim(), $('.badge.label circle').attr('fill')]).toEqual([
        path,
        'urgent',
        '#AB12CD',
      ])
    }
  })
})

describe('the changes of a merge request', () => {
  it('list the files with marks and their threads, and open twenty lines around each change (WB-605, WB-606)', async () => {
    const [owner, author] = [await aUser(t.ctx), await aUser(t.ctx)]
    const many = Array.from({ length: 200 }, (_, i) => `line ${i + 1}`)
    const project = await aProject(t.ctx, { creator: owner, developer: author, visibility: 'public', files: { 'a.txt': text(many), b: 'b\n' } })
    await commit(project, 'topic', { 'a.txt': text(many.with(99, 'hundred')), b: 'B\n' }, { start_branch: 'main' })
    const request = await aMergeRequest(t, { project, caller: author, source: 'topic', files: null })
    await t.ctx.jobs.drain()
    const at = `/${project.fullPath}/-/merge_requests/${request.iid}`
    const browser = await signedIn(owner)
    await beginComment(browser, at, '_100')
    await browser.submit('Add comment now', { 'note[note]': 'Why?', how: 'now' })
    const listed = () =>
      browser.page
        ?.$('.tree .line')
        .toArray()
        .map((each) => browser.page?.$(each).text().replace(/\s+/g, ' ').trim())
    await browser.open(`${at}/diffs`)
    expect(listed()).toEqual([expect.stringMatching(/^not viewed a\.txt .*1 thread, 1 unresolved$/), expect.stringMatching(/^not viewed b /)])
    await browser.submit(`${at}/viewed`)
    expect(listed()?.[1]).toMatch(/^viewed b/)
    const numbers = () =>
      browser.page
        ?.$('.lines tr.context .number:nth-child(2)')
        .toArray()
        .map((each) => Number(browser.page?.$(each).attr('data-number')))
    const span = () => [Math.min(...(numbers() ?? [])), Math.max(...(numbers() ?? []))]
    await browser.open(`${at}/diffs`)
    expect(span()).toEqual([97, 103])
    expect((await browser.follow('+20 lines')).$('.lines .hunk').first().text()).toContain('@@ -77 +77 @@')
    expect([span(), browser.page?.$('.under .thread').length]).toEqual([[77, 123], 1])
    await browser.follow('+20 lines')
    expect(span()).toEqual([57, 143])
    await browser.follow('All lines')
    expect(span()).toEqual([1, 200])
    await browser.follow('Changes')
    await browser.open(`/${project.fullPath}/-/compare/main...topic`)
    await browser.follow('+20 lines')
    expect(span()).toEqual([77, 123])
  })

  it('say what came after the last review, by its commits (WB-95)', async () => {
    const { owner, at, project } = await aReview()
    const browser = await signedIn(owner)
    await browser.open(at)
    await browser.submit('Submit review', { verdict: 'comment', summary: 'Seen' })
    expect(browser.page?.$('#new_commits').length).toBe(0)
    await push(project, { 'a.txt': text(LINES.with(1, 'zwei')) }, 'Say it in German')
    const page = await browser.open(at)
    expect(
      page
        .$('#new_commits .what')
        .toArray()
        .map((each) => page.$(each).text()),
    ).toEqual(['Say it in German'])
    const since = await browser.follow('What has changed since')
    expect(since.$('.removed .code').text()).toBe('TWO')
  })
})

describe('the head of a merge request', () => {
  it('links its branches, and says how the source is checked out, from a fork too (WB-607)', async () => {
    const { owner, at, project } = await aReview()
    const page = await (await signedIn(owner)).open(at)
    const branches = (of: typeof page) =>
      of
        .$('.below a:has(.ref)')
        .toArray()
        .map((each) => [of.$(each).attr('href'), of.$(each).text()])
    expect(branches(page)).toEqual([
      [`/${project.fullPath}/-/tree/topic`, 'topic'],
      [`/${project.fullPath}/-/tree/main`, 'main'],
    ])
    expect(page.$('#check_out').text()).toBe('git fetch origin\ngit switch topic')
    const stranger = await aUser(t.ctx)
    const { body: fork } = await t.api('post', `${project.path}/fork`, stranger).expect(201)
    await t.ctx.jobs.drain()
    const from = { ...project, path: `/projects/${fork.id}`, id: fork.id, fullPath: fork.path_with_namespace, creator: stranger }
    const request = await aMergeRequest(t, { project, from, caller: stranger })
    const theirs = await (await signedIn(stranger)).open(`/${project.fullPath}/-/merge_requests/${request.iid}`)
    expect(branches(theirs)[0]).toEqual([`/${fork.path_with_namespace}/-/tree/${request.source}`, `${fork.path_with_namespace}:${request.source}`])
    expect(theirs.$('#check_out').text()).toMatch(
      new RegExp(`^git fetch http\\S+${fork.path_with_namespace}.git \\S+\\ngit switch -c \\S+ FETCH_HEAD$`),
    )
  })
})

describe('the side column of a merge request', () => {
  it('has a menu for each part, which changes that alone, for those who may (WB-602, WB-603)', async () => {
    const { owner, author, project, request, at } = await aReview()
    for (const name of ['docs', 'urgent']) await t.api('post', `${project.path}/labels`, owner).send({ name, color: '#AB12CD' }).expect(201)
    const { body: milestone } = await t.api('post', `${project.path}/milestones`, owner).send({ title: 'One' }).expect(201)
    const browser = await signedIn(owner)
    await browser.open(at)
    const token = String(browser.page?.$('[name=authenticity_token]').val())
    const change = (attribute: string, sent: Record<string, string | string[]>) =>
      browser.post(`${at}/attributes`, { authenticity_token: token, attribute, ...sent })
    const part = (name: string) => browser.page?.$(`#side_${name} > p`).text().replace(/\s+/g, ' ').trim()
    await change('labels', { 'labels[]': ['docs', 'urgent'] })
    await change('milestone', { milestone_id: String(milestone.id) })
    await change('assignee', { 'usernames[]': [owner.username] })
    await change('reviewer', { other_usernames: `@${author.username}` })
    expect([part('labels'), part('milestone'), part('assignee')]).toEqual(['docs urgent', 'One', owner.name])
    expect(part('reviewer')).toContain(author.name)
    expect(browser.page?.$('#side_labels [name="labels[]"]:checked').length).toBe(2)
    const refused = await change('assignee', { other_usernames: 'no.such.user' })
    expect([refused.status, refused.$('#side_assignee details[open]').length]).toEqual([422, 1])
    await browser.open(at)
    expect((await browser.submit('Add spent time', { duration: '1h 30m', what: 'spent' })).$('#side_time > p').text()).toBe('1h 30m spent')
    const theirs = await signedIn(author)
    await theirs.open(at)
    await theirs.submit('Submit review', { verdict: 'request_changes' })
    await browser.open(at)
    const again = await browser.submit('Ask again')
    expect(again.$('.person-state').text()).toBe('has not reviewed yet')
    const { body: todos } = await t.api('get', '/todos?action=review_requested', author).expect(200)
    expect(todos).toMatchObject([{ target: { iid: request.iid } }])
    const guest = await aUser(t.ctx)
    const visitor = await signedIn(guest)
    expect((await visitor.open(at)).$('.side-menu').length).toBe(0)
    const sent = { authenticity_token: String(visitor.page?.$('[name=authenticity_token]').val()) }
    for (const path of ['attributes', 'time', 'another_review'])
      expect([path, (await visitor.post(`${at}/${path}`, { ...sent, attribute: 'labels', what: 'reset_spent' })).status]).toEqual([path, 403])
  })
})

describe('comments on lines', () => {
  it('are written under the line, answered, changed, given emoji, resolved and deleted without scripts (WB-92, WB-93)', async () => {
    const { owner, author, at } = await aReview()
    const mine = await signedIn(owner)
    const page = await beginComment(mine, at, '_2')
    expect(page.$('tr.under #comment').length).toBe(1)
    expect((await mine.submit('Add comment now', { 'note[note]': ' ', how: 'now' })).status).toBe(422)
    expect(mine.page?.$('tr.under #comment').length).toBe(1)
    const made = await mine.submit('Add comment now', { 'note[note]': '<b>Why</b> *capitals*?', how: 'now' })
    expect([made.at, made.$('tr.under .thread .prose').text().trim(), made.$('tr.under b').length]).toEqual([
      expect.stringContaining(`${at}/diffs`),
      'Why capitals?',
      1,
    ])
    const theirs = await signedIn(author)
    const overview = await theirs.open(at)
    // the overview shows the lines that the thread is about
    expect(overview.$('.excerpt .added .code').text()).toBe('TWO')
    await theirs.follow('Reply')
    await theirs.submit('Reply', { 'note[note]': 'So be it.' })
    const edit = theirs.page?.$('a:contains("Edit")').last().attr('href')?.replace(/#.*/, '') as string
    await theirs.open(edit)
    const saved = await theirs.submit('Save comment', { 'note[note]': 'Because of the style guide.' })
    expect(saved.text).toContain('Because of the style guide.')
    const id = String(saved.$('article.note').last().attr('id')).replace('note_', '')
    await theirs.open(`${at}?react=${id}`)
    const awarded = await theirs.submit(`${at}/notes/${id}/toggle_award_emoji`, { name: 'heart' })
    expect(awarded.$(`#note_${id} [aria-pressed=true]`).text()).toContain('1')
    expect((await theirs.submit('Resolve thread')).$('.thread .badge').first().text()).toBe('resolved')
    await theirs.open(`${at}?edit_note=${id}`)
    expect((await theirs.submit('Delete comment')).text).toContain('Comment deleted.')
  })

  it('that another has changed meanwhile are not overwritten: both texts are shown (WB-91)', async () => {
    const { owner, at, request } = await aReview()
    const { body: note } = await t.api('post', `${request.path}/notes`, owner).send({ body: 'first' }).expect(201)
    const browser = await signedIn(owner)
    await browser.open(`${at}?edit_note=${note.id}`)
    await t.api('put', `${request.path}/notes/${note.id}`, owner).send({ body: 'second' }).expect(200)
    const refused = await browser.submit('Save comment', { 'note[note]': 'third' })
    expect([refused.status, refused.$(`#note_${note.id} textarea`).val(), refused.$(`#note_${note.id} pre`).text()]).toEqual([422, 'third', 'second'])
    expect((await browser.submit('Save comment', { 'note[note]': 'third' })).text).toContain('third')
  })

  it('are not offered to those who may not write, and notes of others not to be changed', async () => {
    const { owner, author, at, request } = await aReview()
    const { body: note } = await t.api('post', `${request.path}/notes`, owner).send({ body: 'mine' }).expect(201)
    const theirs = await signedIn(author)
    expect((await theirs.open(at)).$('article a:contains("Edit")').length).toBe(0)
    expect((await theirs.open(`${at}?edit_note=${note.id}`)).$('button:contains("Save comment")').length).toBe(0)
    const token = String(theirs.page?.$('[name=authenticity_token]').val())
    for (const method of ['put', 'delete'])
      expect((await theirs.post(`${at}/notes/${note.id}`, { _method: method, authenticity_token: token, 'note[note]': 'x' })).status).toBe(403)
    const visitor = await new TestBrowser(t.url).open(`${at}/diffs`)
    expect(visitor.at).toContain('/users/sign_in')
  })

  it('about a file as a whole stand above its lines, and those of an earlier version show what they were about (WB-93)', async () => {
    const { owner, at, project } = await aReview()
    const browser = await signedIn(owner)
    await beginComment(browser, at, 'file')
    await browser.submit('Add comment now', { 'note[note]': 'Is this file needed?', how: 'now' })
    await beginComment(browser, at, '_2')
    const made = await browser.submit('Add comment now', { 'note[note]': 'About the second line', how: 'now' })
    expect([made.$('.diff > details > .thread').text(), made.$('tr.under .thread').length]).toEqual([
      expect.stringContaining('Is this file needed?'),
      1,
    ])
    // the line moves: the thread moves with it
    await push(project, { 'a.txt': text(['zero', ...changed]) })
    const moved = await browser.open(`${at}/diffs`)
    expect(moved.$('tr.under').prev().find('.code').text()).toBe('TWO')
    // the line is gone: the thread shows what it was about
    await push(project, { 'a.txt': text(LINES.with(1, 'deux')) })
    const outdated = await browser.open(`${at}/diffs`)
    expect([outdated.$('tr.under').length, outdated.$('.outdated .excerpt .added').text(), outdated.$('.outdated').text()]).toEqual([
      0,
      'TWO',
      expect.stringContaining('About the second line'),
    ])
    const id = String(outdated.$('.outdated .thread').attr('id'))
    const then = await browser.open(`${at}/discussions/${id.replace('discussion_', '')}`)
    expect([then.at, then.$('tr.under .thread').attr('id')]).toEqual([expect.stringContaining('diff_id='), id])
  })

  it('that answer a thread which is gone stand in the form of a new comment (WB-6)', async () => {
    const { owner, at, request } = await aReview()
    await t.api('post', `${request.path}/discussions`, owner).send({ body: 'A thread' }).expect(201)
    const browser = await signedIn(owner)
    await browser.open(at)
    const action = (await browser.follow('Reply')).$('form[action*="/discussions/"][action$="/notes"]').attr('action') as string
    const token = String(browser.page?.$('[name=authenticity_token]').first().val())
    const gone = action.replace(/[0-9a-f]{40}/, '0'.repeat(40))
    const refused = await browser.post(gone, { authenticity_token: token, 'note[note]': 'An answer', how: 'none' })
    expect([refused.status, refused.$(`form[action="${at}/notes"] textarea`).val()]).toEqual([422, 'An answer'])
  })

  it('sent twice are written once (WB-90)', async () => {
    const { owner, at, request } = await aReview()
    const browser = await signedIn(owner)
    const { $ } = await browser.open(at)
    const form = $(`form[action="${at}/notes"]`)
    const fields = Object.fromEntries(form.serializeArray().map(({ name, value }) => [name, value]))
    const sent = await Promise.all([1, 2].map(() => browser.post(`${at}/notes`, { ...fields, 'note[note]': 'Once' })))
    expect(sent.map(({ status }) => status)).toEqual([200, 200])
    const { body } = await t.api('get', `${request.path}/notes?activity_filter=only_comments`, owner).expect(200)
    expect(body).toHaveLength(1)
  })
})

describe('a review', () => {
  it('is kept to its author, sent at once with an approval, and lands on the version that it was written for (WB-96, WB-97, WB-98)', async () => {
    const { owner, author, at, project, request } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, '_2')
    expect((await mine.submit('Add to review', { 'note[note]': 'A <script>first</script> remark', how: 'review' })).$('.draft').length).toBe(1)
    await beginComment(mine, at, '2_')
    await mine.submit('Add to review', { 'note[note]': 'A second remark', how: 'review' })
    const theirs = await signedIn(author)
    for (const path of [at, `${at}/diffs`]) expect((await theirs.open(path)).text).not.toContain('remark')
    expect(
      (await t.api('get', `${request.path}/discussions`, author).expect(200)).body.flatMap(({ notes }: { notes: { system: boolean }[] }) =>
        notes.filter(({ system }) => !system),
      ),
    ).toEqual([])
    const { body: version } = await t.api('get', `${request.path}/versions`, owner).expect(200)
    await push(project, { 'a.txt': text(LINES.with(1, 'deux')) })
    const overview = await mine.open(at)
    expect([overview.$('#review .draft').length, overview.$('#review script').length]).toEqual([2, 0])
    const sha = String(overview.$('#review [name=sha]').val())
    const draft = String(overview.$('.draft').last().attr('id')).replace('draft_', '')
    await mine.open(`${at}?edit_draft=${draft}`)
    expect((await mine.submit(`${at}/drafts/${draft}`, { 'note[note]': 'A better remark' })).text).toContain('A better remark')
    // what was not seen is not approved, and then nothing is sent
    const stale = await mine.submit('Submit review', { verdict: 'approve', sha: version[0].head_commit_sha })
    expect([stale.status, stale.$('#review .draft').length]).toEqual([422, 2])
    const sent = await mine.submit('Submit review', { verdict: 'approve', summary: 'Nearly there', sha })
    expect([sent.text.includes('merge request approved'), sent.$('#review .draft').length, sent.text.includes('Nearly there')]).toEqual([
      true,
      0,
      true,
    ])
    const { body } = await t.api('get', `${request.path}/discussions`, author).expect(200)
    const threads = body.filter(({ notes }: { notes: { type: string }[] }) => notes[0]?.type === 'DiffNote')
    expect(
      threads.map(({ notes: [{ body: said, position }] }: { notes: [{ body: string; position: { head_sha: string } }] }) => [
        said,
        position.head_sha,
      ]),
    ).toEqual([
      ['A <script>first</script> remark', version[0].head_commit_sha],
      ['A better remark', version[0].head_commit_sha],
    ])
  })

  it('has replies that resolve their thread, and is discarded as a whole', async () => {
    const { owner, author, at, request } = await aReview()
    const { body } = await t.api('post', `${request.path}/discussions`, author).send({ body: 'A question' }).expect(201)
    const browser = await signedIn(owner)
    await browser.open(at)
    await browser.follow('Reply')
    await browser.submit(`${at}/discussions/${body.id}/notes`, { 'note[note]': 'An answer', how: 'review', resolve: 'true' })
    expect(browser.page?.text).not.toContain('1 comment, resolved')
    expect((await browser.submit('Submit review')).text).toContain('Review submitted.')
    expect(browser.page?.$('.thread .badge').text()).toBe('resolved')
    await beginComment(browser, at, '_2')
    await browser.submit('Add to review', { 'note[note]': 'No', how: 'review' })
    await browser.open(at)
    expect((await browser.submit('Discard review')).$('#review .draft').length).toBe(0)
  })

  it('is submitted with a verdict, also alone, which stands beside its author and in the merge box until it is withdrawn (WB-600, WB-601)', async () => {
    const { owner, author, at, request } = await aReview()
    await t
      .api('put', request.path, author)
      .send({ reviewer_ids: [owner.id] })
      .expect(200)
    const mine = await signedIn(owner)
    const states = () =>
      mine.page
        ?.$('aside .person-state')
        .toArray()
        .map((each) => mine.page?.$(each).text())
    await mine.open(at)
    expect([states(), mine.page?.$('#review[open]').length]).toEqual([['has not reviewed yet'], 0])
    const empty = await mine.submit('Submit review', { verdict: 'comment' })
    expect([empty.status, empty.$('#review[open] .fault').text()]).toEqual([422, expect.stringContaining('Summary')])
    await mine.submit('Submit review', { verdict: 'comment', summary: 'I have looked.' })
    expect(states()).toEqual(['reviewed'])
    await mine.submit('Submit review', { verdict: 'request_changes' })
    expect(states()).toEqual(['requested changes'])
    expect(mine.page?.$('#merge .checks').text()).toContain(`${owner.name} requested changes.`)
    expect(mine.page?.$('#merge button:contains("Merge anyway")').length).toBe(1)
    await mine.submit('Withdraw request for changes')
    expect([states(), mine.page?.$('#merge .checks').text().includes('requested changes')]).toEqual([['reviewed'], false])
    await mine.submit('Submit review', { verdict: 'approve' })
    expect(states()).toEqual(['approved'])
    const guest = await aUser(t.ctx)
    const theirs = await signedIn(guest)
    const page = await theirs.open(at)
    expect(page.$('#review [type=radio]').length).toBe(0)
    const sent = { authenticity_token: String(page.$('[name=authenticity_token]').val()), verdict: 'approve' }
    expect((await theirs.post(`${at}/drafts/publish`, sent)).status).toBe(403)
  })
})

describe('suggestions', () => {
  it('show the lines that they change, and are applied as one commit by those who may push (WB-100, WB-101)', async () => {
    const { owner, author, at, project, request } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, '_2')
    const suggested = await mine.submit('Suggest a change', { 'note[note]': '', show: 'suggestion' })
    expect(suggested.$('#comment textarea').val()).toBe('```suggestion:-0+0\nTWO\n```\n')
    const following = await mine.submit('Suggest a change', { 'note[note]': 'Better:\n', show: 'suggestion' })
    expect(following.$('#comment textarea').val()).toBe('Better:\n\n```suggestion:-0+0\nTWO\n```\n')
    await mine.submit('Add comment now', { 'note[note]': 'Better:\n\n```suggestion:-1+0\n1\n2 <b>\n```\n\nor so', how: 'now' })
    await beginComment(mine, at, '3_3')
    await mine.submit('Add comment now', { 'note[note]': '```suggestion\n3\n```', how: 'now' })
    const reader = await signedIn(await aUser(t.ctx))
    const read = await reader.open(at)
    expect([read.$('.suggestion').length, read.$('.suggestion button').length, read.$('.suggestion b').length]).toEqual([2, 0, 0])
    const theirs = await signedIn(author)
    const { $: shown } = await theirs.open(at)
    const lines = (kind: string) =>
      shown('.suggestion')
        .first()
        .find(`.${kind} .code`)
        .toArray()
        .map((each) => shown(each).text())
    expect([lines('removed'), lines('added')]).toEqual([
      ['one', 'TWO'],
      ['1', '2 <b>'],
    ])
    const ids = shown('[name="ids[]"][type=checkbox]')
      .toArray()
      .map((each) => String(shown(each).val()))
    const applied = await theirs.submit('Apply selected suggestions', { 'ids[]': ids })
    expect(applied.text).toMatch(/Applied as commit [0-9a-f]{8}\./)
    await t.ctx.jobs.drain()
    const { body: file } = await t.api('get', `${project.path}/repository/files/a.txt?ref=topic`, owner).expect(200)
    expect(Buffer.from(file.content, 'base64').toString()).toBe(text(['1', '2 <b>', '3', ...LINES.slice(3)]))
    const { body: commit } = await t.api('get', `${project.path}/repository/commits/topic`, owner).expect(200)
    expect(commit).toMatchObject({ title: 'Apply 2 suggestion(s) to 1 file(s)', author_name: expect.anything() })
    const after = await theirs.open(at)
    expect([after.$('.suggestion .badge').text(), after.$('.suggestion button').length]).toEqual(['appliedapplied', 0])
    expect((await t.api('get', request.path, owner).expect(200)).body.blocking_discussions_resolved).toBe(true)
  })

  it('show hidden characters by their code, with a notice (WB-395)', async () => {
    const { owner, at } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, '_2')
    await mine.submit('Add comment now', { 'note[note]': '```suggestion\nif (a\u202e)\n```', how: 'now' })
    const { $ } = await mine.open(at)
    expect([$('.suggestion .hidden-character').attr('data-code'), $('.suggestion .hidden-notice').length]).toEqual(['U+202E', 1])
  })

  it('are refused once their lines have changed, and to those who may not push (WB-102)', async () => {
    const { owner, author, at, project } = await aReview()
    const mine = await signedIn(owner)
    await beginComment(mine, at, '_2')
    await mine.submit('Add comment now', { 'note[note]': '```suggestion\n2\n```', how: 'now' })
    const theirs = await signedIn(author)
    await theirs.open(at)
    await push(project, { 'a.txt': text(LINES.with(1, 'deux')) })
    const refused = await theirs.submit('Apply suggestion')
    expect([refused.status, refused.text.includes('have changed since the suggestion was made')]).toEqual([422, true])
    const stranger = await signedIn(await aUser(t.ctx))
    await stranger.open(at)
    const ids = String(theirs.page?.$('[name="ids[]"]').first().val())
    const token = String(stranger.page?.$('[name=authenticity_token]').val())
    expect((await stranger.post(`${at}/suggestions`, { 'ids[]': [ids], authenticity_token: token })).status).toBe(403)
  })
})

describe('changes', () => {
  it('are compared between versions, read commit by commit, and marked as viewed until they change (WB-94, WB-95)', async () => {
    const { owner, at, project } = await aReview({ 'a.txt': text(changed), 'sub/c': 'c\n' })
    const browser = await signedIn(owner)
    const first = await browser.open(`${at}/diffs`)
    expect(
      first
        .$('.tree a')
        .toArray()
        .map((each) => first.$(each).text()),
    ).toEqual(['a.txt', 'c'])
    await t.ctx.jobs.drain()
    const viewed = await browser.submit(`${at}/viewed`)
    expect(viewed.$('.diff > details[open]').length).toBe(1)
    await push(project, { b: 'B\n' }, 'Third <i>file</i>')
    const second = await browser.open(`${at}/diffs`)
    expect([second.text.includes('There are new commits since your last look.'), second.$('.diff > details[open]').length]).toEqual([true, 2])
    const since = await browser.open(second.$('#new_commits .head a').attr('href') as string)
    expect(
      since
        .$('.diff')
        .toArray()
        .map((each) => since.$(each).find('summary').text().trim()),
    ).toEqual(['b'])
    await t.ctx.jobs.drain()
    expect((await browser.open(`${at}/diffs`)).text).not.toContain('There are new commits')
    const commits = await browser.open(`${at}/commits`)
    const one = await browser.open(
      commits
        .$('a:contains("Changes")')
        .filter((_, each) => (commits.$(each).attr('href') ?? '').includes('commit_id'))
        .first()
        .attr('href') as string,
    )
    expect([one.text.includes('Third <i>file</i>'), one.$('main i').length, one.$('.diff').length, one.$('button.remark').length]).toEqual([
      true,
      0,
      1,
      1,
    ])
    // the mark goes when the change is another one
    await push(project, { 'a.txt': text(LINES.with(1, 'deux')), 'sub/c': 'd\n' }, 'Again')
    expect((await browser.open(`${at}/diffs`)).$('.diff > details:not([open])').length).toBe(0)
    expect((await browser.open(`${at}/diffs?diff_id=999999`)).status).toBe(404)
    expect((await browser.open(`${at}/diffs?view=parallel&w=1`)).$('table.parallel').length).toBe(3)
  })

  it('of many files and lines are shown in parts (WB-93)', async () => {
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`many/${String(i).padStart(3, '0')}`, `${i}\n`]))
    const { owner, at } = await aReview({ ...many, big: 'x\n'.repeat(4_000) })
    const browser = await signedIn(owner)
    const page = await browser.open(`${at}/diffs`)
    expect([page.$('.diff').length, page.$('.tree a').length, page.text.includes('4003 lines are not shown here.')]).toEqual([50, 121, true])
    const shown = await browser.open(page.$('a:contains("Show them")').attr('href') as string)
    expect([shown.$('.diff').length, shown.$('tr.added').length]).toEqual([1, 4_000])
    expect((await browser.open(`${at}/diffs?page=3`)).$('.diff').length).toBe(21)
  })
})

describe('the merge box', () => {
  it('says what stands in the way, merges with the messages that were typed, and offers what comes afterwards (WB-103, WB-104, WB-105, WB-106)', async () => {
    const { owner, author, at, project, request } = await aReview()
    await t.api('put', request.path, owner).send({ title: 'Draft: Change it' }).expect(200)
    await t.api('put', project.path, owner).send({ only_allow_merge_if_all_discussions_are_resolved: true }).expect(200)
    const { body: thread } = await t.api('post', `${request.path}/discussions`, owner).send({ body: 'Why?' }).expect(201)
    const theirs = await signedIn(author)
    const draft = await theirs.open(at)
    for (const said of ['This cannot be merged yet', 'This is a draft.', 'One thread is not resolved.', 'You may not merge into main'])
      expect(draft.text).toContain(said)
    expect((await theirs.submit('Mark as ready')).text).toContain('The merge request is ready.')
    await t.api('put', `${request.path}/discussions/${thread.id}?resolved=true`, owner).expect(200)
    const mine = await signedIn(owner)
    const ready = await mine.open(at)
    expect([ready.$('#merge h2').text(), ready.$('[name=commit_message]').val()]).toEqual([
      'This can be merged',
      expect.stringContaining("Merge branch 'topic' into 'main'"),
    ])
    expect((await mine.open(`${at}/widget`)).$('#merge h2').text()).toBe('This can be merged')
    await mine.open(at)
    const merged = await mine.submit('Merge', { squash: '1', squash_commit_message: 'One <b>commit</b>', commit_message: 'The merge' })
    expect(merged.text).toContain('Merged.')
    const { body: head } = await t.api('get', `${project.path}/repository/commits/main`, owner).expect(200)
    expect(head.message).toBe('The merge')
    expect((await mine.submit('Delete branch')).text).toContain('The branch topic is deleted.')
    expect((await mine.submit('Restore branch')).text).toContain('The branch topic is there again.')
    const revert = await mine.submit('Revert')
    expect([revert.at, revert.$('#merge_request_title').val()]).toEqual([expect.stringContaining('/-/merge_requests/new?'), 'Revert "Change it"'])
    await mine.submit('Create merge request')
    expect(mine.page?.at).toBe(`/${project.fullPath}/-/merge_requests/2`)
    expect((await theirs.open(at)).$('button:contains("Revert")').length).toBe(1)
  })

  it('waits for a pipeline, and stops waiting', async () => {
    const { owner, at, project, request } = await aReview()
    const { body } = await t.api('get', request.path, owner).expect(200)
    await t.api('post', `${project.path}/statuses/${body.sha}`, owner).send({ state: 'running', name: 'ci', ref: 'topic' }).expect(201)
    await t.ctx.jobs.drain()
    const browser = await signedIn(owner)
    await browser.open(at)
    const waiting = await browser.submit('Merge when pipeline succeeds', { merge_when_pipeline_succeeds: 'true' })
    expect(waiting.text).toContain('This is merged when its pipeline succeeds')
    expect((await browser.submit('Cancel automatic merge')).text).toContain('Automatic merge canceled.')
  })

  it('ticks tasks (WB-107)', async () => {
    const { owner, at, request } = await aReview()
    await t.api('put', request.path, owner).send({ description: '- [ ] first\n- [ ] second' }).expect(200)
    const browser = await signedIn(owner)
    await browser.open(at)
    await browser.submit(`${at}/tasks`, { task: '1:1' })
    expect((await t.api('get', request.path, owner).expect(200)).body.description).toBe('- [ ] first\n- [x] second')
  })
})

describe('conflicts', () => {
  it('are resolved by taking a side or editing the text, unless a branch has moved (WB-110, WB-383)', async () => {
    const { owner, author, at, project, request } = await aReview({ 'a.txt': text(changed), b: 'B1\n', 'new <b>.txt': 'kept\n' })
    await commit(project, 'main', { 'a.txt': text(LINES.with(1, 'deux').with(7, 'huit')), b: 'B2\n' })
    await t.api('get', request.path, owner).expect(200)
    await t.ctx.jobs.drain()
    const browser = await signedIn(author)
    expect((await browser.open(at)).text).toContain('There are conflicts with main.')
    const page = await browser.open(`${at}/conflicts`)
    expect(page.$('.conflict .head code').text()).toBe('a.txtb')
    expect(page.$('.conflict').first().find('label').text()).toContain('with the lines of topic where both have changed the same')
    expect(page.$('.conflict textarea').first().val()).toMatch(/^<<<<<<< topic$[\s\S]*^>>>>>>> main$/m)
    const edited = { 'files[f0][take]': 'our_lines', 'files[f1][take]': 'edit', 'files[f1][content]': 'B <both>\r\n' }
    const marked = await browser.submit('Commit to topic', { ...edited, 'files[f1][content]': '<<<<<<< topic\nB' })
    expect([marked.status, marked.text.includes('still has marks of a conflict in b')]).toEqual([422, true])
    await commit(project, 'topic', { another: 'x\n' })
    expect((await browser.submit('Commit to topic', edited)).text).toContain('The branches have changed since this page was opened')
    const done = await browser.submit('Commit to topic', edited)
    expect(done.text).toContain('Conflicts resolved.')
    const contentOf = async (path: string) =>
      Buffer.from((await t.api('get', `${project.path}/repository/files/${path}?ref=topic`, owner).expect(200)).body.content, 'base64').toString()
    expect([await contentOf('a.txt'), await contentOf('b')]).toEqual([text(changed.with(7, 'huit')), 'B <both>\n'])
    await t.ctx.jobs.drain()
    await t.api('get', request.path, owner).expect(200)
    await t.ctx.jobs.drain()
    expect((await browser.open(at)).text).toContain('There are no conflicts with main.')
    const stranger = await signedIn(await aUser(t.ctx))
    expect((await stranger.open(`${at}/conflicts`)).text).toContain('You cannot resolve conflicts here')
    const authenticity_token = String(stranger.page?.$('[name=authenticity_token]').first().val())
    const sent = { authenticity_token, head: 'a', start: 'b', message: 'c', 'files[f0][path]': 'b', 'files[f0][take]': 'ours' }
    const answer = await stranger.post(`${at}/resolve_conflicts`, sent)
    expect([answer.status, answer.text.includes('resolved')]).toEqual([403, false])
  })

  it('of files that hold marks, have no last line break, or are no text are resolved to the byte (WB-110)', async () => {
    const owner = await aUser(t.ctx)
    const mark = '<<<<<<< topic\n'
    const binary = (text: string) => Buffer.from(`\0${text}`)
    const names = ['added', 'binary', 'deleted', 'edited', 'lines', 'lines-marked', 'whole', 'zero']
    const base = Object.fromEntries(
      names
        .filter((name) => name !== 'added')
        .map((name) => [name, name === 'binary' ? binary('0') : name === 'deleted' ? 'another text\n'.repeat(9) : `${mark}0\nend\n`]),
    )
    const project = await aProject(t.ctx, { creator: owner })
    const bare = bareOf(t, project)
    bare.commits({ files: base })
    const parent = bare.git('rev-parse', 'main').trim()
    const of = (side: string): Record<string, string | Buffer | null> => ({
      added: `${mark}${side}`,
      binary: binary(side),
      deleted: side === 'topic' ? null : `${'another text\n'.repeat(9)}${side}\n`,
      edited: `${mark}${side}\nend\n`,
      lines: `${side}\r\nend`,
      'lines-marked': `${mark}${side}\nend\n${side === 'main' ? 'more\n' : ''}`,
      whole: `${side}`,
      zero: `${mark}${side}\nend\n${side === 'main' ? 'more\n' : ''}`,
    })
    bare.commits({ branch: 'topic', parents: [parent], files: of('topic') }, { branch: 'main', files: of('main') })
    const { body } = await t
      .api('post', `${project.path}/merge_requests`, owner)
      .send({ source_branch: 'topic', target_branch: 'main', title: 'x' })
      .expect(201)
    const browser = await signedIn(owner)
    const page = await browser.open(`/${project.fullPath}/-/merge_requests/${body.iid}/conflicts`)
    expect(
      page
        .$('.conflict .head code')
        .toArray()
        .map((code) => page.$(code).text()),
    ).toEqual(names)
    const labels = (i: number) => page.$('.conflict').eq(i).find('label').text()
    expect([labels(1), labels(2)]).toEqual([
      'Use the whole file of topicUse the whole file of main',
      'Delete the file, as topic doesUse the whole file of main',
    ])
    const takes = ['theirs', 'ours', 'ours', 'edit', 'our_lines', 'our_lines', 'ours', 'their_lines']
    const sent = Object.fromEntries(takes.map((take, i) => [`files[f${i}][take]`, take]))
    const done = await browser.submit('Commit to topic', { ...sent, 'files[f3][content]': `${mark}both\nend` })
    expect(done.text).toContain('Conflicts resolved.')
    const show = (name: string) => bare.gitBytes(['show', `topic:${name}`])
    expect(Object.fromEntries(names.filter((name) => name !== 'deleted').map((name) => [name, show(name).toString()]))).toEqual({
      added: `${mark}main`,
      binary: '\0topic',
      edited: `${mark}both\nend`,
      lines: 'topic\r\nend',
      'lines-marked': `${mark}topic\nend\nmore\n`,
      whole: 'topic',
      zero: `${mark}main\nend\nmore\n`,
    })
    expect(bare.git('ls-tree', 'topic', 'deleted')).toBe('')
  })

  it('are none where nothing is in common: the page offers a rebase, and a merge by name (MR-93)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    bareOf(t, project).commits({ branch: 'alone', parents: [], files: { b: 'b\n' } })
    const { path } = await aMergeRequest(t, { project, source: 'alone', files: null })
    const at = `/${project.fullPath}/-/merge_requests/${path.split('/').at(-1)}`
    const browser = await signedIn(owner)
    const page = await browser.open(at)
    expect(page.text).toContain('alone and main have no common history')
    expect(page.text).not.toContain('There are conflicts')
    expect(page.$('pre.plain').text()).toContain('git merge --allow-unrelated-histories origin/main\n')
    expect([(await browser.open(`${at}/conflicts`)).status, (await browser.open(`${at}/diffs`)).text.includes('1 file changed')]).toEqual([409, true])
    await browser.open(at)
    await browser.submit('Rebase')
    await t.ctx.jobs.drain()
    await t.api('get', path, owner).expect(200)
    await t.ctx.jobs.drain()
    expect((await browser.open(at)).text).toContain('There are no conflicts with main.')
  })

  it('with a fork are resolved in the fork by those who may push there, and others read the commands (WB-331)', async () => {
    const [owner, forker] = [await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { 'a.txt': text(LINES), b: 'b\n' } })
    const { id, path_with_namespace: fullPath } = (await t.api('post', `${project.path}/fork`, forker).expect(201)).body
    await t.ctx.jobs.drain()
    const fork: TestProject = { id, path: `/projects/${id}`, fullPath, creator: forker }
    await commit(fork, 'topic', { 'a.txt': text(changed) }, { start_branch: 'main' })
    const request = { source_branch: 'topic', target_branch: 'main', target_project_id: project.id, title: 'From a fork' }
    await t.api('post', `${fork.path}/merge_requests`, forker).send(request).expect(201)
    await commit(project, 'main', { 'a.txt': text(LINES.with(1, 'deux')) })
    await t.api('get', `${project.path}/merge_requests/1`, forker).expect(200)
    await t.ctx.jobs.drain()
    const at = `/${project.fullPath}/-/merge_requests/1`
    const other = await signedIn(owner)
    const refused = await other.open(`${at}/conflicts`)
    expect([refused.status, refused.$('form[action$=resolve_conflicts]').length]).toEqual([200, 0])
    expect(refused.text).toContain('you may not push to topic of the source project')
    expect(refused.$('pre.plain').text()).toContain(`git fetch http://roost.test/${project.fullPath}.git main\ngit merge FETCH_HEAD\n`)
    const browser = await signedIn(forker)
    expect((await browser.open(at)).$(`a[href="${at}/conflicts"]`).text()).toBe('Resolve conflicts')
    await browser.open(`${at}/conflicts`)
    // nothing of the target is in the fork before
    const start = (await t.api('get', `${project.path}/repository/branches/main`, owner).expect(200)).body.commit.id
    await t.api('get', `${fork.path}/repository/commits/${start}`, forker).expect(404)
    const edited = { 'files[f0][take]': 'edit', 'files[f0][content]': text(LINES.with(1, 'TWO deux')) }
    await commit(fork, 'topic', { more: 'x\n' })
    expect((await browser.submit('Commit to topic', edited)).text).toContain('The branches have changed since this page was opened')
    expect((await browser.submit('Commit to topic', edited)).text).toContain('Conflicts resolved.')
    await t.ctx.jobs.drain()
    const { body: head } = await t.api('get', `${fork.path}/repository/branches/topic`, forker).expect(200)
    expect(head.commit.parent_ids[1]).toBe(start)
    const { body } = await t.api('get', `${fork.path}/repository/files/a.txt?ref=topic`, forker).expect(200)
    expect(Buffer.from(body.content, 'base64').toString()).toBe(text(LINES.with(1, 'TWO deux')))
    await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)
    await t.ctx.jobs.drain()
    expect((await browser.open(at)).text).toContain('There are no conflicts with main.')
    // and without the code of the target there is nothing to resolve
    await t.api('put', project.path, owner).send({ repository_access_level: 'private' }).expect(200)
    expect((await browser.open(`${at}/conflicts`)).status).not.toBe(500)
  })
})

describe('several people', () => {
  it('are chosen in the menu, shown in a row in lists, and each reviewer is asked anew alone (WB-760 to WB-762)', async () => {
    const { owner, author, project, request, at } = await aReview()
    const others = await Promise.all(['Ada', 'Bob', 'Cy', 'Dee'].map((name) => aUser(t.ctx, { name })))
    for (const { id } of others) await t.api('post', `${project.path}/members`, owner).send({ user_id: id, access_level: 30 }).expect(201)
    const browser = await signedIn(owner)
    const page = await browser.open(at)
    const token = String(page.$('[name=authenticity_token]').val())
    const boxes = () => browser.page?.$('#side_assignee [name="usernames[]"]').toArray() ?? []
    const values = () => boxes().map((box) => browser.page?.$(box).val())
    expect([values()[0], values()]).toEqual([owner.username, expect.arrayContaining(others.map(({ username }) => username))])
    const change = (attribute: string, sent: Record<string, string | string[]>) =>
      browser.post(`${at}/attributes`, { authenticity_token: token, attribute, ...sent })
    const chosen = [...others].reverse().map(({ username }) => username)
    await change('assignee', { 'usernames[]': chosen, other_usernames: ` @${author.username}, ` })
    expect(values().slice(0, 5)).toEqual([...chosen, author.username])
    expect(browser.page?.$('#side_assignee > p a').length).toBe(5)
    const wrong = await change('assignee', { other_usernames: `${owner.username} no.such.user` })
    expect([wrong.status, wrong.text.includes('has no.such.user, which is not the name of a user')]).toEqual([422, true])
    const list = await browser.open(`/${project.fullPath}/-/merge_requests`)
    expect([list.$('.faces .avatar').length, list.$('.faces .dim').text(), list.$('.faces').attr('title')]).toEqual([
      3,
      '+2',
      `Assigned to Dee, Cy, Bob, Ada, ${author.name}`,
    ])
    await browser.open(at)
    await change('assignee', {})
    expect(browser.page?.$('#side_assignee > p').text()).toBe('none')
    await change('reviewer', { 'usernames[]': [author.username, ...chosen.slice(0, 1)] })
    for (const who of [author, others[3] as TestUser])
      await t.api('post', `${request.path}/draft_notes/bulk_publish`, who).send({ note: 'No.', reviewer_state: 'requested_changes' }).expect(204)
    expect((await browser.open(at)).$('#side_reviewer form.action button').length).toBe(2)
    const asked = await browser.submit('Ask again')
    expect(
      asked
        .$('#side_reviewer .person-state')
        .toArray()
        .map((one) => asked.$(one).text()),
    ).toEqual(['has not reviewed yet', 'requested changes'])
    const refused = await browser.post(`${at}/another_review`, { authenticity_token: token, reviewer_id: String(owner.id) })
    expect(refused.status).toBe(422)
  })
})

describe('new merge requests', () => {
  it('show what they would merge, take a template and all attributes, and are edited (WB-108, WB-109)', async () => {
    const [owner, reviewer] = [await aUser(t.ctx), await aUser(t.ctx)]
    const files = { 'a.txt': text(LINES), '.gitlab/merge_request_templates/Default.md': 'Why: <b>\n' }
    const project = await aProject(t.ctx, { creator: owner, developer: reviewer, visibility: 'public', files })
    await t.api('post', `${project.path}/labels`, owner).send({ name: 'bug', color: '#ff0000' }).expect(201)
    await commit(project, 'feature/x', { 'a.txt': text(changed) }, { start_branch: 'main', message: 'Two <i>capitals</i>\n\nbody' })
    const browser = await signedIn(owner)
    const at = `/${project.fullPath}/-/merge_requests`
    expect((await browser.open(`${at}/new`)).$('button:contains("Continue")').length).toBe(1)
    expect((await browser.open(`${at}/new?merge_request[source_branch]=no`)).text).toContain('There is no branch no.')
    const page = await browser.open(`${at}/new?merge_request%5Bsource_branch%5D=feature%2Fx`)
    expect([page.$('#merge_request_title').val(), page.$('#merge_request_description').val(), page.$('.diff .added .code').text()]).toEqual([
      'Two <i>capitals</i>',
      'Why: <b>\n',
      'TWO',
    ])
    const made = await browser.submit('Create merge request', {
      'merge_request[draft]': '1',
      'merge_request[reviewer_username]': reviewer.username,
      'merge_request[labels][]': ['bug'],
      'merge_request[force_remove_source_branch]': '1',
    })
    const { body } = await t.api('get', `${project.path}/merge_requests/1`, owner).expect(200)
    expect([made.at, body]).toEqual([
      `${at}/1`,
      expect.objectContaining({
        draft: true,
        labels: ['bug'],
        force_remove_source_branch: true,
        reviewers: [expect.objectContaining({ id: reviewer.id })],
      }),
    ])
    await browser.open(`${at}/1/edit`)
    await t.api('put', `${project.path}/merge_requests/1`, owner).send({ title: 'Another title' }).expect(200)
    expect((await browser.submit('Save changes', { 'merge_request[title]': 'Mine' })).text).toContain('Somebody else has saved this meanwhile')
    expect((await browser.submit('Save changes', { 'merge_request[title]': 'Mine' })).$('h1').text()).toContain('Mine')
    const listed = await browser.open(`${at}?labels=bug&draft=true`)
    expect(listed.$('.rows .title').text()).toContain('Mine')
    expect((await browser.submit('Change merge requests', { 'iids[]': ['1'], 'update[state_event]': 'close' })).text).toContain(
      '1 merge request is changed.',
    )
    expect((await browser.open(`${at}?state=closed`)).$('.rows .title').length).toBe(1)
  })
})

describe('what a merge request costs', () => {
  it('is the same number of statements, however many notes it has (WB-260)', async () => {
    const { owner, at, request } = await aReview({ 'a.txt': text(changed), ...Object.fromEntries([...Array(20)].map((_, i) => [`n${i}`, 'new\n'])) })
    const browser = await signedIn(owner)
    const { body: full } = await t.api('get', request.path, owner).expect(200)
    const note = (i: number) =>
      t
        .api('post', `${request.path}/discussions`, owner)
        .send({
          body: `Note ${i} about !1 and @${owner.username}`,
          position: { ...full.diff_refs, position_type: 'text', new_path: `n${i % 20}`, old_path: `n${i % 20}`, new_line: 1 },
        })
        .expect(201)
    const costs = async () => {
      await t.ctx.jobs.drain()
      const numbers: Record<string, number> = {}
      for (const path of ['', '/diffs', '/commits']) {
        await browser.open(at + path)
        numbers[path] = (await t.queriesOf(() => browser.open(at + path))).length
      }
      return numbers
    }
    await note(0)
    const few = await costs()
    for (let i = 1; i < 30; i++) await note(i)
    expect(await costs()).toEqual(few)
    expect(few['']).toBeLessThanOrEqual(30)
  })
})

describe('the editor of answers', () => {
  it('previews and takes files in replies, comments on lines, drafts and changes (WB-333, WB-382)', async () => {
    const { owner, at } = await aReview()
    const browser = await signedIn(owner)
    const evil = '**bold** <img src=x onerror=alert(1)>'
    const preview = async (button: string, field = 'note[note]') => {
      const page = await browser.submit(button, { 'note[note]': evil, preview: field })
      const editor = page.$('.editor:has(.preview)')
      expect([button, editor.length, editor.find('strong').text(), editor.find('[onerror]').length]).toEqual([button, 1, 'bold', 0])
      expect(editor.find('textarea').val()).toBe(evil)
      // the other fields of this name have nothing of it
      expect(page.$('textarea').filter((_, each) => page.$(each).val() === evil).length).toBe(1)
      return page
    }
    await beginComment(browser, at, '_2')
    expect((await preview('Add comment now')).$('tr.under #comment .preview').length).toBe(1)
    const attached = await browser.submit('Add comment now', { 'note[note]': 'see', attach: 'note[note]', upload: new File(['x'], 'x.txt') })
    expect(attached.$('#comment textarea').val()).toMatch(/^see\n\n\[x\.txt\]\(\/uploads\//)
    await browser.submit('Add comment now', { how: 'now' })
    await beginComment(browser, at, '3_3')
    await browser.submit('Add to review', { 'note[note]': 'a draft', how: 'review' })
    expect((await browser.open(at)).$('.draft textarea').length).toBe(0)
    expect((await browser.follow('Edit draft')).at).toMatch(/\?edit_draft=\d+$/)
    expect((await preview('Save draft')).$('.draft .preview').length).toBe(1)
    expect((await browser.submit('Save draft', { 'note[note]': 'another draft' })).$('.draft .prose').text().trim()).toBe('another draft')
    expect(browser.page?.$('.draft textarea').length).toBe(0)
    await browser.follow('Reply')
    await preview('Reply')
    expect((await browser.submit('Reply')).$('.thread:not(.draft) .note .prose strong').length).toBe(1)
    const edit = browser.page?.$('a[href*=edit_note]').first().attr('href') ?? ''
    await browser.open(edit)
    expect((await preview('Save comment')).text).not.toContain('The comment as it is now')
  })

  it('is made for the one thread that is answered, and no other (WB-340)', async () => {
    const { owner, at, request } = await aReview()
    for (const body of ['first', 'second']) await t.api('post', `${request.path}/discussions`, owner).send({ body }).expect(201)
    const browser = await signedIn(owner)
    const fields = () =>
      browser.page
        ?.$('.thread')
        .map((_, each) => browser.page?.$(each).find('textarea').length ?? 0)
        .get()
    await browser.open(`${at}?page=1`)
    expect(fields()).toEqual([0, 0])
    const opened = await browser.follow('Reply')
    expect([opened.at, fields()]).toEqual([expect.stringMatching(/\?page=1&reply=[0-9a-f]{40}$/), [1, 0]])
    // a refused answer is in the form that it was sent with
    const refused = await browser.submit('Reply', { 'note[note]': ' ' })
    expect([refused.status, fields(), refused.$('.thread .fault').length]).toEqual([422, [1, 0], 1])
    await browser.follow('Cancel')
    expect(fields()).toEqual([0, 0])
    // nothing is opened by the id of a thread that is not there, nor for who may not write
    await browser.open(`${at}?reply=${'0'.repeat(40)}&reply[]=x`)
    expect([browser.page?.status, browser.page?.$('.thread textarea').length]).toEqual([400, 0])
    await browser.open(`${at}?reply=${'0'.repeat(40)}`)
    expect(fields()).toEqual([0, 0])
    expect((await new TestBrowser(t.url).open(opened.at)).$('.thread textarea').length).toBe(0)
  })

  it('keeps an answer to a thread that is gone on the page of an issue (WB-333)', async () => {
    const { owner, project } = await aReview()
    const { iid } = (await t.api('post', `${project.path}/issues`, owner).send({ title: 'one' }).expect(201)).body
    const thread = (await t.api('post', `${project.path}/issues/${iid}/discussions`, owner).send({ body: 'first' }).expect(201)).body
    const browser = await signedIn(owner)
    await browser.open(`/${project.fullPath}/-/issues/${iid}`)
    await browser.follow('Reply')
    await t.api('delete', `${project.path}/issues/${iid}/notes/${thread.notes[0].id}`, owner).expect(204)
    const page = await browser.submit('Reply', { 'note[note]': 'not lost <b>' })
    expect([page.status, page.$(`form[action$="/issues/${iid}/notes"] textarea`).val()]).toEqual([422, 'not lost <b>'])
    expect(page.text).toContain('The thread is gone')
  })
})
