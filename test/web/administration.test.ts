import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { printFaults } from '../../src/cli/commands/doctor.js'
import { recordCheck } from '../../src/services/core/last-checks.js'
import { updateUser } from '../../src/services/identity/user-update.js'
import { forms, pages } from '../../src/web/index.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestUser } from '../support/factories.js'

const t = testApp()
let root: TestUser
let admin: TestBrowser

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).at).toBe('/dashboard')
  return browser
}

const HOSTILE = '<img src=x onerror=alert(1)>'

beforeAll(async () => {
  root = await anAdmin(t.ctx)
  admin = await signedIn(root)
})
beforeEach(() => setSettings(t.ctx, {}))

const own = (at: string) => at.startsWith('/admin')

describe('administration', () => {
  it('is not there for anybody but administrators, neither its pages nor its forms (WB-170)', async () => {
    const user = await signedIn(await aUser(t.ctx))
    const visitor = new TestBrowser(t.url)
    await visitor.open('/users/sign_in')
    await user.open('/-/profile')
    const tokenOf = (browser: TestBrowser) => String(browser.page?.$('[name=authenticity_token]').val())
    const tokens = [tokenOf(visitor), tokenOf(user)]
    const at = (path: string) => path.replace(/:\w+/g, '1')
    expect(pages.filter((page) => own(page.at)).length).toBeGreaterThan(15)
    for (const page of pages.filter((each) => own(each.at))) {
      expect((await user.open(at(page.at))).status, page.at).toBe(404)
      expect((await visitor.open(at(page.at))).at, page.at).toMatch(/^\/users\/sign_in\?return_to=/)
    }
    for (const form of forms.filter((each) => own(each.at)))
      for (const [i, browser] of [visitor, user].entries()) {
        const sent = await browser.post(at(form.at), { _method: form.method, authenticity_token: tokens[i] as string })
        expect(sent.status, `${form.method} ${form.at}`).toBe(404)
      }
    expect((await user.open('/dashboard')).$('a[href="/admin"]').length).toBe(0)
    expect((await admin.open('/dashboard')).$('a[href="/admin"]').length).toBe(1)
  })

  it('says what the last backup and the doctor have found (WB-205)', async () => {
    expect((await admin.open('/admin')).text).toContain('None is known: roost backup makes one.')
    await printFaults(t.ctx, { json: true })
    await recordCheck(t.ctx, 'backup', true, '3 repositories, 1.5 MiB, in /backups/<b>1</b>')
    const page = await admin.open('/admin')
    expect(page.text).toMatch(/Doctor (good|look at it)[^:]*: \d+ faults/)
    expect(page.text).toContain(': 3 repositories, 1.5 MiB, in /backups/<b>1</b>')
  })

  it('begins with what there is, how it works, and what waits (WB-171)', async () => {
    await aUser(t.ctx, { state: 'blocked_pending_approval' })
    const page = await admin.open('/admin')
    expect(page.status).toBe(200)
    expect(page.text).toMatch(/accounts? waits? for approval/)
    expect(page.text).toContain(t.ctx.config.version)
    expect(page.$('tbody th').text()).toContain('default')
    expect(page.text).toMatch(/[\d.]+ [KMGT]iB of [\d.]+ [KMGT]iB/)
  })

  it('shows lists with a constant number of statements (WB-302)', async () => {
    const people = await aUser(t.ctx)
    await aProject(t.ctx, { creator: people })
    await aGroup(t.ctx, { creator: people })
    const count = async (path: string) => (await t.queriesOf(() => admin.open(path))).length
    const paths = [
      '/admin/users',
      '/admin/projects',
      '/admin/groups',
      '/admin/audit_log',
      '/admin/jobs',
      '/admin/abuse_reports',
      '/admin/broadcast_messages',
    ]
    const before: number[] = []
    for (const path of paths) {
      await admin.open(path)
      before.push(await count(path))
    }
    for (let i = 0; i < 5; i++) {
      const other = await aUser(t.ctx)
      await aProject(t.ctx, { creator: other })
      await aGroup(t.ctx, { creator: other })
    }
    // what is cached is cached again
    for (const path of paths) await admin.open(path)
    for (const [i, path] of paths.entries()) expect(await count(path), path).toBeLessThanOrEqual(before[i] as number)
  })
})

describe('users', () => {
  it('are searched, filtered and sorted (WB-172)', async () => {
    const waits = await aUser(t.ctx, { name: `Zoe ${HOSTILE}`, state: 'blocked_pending_approval' })
    const outside = await aUser(t.ctx, { name: 'Anton Outside', external: true })
    const found = await admin.open('/admin/users?search_query=Zoe')
    expect([found.text.includes(waits.name), found.$('main .rows img[onerror]').length]).toEqual([true, 0])
    expect((await admin.open('/admin/users?filter=waiting')).text).toContain(waits.email)
    expect((await admin.open('/admin/users?filter=blocked')).text).not.toContain(waits.email)
    const external = await admin.open('/admin/users?filter=external&sort=name_asc')
    expect([external.text.includes(outside.email), external.text.includes(waits.email)]).toEqual([true, false])
    for (const bad of ['filter=nonsense', 'sort=password', `search_query=${'a'.repeat(300)}`])
      expect((await admin.open(`/admin/users?${bad}`)).status, bad).toBe(400)
    expect((await admin.open('/admin/users?page=9999')).text).toContain('Page 9999')
  })

  it('are created once, also when the form is sent twice, and with the rules of the API', async () => {
    await admin.open('/admin/users/new')
    const refused = await admin.submit('Create user', {
      'user[username]': 'no/name',
      'user[name]': HOSTILE,
      'user[email]': 'no',
      'user[password]': 'short',
    })
    expect([refused.status, refused.$('.fault').length > 0, refused.$('#user_name').val()]).toEqual([422, true, HOSTILE])
    await admin.open('/admin/users/new')
    const typed = {
      'user[username]': 'grace',
      'user[name]': 'Grace',
      'user[email]': 'grace@example.org',
      'user[password]': 'a good password',
      'user[projects_limit]': '3',
    }
    const form = admin.page
    const made = await admin.submit('Create user', typed)
    expect([made.at, made.text.includes('grace is created')]).toEqual(['/admin/users/grace', true])
    admin.page = form
    expect((await admin.submit('Create user', typed)).at).toBe('/admin/users/grace')
    const { body } = await t.api('get', '/users?username=grace', root).expect(200)
    expect(body).toMatchObject([{ username: 'grace', projects_limit: 3, is_admin: false, can_create_group: true }])
    expect((await signedIn({ ...root, username: 'grace', password: 'a good password' })).page?.at).toBe('/dashboard')
  })

  it('offers neither a block, the removal nor a loss of rights of the last administrator (SEC-123)', async () => {
    const offered = async () => {
      const { $ } = await admin.open(`/admin/users/${root.username}`)
      const edit = await admin.open(`/admin/users/${root.username}/edit`)
      return {
        block: $('button:contains("Block")').length,
        removal: $('input[name=confirm]').length,
        access: edit.$('select[name="user[admin]"] option').length,
        hints: $('p:contains("only administrator")').length + edit.$('p:contains("only administrator")').length,
      }
    }
    const [alone, beside] = [
      { block: 0, removal: 0, access: 1, hints: 2 },
      { block: 1, removal: 1, access: 2, hints: 0 },
    ]
    expect(await offered()).toEqual(alone)
    expect((await admin.submit('Save changes')).text).toContain('Account updated.')
    const second = await anAdmin(t.ctx)
    expect(await offered()).toEqual(beside)
    await t.api('post', `/users/${second.id}/block`, root).expect(201)
    expect(await offered()).toEqual(alone)
  })

  it('are edited, blocked and unblocked, confirmed, and get a temporary password', async () => {
    const who = await aUser(t.ctx, { skip_confirmation: false })
    const at = `/admin/users/${who.username}`
    await admin.open(at)
    expect((await admin.submit('Confirm the address')).text).toContain('The address is confirmed.')
    const theirs = await signedIn(who)
    expect((await admin.submit('Block')).text).toContain('The account is blocked.')
    expect((await theirs.open('/dashboard')).at).toMatch(/sign_in/)
    expect((await admin.submit('Unblock')).text).toContain('no longer blocked')
    const shown = await admin.submit('Make a temporary password')
    expect(shown.headers.get('cache-control')).toBe('no-store')
    const password = String(shown.$('#password').val())
    const browser = new TestBrowser(t.url)
    expect((await browser.signIn({ username: who.username, password })).at).toBe('/-/profile/password/new')
    expect((await admin.open(at)).text).not.toContain(password)
    await admin.open(`${at}/edit`)
    expect((await admin.submit('Save changes', { 'user[projects_limit]': 'many' })).$('.fault').text()).toContain(
      'must be greater than or equal to 0',
    )
    const saved = await admin.submit('Save changes', { 'user[projects_limit]': '7', 'user[name]': 'Renamed' })
    expect([saved.at, saved.$('h1').text()]).toEqual([at, 'Renamed'])
    const { body } = await t.api('get', `/users/${who.id}`, root).expect(200)
    expect(body).toMatchObject({ name: 'Renamed', projects_limit: 7 })
  })

  it('are deactivated and activated (WB-350)', async () => {
    const [who, busy] = [await aUser(t.ctx), await aUser(t.ctx)]
    const at = `/admin/users/${who.username}`
    await admin.open(at)
    expect((await admin.submit('Deactivate')).text).toContain('The account is deactivated.')
    expect(admin.page?.$('.badge').text()).toContain('deactivated')
    expect((await admin.open('/admin/users?filter=deactivated')).$('.rows').text()).toContain(who.username)
    expect((await admin.open('/admin/users?filter=blocked')).text).not.toContain(who.username)
    await admin.open(at)
    expect((await admin.submit('Activate')).text).toContain('The account is active again.')
    await signedIn(busy)
    const page = await admin.open(`/admin/users/${busy.username}`)
    // what may not be done is not offered
    expect(page.$('button:contains("Deactivate")').length).toBe(0)
    const form = { _method: 'put', authenticity_token: String(page.$('[name=authenticity_token]').val()) }
    const refused = await admin.post(`/admin/users/${busy.username}/deactivate`, form)
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('active in the past 90 days')])
  })

  it('are banned and unbanned (UB-4)', async () => {
    const who = await aUser(t.ctx)
    const at = `/admin/users/${who.username}`
    await admin.open(at)
    expect((await admin.submit('Ban')).text).toContain('The account is banned.')
    expect(admin.page?.$('.badge').text()).toContain('banned')
    expect((await admin.open('/admin/users?filter=banned')).$('.rows').text()).toContain(who.username)
    expect((await admin.open('/admin/users?filter=blocked')).text).not.toContain(who.username)
    await admin.open(at)
    expect((await admin.submit('Unban')).text).toContain('The account is no longer banned.')
  })

  it('lose keys, tokens and identities, each of this account alone', async () => {
    const [who, other] = [await aUser(t.ctx), await aUser(t.ctx)]
    await updateUser(t.ctx, who.id, { provider: 'company', extern_uid: 'ada' })
    const at = `/admin/users/${who.username}`
    const page = await admin.open(at)
    expect(page.text).toContain('company')
    expect((await admin.submit('Disconnect')).text).toContain('disconnected from company')
    const token = who.caller.token.id
    const form = { _method: 'delete', authenticity_token: String(admin.page?.$('[name=authenticity_token]').val()) }
    expect((await admin.post(`/admin/users/${other.username}/personal_access_tokens/${token}`, form)).status).toBe(404)
    await t.api('get', '/user', who).expect(200)
    await admin.open(at)
    expect((await admin.submit('Revoke')).text).toContain('The token is revoked.')
    await t.api('get', '/user', who).expect(401)
  })

  it('are made from a file, each line alone (WB-185)', async () => {
    const many = `username,email\n${'a,b\n'.repeat(1_001)}`
    for (const bad of ['', 'name,email\nA,a@b.c', 'username,email,shoe size\na,a@b.c,1', many]) {
      await admin.open('/admin/users/import')
      expect((await admin.submit('Create users', { text: bad })).status, bad.slice(0, 40)).toBe(422)
    }
    const lines = [
      'username,name,email,admin',
      'ada1,"Ada, the ""first""",ada1@example.org,no',
      `${root.username},Twice,twice@example.org,`,
      'ada2,,ada2@example.org,maybe',
      '',
      'ada3,,ada3@example.org',
    ]
    await admin.open('/admin/users/import')
    const file = new File([lines.join('\r\n')], 'people.csv', { type: 'text/csv' })
    const done = await admin.submit('Create users', { file })
    expect([done.status, done.text.includes('2 of 4 are created.'), done.headers.get('cache-control')]).toEqual([200, true, 'no-store'])
    const faults = done
      .$('.fault')
      .toArray()
      .map((one) => done.$(one).text())
    expect(faults).toEqual([expect.stringContaining('already been taken'), 'admin is neither yes nor no'])
    const password = done.$('tbody tr').first().find('code').text()
    expect((await new TestBrowser(t.url).signIn({ username: 'ada1', password })).at).toBe('/dashboard')
    expect((await t.api('get', '/users?username=ada1', root)).body).toMatchObject([{ name: 'Ada, the "first"', is_admin: false }])
  })

  it('who wait are approved or rejected', async () => {
    const [one, two] = [await aUser(t.ctx, { state: 'blocked_pending_approval' }), await aUser(t.ctx, { state: 'blocked_pending_approval' })]
    await admin.open(`/admin/users/${one.username}`)
    expect((await admin.submit('Approve')).text).toContain('The account is approved.')
    await signedIn(one)
    await admin.open(`/admin/users/${two.username}`)
    expect((await admin.submit('Reject and remove')).at).toBe('/admin/users?filter=waiting')
    await t.api('get', `/users/${two.id}`, root).expect(404)
  })

  it('are removed by their typed name, and what they wrote stays with the ghost or goes', async () => {
    const [owner, one, two] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    for (const who of [one, two])
      await t
        .api('post', `${project.path}/issues`, who)
        .send({ title: `by ${who.username}` })
        .expect(201)
    await admin.open(`/admin/users/${one.username}`)
    const wrong = await admin.submit(`/admin/users/${one.username}`, { confirm: 'somebody', how: 'soft' })
    expect([wrong.status, wrong.text.includes('is not the username')]).toEqual([422, true])
    await admin.open(`/admin/users/${one.username}`)
    expect((await admin.submit(`/admin/users/${one.username}`, { confirm: one.username, how: 'soft' })).text).toContain('is removed')
    await admin.open(`/admin/users/${two.username}`)
    await admin.submit(`/admin/users/${two.username}`, { confirm: two.username, how: 'hard' })
    const { body } = await t.api('get', `${project.path}/issues`, owner).expect(200)
    expect(body).toMatchObject([{ title: `by ${one.username}`, author: { username: 'ghost' } }])
    expect((await admin.open('/admin/users/ghost')).status).toBe(404)
  })
})

describe('groups and projects', () => {
  it('projects are not counted: the next page is offered where there is one (WB-302)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, name: 'Many Here', path: 'many-here' })
    await aProject(t.ctx, { creator: owner, namespace_id: group.id, name: 'p0' })
    await t.ctx.db.write.execute(sql`insert into projects (namespace_id, creator_id, name, path, visibility, storage, default_branch)
      select namespace_id, creator_id, 'p' || i, 'p' || i, visibility, storage, 'main' from projects, generate_series(1, 60) i where namespace_id = ${group.id}`)
    const pages: unknown[] = []
    for (const sort of ['last_activity_desc', 'name_asc', 'storage_size_desc'])
      for (const [search, path] of [
        ['group', 'MANY-HERE'],
        ['name', 'many here'],
        ['both', 'many-here/p'],
      ])
        for (const page of [1, 2, 3, 4]) {
          const { $ } = await admin.open(`/admin/projects?${new URLSearchParams({ name: path as string, sort, page: String(page) })}`)
          const found = [$('.rows li').length, $('.pager span').text(), $('.pager [rel=next]').length]
          pages.push(found)
          expect([sort, search, page, ...found]).toEqual([sort, search, page, [30, 30, 1, 0][page - 1], `Page ${page}`, page < 3 ? 1 : 0])
        }
    expect(pages).toHaveLength(36)
    await t.ctx.db.write.execute(sql`delete from projects where namespace_id = ${group.id} and path <> 'p0'`)
  })

  it('are read in each order from an index (WB-302)', async () => {
    const plans = await t.ctx.db.transaction(async (tx) => {
      await tx.execute(sql`set local enable_sort = off`)
      const planOf = async (order: string) => {
        const { rows } = await tx.execute(
          sql`explain select id from projects where marked_for_deletion_at is null order by ${sql.raw(order)} limit 30`,
        )
        return JSON.stringify(rows)
      }
      const orders = ['last_activity_at', '(repository_size + lfs_objects_size + job_artifacts_size + packages_size)', 'created_at', 'star_count']
      return Promise.all(orders.map((order) => planOf(`${order} desc, id desc`)))
    })
    for (const plan of plans) expect(plan).toMatch(/Index (Only )?Scan Backward using projects_\w+_idx/)
  })

  it('are found, deleted by their typed path, restored, and removed at once (WB-173)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, description: HOSTILE })
    const name = project.fullPath.split('/')[1] as string
    expect((await admin.open(`/admin/projects?name=${name}&sort=storage_size_desc`)).$('.rows li').length).toBe(1)
    const at = `/admin/projects/${project.id}`
    await admin.open(at)
    expect((await admin.submit(at, { confirm: name })).status).toBe(422)
    await admin.open(at)
    expect((await admin.submit(at, { confirm: project.fullPath })).text).toContain('is deleted')
    await t.api('get', project.path, owner).expect(({ body }) => expect(body.marked_for_deletion_at ?? body.message).toBeTruthy())
    await admin.open('/admin/projects?filter=deleted')
    expect((await admin.submit(`${at}/restore`)).text).toContain('Project restored.')
    await t.api('get', project.path, owner).expect(200)
    await admin.open(at)
    expect((await admin.submit(at, { confirm: project.fullPath, at_once: '1' })).text).toContain('is removed')
    expect((await admin.open(at)).status).toBe(404)

    const group = await aGroup(t.ctx, { creator: owner })
    const ofGroup = `/admin/groups/${group.id}`
    expect((await admin.open(`/admin/groups?name=${group.fullPath}`)).$('.rows li').length).toBe(1)
    await admin.open(ofGroup)
    expect((await admin.submit(ofGroup, { confirm: group.fullPath })).text).toContain('is deleted')
    await admin.open('/admin/groups?filter=deleted')
    expect((await admin.submit(`${ofGroup}/restore`)).text).toContain('Group restored.')
  })
})

describe('settings', () => {
  it('are changed by subject, with faults beside the fields (WB-174)', async () => {
    const at = '/admin/application_settings/sign_up'
    await admin.open('/admin/application_settings')
    const page = await admin.open(at)
    expect(page.text).toContain('maximum number of personal projects of a new user'.replace(/^m/, 'M'))
    const refused = await admin.submit('Save changes', {
      'application_setting[default_projects_limit]': '-1',
      'application_setting[domain_blacklist_enabled]': '1',
    })
    expect(refused.status).toBe(422)
    expect(refused.$('#application_setting_default_projects_limit_fault').text()).toContain('must be greater than or equal to 0')
    expect(refused.$('#application_setting_domain_blacklist_fault').text()).toContain('cannot be empty')
    expect((await admin.submit('Save changes', { 'application_setting[default_projects_limit]': 'x' })).$('.fault').text()).toContain('is invalid')
    await admin.open(at)
    const saved = await admin.submit('Save changes', {
      'application_setting[default_projects_limit]': '12',
      'application_setting[domain_blacklist]': 'spam.example\r\n*.bad.example',
      'application_setting[captcha_site_key]': 'the key',
    })
    expect(saved.text).toContain('the settings are saved')
    expect(saved.html).not.toContain('the key')
    const { body } = await t.api('get', '/application/settings', root).expect(200)
    expect(body).toMatchObject({
      default_projects_limit: 12,
      domain_blacklist: ['spam.example', '*.bad.example'],
      captcha_site_key: 'the key',
      signup_enabled: true,
    })
    // a box that is not checked is sent as nothing
    const fields = { authenticity_token: String(admin.page?.$('main [name=authenticity_token]').last().val()) }
    const version = String(admin.page?.$('[name=version]').val())
    const off = await admin.post(at, { ...fields, _method: 'put', version, 'application_setting[default_projects_limit]': '12' })
    expect(off.text).toContain('the settings are saved')
    expect((await t.api('get', '/application/settings', root)).body).toMatchObject({ signup_enabled: false, captcha_site_key: 'the key' })
  })

  it('that somebody else has changed meanwhile are not overwritten', async () => {
    const at = '/admin/application_settings/pages'
    await admin.open(at)
    await t.api('put', '/application/settings', root).send({ help_page_text: 'theirs' }).expect(200)
    const refused = await admin.submit('Save changes', { 'application_setting[help_page_text]': 'mine' })
    expect([refused.status, refused.$('#application_setting_help_page_text').val()]).toEqual([422, '\nmine'.trim()])
    expect((await admin.submit('Save changes', { 'application_setting[help_page_text]': 'mine' })).status).toBe(200)
  })

  it('say so where they have no effect, and are each on one page', async () => {
    const { subjects } = await import('../../src/web/pages/admin/setting-subjects.js')
    const { SETTING_NAMES } = await import('../../src/services/core/settings-table.js')
    const named = Object.values(subjects()).flatMap(({ settings }) => settings)
    expect([...named].sort()).toEqual([...SETTING_NAMES].sort())
    for (const subject of Object.keys(subjects())) {
      const page = await admin.open(`/admin/application_settings/${subject}`)
      expect([page.status, page.$('.setting').length], subject).toEqual([200, subjects()[subject]?.settings.length])
    }
    expect((await admin.open('/admin/application_settings/monitoring')).text).toContain('no effect')
    expect((await admin.open('/admin/application_settings/toString')).status).toBe(404)
  })

  it('have their effect on pages: texts, help, the web editor, runners (WB-186)', async () => {
    await setSettings(t.ctx, {
      sign_in_text: `**Welcome** ${HOSTILE}`,
      help_page_text: '# Our *rules*',
      help_page_support_url: 'https://support.example.org/',
      webide_enabled: true,
      webide_url: 'https://editor.example.org/open',
      shared_runners_text: 'Runners sleep at **night**.',
      after_sign_up_text: 'Read [this](https://example.org).',
    })
    const visitor = new TestBrowser(t.url)
    const signIn = await visitor.open('/users/sign_in')
    expect([signIn.$('.prose strong').text(), signIn.$('.prose img[onerror]').length]).toEqual(['Welcome', 0])
    expect((await visitor.open('/users/almost_there')).$('.prose a').attr('href')).toBe('https://example.org')
    const help = await visitor.open('/help')
    expect([help.status, help.$('.prose em').text(), help.$('a.button').attr('href')]).toEqual([200, 'rules', 'https://support.example.org/'])
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const theirs = await signedIn(owner)
    const page = await theirs.open(`/${project.fullPath}`)
    const editor = `https://editor.example.org/open?url=${encodeURIComponent(t.ctx.links.http(project.fullPath))}`
    expect(page.$(`a[href="${editor}"]`).length).toBe(1)
    expect((await theirs.open(`/${project.fullPath}/-/pipelines`)).$('.prose strong').text()).toBe('night')
    await setSettings(t.ctx, { home_page_url: 'https://home.example.org/' })
    const home = await fetch(`${t.url}/`, { redirect: 'manual', headers: { accept: 'text/html' } })
    expect(home.headers.get('location')).toBe('https://home.example.org/')
    expect((await visitor.open('/help')).text).toMatch(/Add an SSH key.*About Roost/s)
    await setSettings(t.ctx, { help_page_hide_commercial_content: true })
    expect((await visitor.open('/help')).text).not.toContain('Roost:')
  })
})

describe('diagrams', () => {
  it('in Markdown are pictures of the server of the settings, and text without it (WB-187)', async () => {
    const owner = await aUser(t.ctx)
    const source = 'Alice -> Bob: <b>"hi"</b>'
    const project = await aProject(t.ctx, {
      creator: owner,
      files: { 'README.md': `\`\`\`plantuml\n${source}\n\`\`\`\n\n\`\`\`plantuml\n${'x'.repeat(4_000)}\n\`\`\`\n` },
    })
    const theirs = await signedIn(owner)
    const plain = await theirs.open(`/${project.fullPath}`)
    expect([plain.$('.prose img').length, plain.$('.prose pre').length]).toEqual([0, 2])
    await setSettings(t.ctx, { diagram_enabled: true, diagram_url: 'https://diagrams.example.org/plantuml/' })
    const page = await theirs.open(`/${project.fullPath}`)
    expect([page.$('.prose img').attr('src'), page.$('.prose pre').length]).toEqual([
      `https://diagrams.example.org/plantuml/svg/~h${Buffer.from(`${source}\n`).toString('hex')}`,
      1,
    ])
    expect(page.headers.get('content-security-policy')).toMatch(/img-src 'self' https:\/\/diagrams\.example\.org;/)
  })
})

describe('the audit log', () => {
  it('is filtered by actor, action, subject and days, and saved as CSV and JSON lines (WB-175)', async () => {
    const who = await aUser(t.ctx, { name: 'x' })
    await t.ctx.db.write.execute(sql`insert into audit_events (actor, action, target_type, target, changes, created_at) values
      ('=cmd', 'user_blocked', 'user', ${HOSTILE}, '{"a": ["1", "2"]}', '2001-02-03T12:00:00Z'),
      ('=cmd', 'user_unblocked', 'user', 'a "quoted", name', '{}', '2001-02-04T23:59:59.5Z')`)
    await admin.open(`/admin/users/${who.username}`)
    await admin.submit('Block')
    const mine = await admin.open(`/admin/audit_log?actor=${root.username}&action=user+blocked`)
    expect(mine.text).toContain(who.username)
    expect(
      mine
        .$('tbody .badge')
        .toArray()
        .every((one) => mine.$(one).text() === 'user blocked'),
    ).toBe(true)
    const days = await admin.open('/admin/audit_log?from=2001-02-03&to=2001-02-04&entity_type=User')
    expect([days.$('tbody tr').length, days.$('main img').length, days.text.includes('a: 1 → 2')]).toEqual([2, 0, true])
    expect((await admin.open('/admin/audit_log?actor=&action=&entity_type=&from=&to=')).status).toBe(200)
    expect((await admin.open('/admin/audit_log?actor=unknown')).text).toContain('There are no such entries.')
    expect((await admin.open('/admin/audit_log?from=yesterday')).status).toBe(400)
    expect((await admin.open('/admin/audit_log?before=nonsense')).status).toBe(200)
    const csv = await admin.open('/admin/audit_log/export?format=csv&from=2001-02-03&to=2001-02-04')
    expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-log-[\d-]+\.csv"$/)
    expect(csv.html.split('\r\n')[1]).toContain(`,'=cmd,,,user_unblocked,user,,"a ""quoted"", name",{},`)
    const lines = await admin.open('/admin/audit_log/export?format=jsonl&from=2001-02-03&to=2001-02-03')
    expect(
      lines.html
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ actor: '=cmd', target: HOSTILE }])
    expect((await admin.open('/admin/audit_log/export?format=xml')).status).toBe(400)
  })

  it('goes back page by page', async () => {
    await t.ctx.db.write.execute(sql`insert into audit_events (actor, action, target_type, target, changes, created_at)
      select 'walker', 'user_updated', 'user', 'number ' || n, '{}', '2002-01-01T00:00:00Z'::timestamptz + (n / 3) * interval '1 second' from generate_series(1, 120) n`)
    const seen: string[] = []
    for (let next: string | undefined = '/admin/audit_log?actor=walker'; next; ) {
      const page = await admin.open(next)
      for (const row of page.$('tbody tr').toArray()) seen.push(page.$(row).find('td').last().text())
      next = page.$('.pager a[rel=next]').attr('href')
    }
    expect([seen.length, new Set(seen).size]).toEqual([120, 120])
  })
})

describe('jobs', () => {
  it('that have failed are shown with the reason, tried again and removed (WB-176)', async () => {
    await t.ctx.db.write.execute(sql`insert into jobs (kind, payload, attempts, failed_at, last_error) values
      ('no such kind', '{"a": 1}', 3, now(), ${`it broke ${HOSTILE}`}), ('no such kind', '{}', 1, now(), null)`)
    const page = await admin.open('/admin/jobs')
    expect([page.text.includes(`it broke ${HOSTILE}`), page.$('main img').length]).toEqual([true, 0])
    const ids = page
      .$('form[action$="/retry"]')
      .toArray()
      .flatMap((one) => /\/(\d+)\/retry$/.exec(page.$(one).attr('action') ?? '')?.[1] ?? [])
    expect(ids.length).toBe(2)
    expect((await admin.submit(`/admin/jobs/${ids[0]}/retry`)).text).toContain(`Job ${ids[0]} is tried again.`)
    expect((await admin.submit(`/admin/jobs/${ids[1]}`)).text).toContain(`Job ${ids[1]} is removed.`)
    const left = await t.ctx.db.write.execute<{ id: string; failed_at: string | null }>(
      sql`select id, failed_at from jobs where kind = 'no such kind'`,
    )
    expect(left.rows.map(({ id, failed_at }) => [id, failed_at])).toEqual([[ids[0], null]])
    await t.ctx.db.write.execute(sql`delete from jobs where kind = 'no such kind'`)
    const token = String(admin.page?.$('[name=authenticity_token]').val())
    expect((await admin.post(`/admin/jobs/${ids[1]}`, { _method: 'delete', authenticity_token: token })).status).toBe(404)
    expect((await admin.open('/admin/audit_log?action=jobs_removed')).text).toContain(`job ${ids[1]}`)
  })
})

describe('programs', () => {
  it('get system hooks, and sign people in as applications of the service (WB-177)', async () => {
    await admin.open('/admin/hooks')
    expect((await admin.submit('Add hook', { 'hook[url]': 'ftp://example.org' })).status).toBe(422)
    await admin.open('/admin/hooks')
    const added = await admin.submit('Add hook', { 'hook[url]': 'http://127.0.0.1:9/hook', 'hook[token]': 'very secret', 'hook[name]': HOSTILE })
    expect([added.text.includes('Hook added.'), added.html.includes('very secret'), added.$('main img').length]).toEqual([true, false, 0])
    expect((await admin.submit('Test')).status).toBe(422)
    const edit = String(added.$('main .rows a').attr('href'))
    await admin.open(edit)
    expect(admin.page?.text).toContain('no answer')
    expect((await admin.submit('Save changes', { 'hook[push_events]': '1' })).text).toContain('Hook updated.')
    expect((await t.api('get', '/hooks', root).expect(200)).body).toMatchObject([{ url: 'http://127.0.0.1:9/hook', push_events: true }])
    expect((await admin.submit('Remove')).text).toContain('Hook removed.')

    await admin.open('/admin/applications')
    expect((await admin.submit('Add application', { 'doorkeeper_application[name]': 'CI' })).status).toBe(422)
    await admin.open('/admin/applications')
    const typed = {
      'doorkeeper_application[name]': 'CI',
      'doorkeeper_application[redirect_uri]': 'https://ci.example.org/back',
      'doorkeeper_application[scopes][]': ['openid', 'api'],
      'doorkeeper_application[trusted]': '1',
    }
    const shown = await admin.submit('Add application', typed)
    const secret = String(shown.$('#secret').val())
    expect([secret.length > 20, shown.headers.get('cache-control')]).toEqual([true, 'no-store'])
    const list = await admin.open('/admin/applications')
    expect([list.text.includes('trusted'), list.html.includes(secret)]).toEqual([true, false])
    expect((await admin.submit('Remove')).text).toContain('is removed')
    expect((await admin.open('/admin/sign_in_providers')).text).toContain('No provider is configured')
  })
})

describe('read-only mode', () => {
  it('refuses what changes something with 503 and the message, and reads go on (WB-180)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public', files: { a: 'a' } })
    const theirs = await signedIn(owner)
    await admin.open('/admin/maintenance')
    const on = await admin.submit('Make the service read-only', { maintenance_mode_message: `Back at noon ${HOSTILE}` })
    expect([on.status, on.$('.broadcast').text(), on.$('.broadcast img').length]).toEqual([200, expect.stringContaining('Back at noon'), 0])
    const refused = await t.api('post', `${project.path}/issues`, owner).send({ title: 'x' })
    expect([refused.status, refused.body.message, refused.headers['retry-after']]).toEqual([503, expect.stringContaining('Back at noon'), '60'])
    await t.api('get', project.path, owner).expect(200)
    await theirs.open(`/${project.fullPath}/-/issues/new`)
    const form = await theirs.submit('Create issue', { 'issue[title]': 'x' })
    expect([form.status, form.text.includes('Back at noon')]).toEqual([503, true])
    const authorization = `Basic ${Buffer.from(`${owner.username}:${owner.token}`).toString('base64')}`
    const refs = (service: string) => fetch(`${t.url}/${project.fullPath}.git/info/refs?service=${service}`, { headers: { authorization } })
    const [fetched, push] = [await refs('git-upload-pack'), await refs('git-receive-pack')]
    expect([fetched.status, await fetched.text()]).toEqual([200, expect.stringContaining('refs/heads/main')])
    expect([push.status, await push.text()]).toEqual([503, expect.stringContaining('Back at noon')])
    const lfs = (operation: string) =>
      fetch(`${t.url}/${project.fullPath}.git/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/vnd.git-lfs+json', accept: 'application/vnd.git-lfs+json' },
        body: JSON.stringify({ operation, objects: [] }),
      })
    expect([(await lfs('upload')).status, (await lfs('download')).status]).toEqual([503, 200])
    // signing in and the way back work
    await signedIn(root)
    await admin.open('/admin/maintenance')
    expect((await admin.submit('Allow changes again')).text).toContain('Changes are possible again.')
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'x' }).expect(201)
    await t.api('put', '/application/settings', root).send({ maintenance_mode: true }).expect(200)
    await t.api('post', `${project.path}/issues`, owner).send({ title: 'x' }).expect(503)
    await t.api('put', '/application/settings', root).send({ maintenance_mode: false }).expect(200)
  })
})

describe('broadcast messages', () => {
  it('are shown on all pages for their time, until they are dismissed (WB-182)', async () => {
    await admin.open('/admin/broadcast_messages')
    expect((await admin.submit('Add message', { 'broadcast_message[message]': ' ' })).$('.fault').text()).toContain("can't be blank")
    await admin.open('/admin/broadcast_messages')
    const later = {
      'broadcast_message[message]': 'x',
      'broadcast_message[starts_at]': '2030-01-02 10:00',
      'broadcast_message[ends_at]': '2030-01-01 10:00',
    }
    expect((await admin.submit('Add message', later)).$('.fault').text()).toContain('must be after the start')
    await admin.open('/admin/broadcast_messages')
    await admin.submit('Add message', { 'broadcast_message[message]': `Update tonight ${HOSTILE}` })
    const visitor = new TestBrowser(t.url)
    for (const path of ['/users/sign_in', '/help', '/no/such/page/here']) {
      const page = await visitor.open(path)
      expect([page.$('.broadcast p').text(), page.$('.broadcast img').length], path).toEqual([`Update tonight ${HOSTILE}`, 0])
    }
    await visitor.open('/help')
    const dismissed = await visitor.submit('Dismiss')
    expect([dismissed.at, dismissed.$('.broadcast').length]).toEqual(['/help', 0])
    expect((await new TestBrowser(t.url).open('/help')).$('.broadcast').length).toBe(1)
    await admin.open('/admin/broadcast_messages')
    await admin.submit('Remove')
    expect((await new TestBrowser(t.url).open('/help')).$('.broadcast').length).toBe(0)
  })

  it('are for pages at a path alone, if it is given', async () => {
    const at = async (target_path: string, path: string) => {
      const { body } = await t.api('post', '/broadcast_messages', root).send({ message: 'here', target_path }).expect(201)
      const shown = (await new TestBrowser(t.url).open(path)).$('.broadcast').length
      await t.api('delete', `/broadcast_messages/${body.id}`, root).expect(200)
      return shown === 1
    }
    expect([
      await at('/help', '/help?a=b'),
      await at('/hel*', '/help'),
      await at('*/el*', '/help'),
      await at('/help/*', '/help'),
      await at('/a*a', '/a'),
    ]).toEqual([true, true, false, false, false])
  })
})

describe('abuse reports', () => {
  it('are sent from pages of people, once by each, and closed by administrators (WB-184)', async () => {
    const [who, bad] = [await aUser(t.ctx), await aUser(t.ctx)]
    const theirs = await signedIn(who)
    await theirs.open(`/${bad.username}`)
    const link = String(theirs.page?.$('a[href*="abuse_reports"]').attr('href'))
    await theirs.open(link)
    expect((await theirs.submit('Send report', { message: ' ' })).$('.fault').text()).toContain("can't be blank")
    await theirs.open(link)
    expect((await theirs.submit('Send report', { message: `Spam\n${HOSTILE}` })).text).toContain('The administrators have your report.')
    await theirs.open(link)
    expect((await theirs.submit('Send report', { message: 'again' })).text).toContain('already been reported')
    await theirs.open(`/abuse_reports/new?user_id=${who.id}`)
    expect((await theirs.submit('Send report', { message: 'me' })).status).toBe(422)
    expect((await theirs.open('/abuse_reports/new?user_id=999999')).status).toBe(404)
    expect((await theirs.open(`/${who.username}`)).$('a[href*="abuse_reports"]').length).toBe(0)
    const list = await admin.open('/admin/abuse_reports')
    expect([list.text.includes(HOSTILE), list.$('main img[onerror]').length]).toEqual([true, 0])
    expect((await admin.submit('Close')).text).toContain('Report closed.')
    expect((await admin.open('/admin/abuse_reports')).text).toContain('There are no reports.')
  })
})
