import { beforeAll, describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { aCommit, aGroup, aProject, aToken, aUser, type TestUser } from '../../support/factories.js'
import { aMergeRequest } from '../../support/merge-requests.js'

const t = testApp()

const send = (sent: object, caller: TestUser | null = null) => t.api('post', '/markdown', caller).send(sent)
const html = async (sent: object, caller: TestUser | null = null) => (await send(sent, caller).expect(201)).body.html

describe('POST /markdown', () => {
  it('renders for any caller, and refuses a token that is bad or may not write (MD-1, OT-5)', async () => {
    expect((await send({ text: '# A *title*' }).expect(201)).body).toEqual({ html: '<h1 id="user-content-a-title">A <em>title</em></h1>' })
    expect((await send({}).expect(400)).body).toEqual({ error: 'text is missing' })
    const user = await aUser(t.ctx)
    await send({ text: 'a' }, user).expect(201)
    await t.api('post', '/markdown', { token: 'glpat-unknown' }).send({ text: 'a' }).expect(401)
    await t
      .api('post', '/markdown', { token: await aToken(t.ctx, user, ['read_api']) })
      .send({ text: 'a' })
      .expect(403)
  })

  it.each<[string, string]>([
    [
      '- [ ] a\n- [x] *b*',
      '<ul>\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled> a</li>\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled checked> <em>b</em></li>\n</ul>',
    ],
    ['|a|\n|-|\n|~~b~~|', '<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><s>b</s></td>\n</tr>\n</tbody>\n</table>'],
    ['```mermaid\na-->b\n```', '<pre><code class="language-mermaid">a--&gt;b\n</code></pre>'],
    ['$`a^2`$', '<p>$<code>a^2</code>$</p>'],
    ['a <script>x</script> <b onclick="x">b', '<p>a  <b>b</b></p>'],
    ['<details>\n<summary>a</summary>\n\n*b* <!-- c -->\n</details>', '<details>\n<summary>a</summary>\n<p><em>b</em> </p>\n</details>'],
    ['<a name="b"></a> [c](#b)', '<p><a name="user-content-b"></a> <a href="#user-content-b">c</a></p>'],
    ['> [!TIP]\n> a', '<div class="markdown-alert markdown-alert-tip">\n<p class="markdown-alert-title">Tip</p>\n<p>a</p>\n</div>'],
    [':tada: `:tada:` :no_such_name:', '<p>🎉 <code>:tada:</code> :no_such_name:</p>'],
    ['# A *b*: `c`\n# A b c', '<h1 id="user-content-a-b-c">A <em>b</em>: <code>c</code></h1>\n<h1 id="user-content-a-b-c-1">A b c</h1>'],
    ['[a](javascript:x) ftp://b.c <data:x>', '<p>[a](javascript:x) ftp://b.c &lt;data:x&gt;</p>'],
    ['http://a.example a@b.example', '<p><a href="http://a.example">http://a.example</a> <a href="mailto:a@b.example">a@b.example</a></p>'],
    ['# #1 @root ~a', '<h1 id="user-content-1-root-a">#1 @root ~a</h1>'],
  ])('renders %j without references (MD-1)', async (text, expected) => {
    expect(await html({ text })).toBe(expected)
  })

  it('puts footnotes at the end, in the order of the references, and leaves out those without one (MD-1)', async () => {
    const text = 'A[^b] b[^a] c[^b] d[^none]\n\n[^a]: First\n[^b]: *Second*\n    goes on[^a]\n\n    in two\n[^c]: Third\n\nEnd'
    const ref = (number: number, id: string) =>
      `<sup class="footnote-ref"><a href="#user-content-fn-${number}" id="user-content-${id}">${number}</a></sup>`
    expect(await html({ text })).toBe(
      [
        `<p>A${ref(1, 'fnref-1')} b${ref(2, 'fnref-2')} c${ref(1, 'fnref-1-2')} d[^none]</p>`,
        '<p>End</p>',
        '<section class="footnotes">',
        '<ol>',
        '<li id="user-content-fn-1">',
        '<p><em>Second</em>',
        `goes on${ref(2, 'fnref-2-2')}</p>`,
        '<p>in two</p>',
        '<a href="#user-content-fnref-1" class="footnote-backref">↩</a>',
        '</li>',
        '<li id="user-content-fn-2">',
        '<p>First</p>',
        '<a href="#user-content-fnref-2" class="footnote-backref">↩</a>',
        '</li>',
        '</ol>',
        '</section>',
      ].join('\n'),
    )
  })
})

/** The links in HTML, as `kind text href title`. */
const linksIn = (text: string) =>
  [...text.matchAll(/<a href="([^"]*)" class="gfm gfm-([a-z_]+)" title="([^"]*)">([^<]*)<\/a>/g)].map(
    ([, href, kind, title, shown]) => `${kind} ${shown} ${href} ${title}`,
  )

describe('references', () => {
  /** A private project in a group, with an object of each kind. */
  async function aPlace() {
    const ann = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { visibility: 'private' })
    const project = await aProject(t.ctx, { namespace_id: group.id, creator: group.creator, developer: ann, files: { a: 'a' } })
    const { creator, path } = project
    const post = async (what: string, sent: object) => (await t.api('post', `${path}/${what}`, creator).send(sent).expect(201)).body
    await post('issues', { title: 'An <issue>' })
    await post('issues', { title: 'A secret', confidential: true })
    await post('labels', { name: 'two words', color: '#112233', description: 'A label' })
    await post('milestones', { title: 'v1.0' })
    const sha = await aCommit(t.ctx, project, { b: 'b' }, { message: 'Add b' })
    const request = await aMergeRequest(t, { project, title: 'A request' })
    return { ann, project, group, creator, sha, request }
  }

  it('become links to what the caller sees (MD-2)', async () => {
    const { ann, project, group, sha } = await aPlace()
    const page = t.ctx.links.project(project.fullPath)
    const at = project.fullPath
    const groupName = (await t.api('get', group.path, ann).expect(200)).body.name
    const text = `#1 !1 ~"two words" %v1.0 %1 ${sha} @${ann.username} @${group.fullPath}`
    const expected = [
      `issue #1 ${page}/issues/1 An &lt;issue&gt;`,
      `merge_request !1 ${page}/merge_requests/1 A request`,
      `label two words ${page}/issues?label_name=two%20words A label`,
      `milestone %v1.0 ${page}/milestones/1 `,
      `milestone %v1.0 ${page}/milestones/1 `,
      `commit ${sha.slice(0, 8)} ${page}/commit/${sha} Add b`,
      `project_member @${ann.username} ${t.ctx.links.user(ann.username)} ${ann.name}`,
      `project_member @${group.fullPath} ${t.ctx.links.group(group.fullPath)} ${groupName}`,
    ]
    expect(linksIn(await html({ text, gfm: true, project: at }, ann))).toEqual(expected)
    const elsewhere = linksIn(await html({ text: `${at}#1 (${at}!1) ${at}~"two words" ${at}%v1.0 ${at}@${sha} #1`, gfm: true }, ann))
    expect(elsewhere).toEqual([
      `issue ${at}#1 ${page}/issues/1 An &lt;issue&gt;`,
      `merge_request ${at}!1 ${page}/merge_requests/1 A request`,
      `label two words ${page}/issues?label_name=two%20words A label`,
      `milestone %v1.0 ${page}/milestones/1 `,
      `commit ${at}@${sha.slice(0, 8)} ${page}/commit/${sha} Add b`,
    ])
    const other = await aProject(t.ctx, { namespace_id: group.id, creator: group.creator, developer: ann })
    const bare = at.split('/').at(-1)
    expect(linksIn(await html({ text: `${bare}#1`, gfm: true, project: other.fullPath }, ann))).toEqual([expected[0]?.replace('#1', `${at}#1`)])
  })

  it('stay text if the caller does not see what they name, or it does not exist (MD-2, SEC-35)', async () => {
    const { ann, project, group, creator, sha } = await aPlace()
    const at = project.fullPath
    const text = `${at}#1 ${at}!1 ${at}~"two words" ${at}%v1.0 ${at}@${sha} @${group.fullPath}`
    const plain = await html({ text }, ann)
    for (const caller of [null, await aUser(t.ctx)]) expect(await html({ text, gfm: true }, caller)).toBe(plain)
    const open = await aProject(t.ctx, { visibility: 'public' })
    await t.api('post', `${open.path}/issues`, open.creator).send({ title: 'Open', labels: 'bug' }).expect(201)
    const shown = await html({ text: `#1 ~bug @${ann.username}`, gfm: true, project: open.fullPath })
    expect(linksIn(shown).map((link) => link.split(' ')[0])).toEqual(['issue'])
    const guest = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    const seen = linksIn(await html({ text: `#1 #2 !1 ${sha} ~"two words"`, gfm: true, project: at }, guest))
    expect(seen.map((link) => link.split(' ')[0])).toEqual(['issue', 'label'])
    const missing = await html({ text: `#99 !99 ~none %none ${'0'.repeat(40)} @no-such-user no/where#1`, gfm: true, project: at }, ann)
    expect(linksIn(missing)).toEqual([])
  })

  it('stay text in code and links, and after a backslash (MD-2)', async () => {
    const { ann, project } = await aPlace()
    const text = '`#1` [a #1 b](http://a.example) \\#1 a#1 http://a.example/#1\n\n    #1\n\n```\n#1\n```\n> **#1** |~"two words"|'
    expect(linksIn(await html({ text, gfm: true, project: project.fullPath }, ann)).map((link) => link.split(' ')[0])).toEqual(['issue', 'label'])
  })

  it('404 for a project that the caller does not see (MD-3)', async () => {
    const { ann, project } = await aPlace()
    for (const gfm of [true, false]) {
      await send({ text: 'a', gfm, project: project.fullPath }).expect(404, { message: '404 Project Not Found' })
      await send({ text: 'a', gfm, project: 'no/where' }, ann).expect(404)
      await send({ text: 'a', gfm, project: project.id }, ann).expect(201)
    }
  })

  it('cost as many statements as one of each kind, and 500 of them become links (MD-4)', async () => {
    const { ann, project } = await aPlace()
    const statements = async (text: string) => {
      let links = 0
      const queries = await t.queriesOf(async () => {
        links = linksIn(await html({ text, gfm: true, project: project.fullPath }, ann)).length
      })
      return { links, count: queries.length }
    }
    const [few, many] = [
      await statements('#1 ~a %a @a'),
      await statements(Array.from({ length: 600 }, (_, n) => `#${n + 2} ~a${n} %a${n} @a${n}`).join(' ')),
    ]
    expect(many.count).toBe(few.count)
    const other = await aProject(t.ctx, { creator: ann })
    for (const name of ['a', 'b']) await t.api('post', `${other.path}/labels`, ann).send({ name, color: '#112233' }).expect(201)
    const names = Array.from({ length: 499 }, (_, n) => `~none${n}`).join(' ')
    expect(linksIn(await html({ text: `${names} ~a ~b`, gfm: true, project: other.fullPath }, ann))).toHaveLength(1)
  })
})

describe('limits (MD-4)', () => {
  let user: TestUser
  beforeAll(async () => {
    user = await aUser(t.ctx)
  })

  it('refuses a text above 1 MiB', async () => {
    expect((await html({ text: 'é'.repeat(524_288) }, user)).startsWith('<p>éé')).toBe(true)
    expect((await send({ text: `${'é'.repeat(524_288)}a` }, user).expect(400)).body).toEqual({ error: 'text is too long (maximum is 1048576 bytes)' })
  })

  it.each<[string, string]>([
    ['quotes', '> '.repeat(2_000)],
    ['lists', Array.from({ length: 1_000 }, (_, n) => `${' '.repeat(n * 2)}- a`).join('\n')],
    ['brackets', '['.repeat(300_000)],
    ['emphasis', '*a **a '.repeat(100_000)],
    ['links', '[a]('.repeat(250_000)],
    ['addresses', 'a@b.example\n'.repeat(80_000)],
    ['footnotes', Array.from({ length: 20_000 }, (_, n) => `[^${n}]\n\n[^${n}]: [^${n + 1}]\n`).join('\n')],
    ['tables', '|a|b|\n|-|-|\n'.repeat(24_000)],
  ])('renders many %s', async (_, text) => {
    expect((await html({ text }, user)).length).toBeLessThanOrEqual(8_388_608)
  })

  it('shows a text as it is whose HTML would be too long', async () => {
    const text = `[a]: http://a.example/${'a'.repeat(10_000)}\n\n${'[a]\n\n'.repeat(1_000)}`
    expect((await html({ text }, user)).startsWith('<pre>[a]: http')).toBe(true)
  })
})
