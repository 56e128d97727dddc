import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, anAdmin, aProject, aUser, setSettings, type TestUser, unique } from '../support/factories.js'
import { receiver } from '../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver()
const EVIL = '<img src=x onerror=alert(1)>"&'
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBv8yBRzSpOoJ8PWwAvhFnh0pZ/DRiKqgmuUM5r9Lq2q machine'

const signedIn = async (who: TestUser) => {
  const browser = new TestBrowser(t.url)
  expect((await browser.signIn(who)).status).toBe(200)
  return browser
}

/** What stands beside a field. */
const faultAt = ({ page }: TestBrowser, id: string) => page?.$(`#${id}_fault`).text()
const sideOf = ({ page }: TestBrowser) =>
  page
    ?.$('.side a')
    .toArray()
    .map((link) => page.$(link).text())

describe('a new project (WB-150)', () => {
  it('is made blank in a group that the caller may create in, once, and refused beside its fields', async () => {
    const who = await aUser(t.ctx)
    const mine = await aGroup(t.ctx, { creator: who, visibility: 'internal', path: `mine${unique()}` })
    const other = await aGroup(t.ctx, { visibility: 'public' })
    const closed = await aGroup(t.ctx, { creator: who, visibility: 'public', project_creation_level: 'noone' })
    const browser = await signedIn(who)
    await browser.open('/dashboard')
    expect(browser.page?.$('.heading a').text()).toMatch(/New group\s*New project/)
    const page = await browser.open(`/projects/new?namespace_id=${mine.id}`)
    const places = page
      .$('#project_namespace_id option')
      .toArray()
      .map((one) => page.$(one).text())
    expect(places).toEqual([`${who.username} (you)`, mine.fullPath])
    expect(page.$('#project_namespace_id option[selected]').text()).toBe(mine.fullPath)
    expect((await browser.submit('Create project', { 'project[name]': EVIL })).status).toBe(422)
    expect(faultAt(browser, 'project_name')).toContain('Name can contain only')
    expect([browser.page?.$('main img').length, browser.page?.$('#project_name').val()]).toEqual([0, EVIL])
    const fields = { 'project[name]': 'Über Apps 2', 'project[description]': EVIL, 'project[visibility_level]': 'public' }
    expect((await browser.submit('Create project', fields)).status).toBe(422)
    expect(faultAt(browser, 'project_visibility_level')).toContain('not allowed in a internal group')
    const form = browser.page
    const made = await browser.submit('Create project', { ...fields, 'project[visibility_level]': 'internal' })
    expect([made.status, made.at]).toEqual([200, `/${mine.fullPath}/ber-apps-2`])
    expect(made.text).toContain('README.md')
    browser.page = form
    const again = await browser.submit('Create project', { ...fields, 'project[visibility_level]': 'internal' })
    expect(again.at).toBe(made.at)
    const { body } = await t.api('get', `/groups/${mine.id}/projects`, who).expect(200)
    expect(body).toMatchObject([{ name: 'Über Apps 2', description: EVIL, visibility: 'internal', default_branch: 'main' }])
    for (const group of [other, closed]) {
      await browser.open('/projects/new')
      expect((await browser.submit('Create project', { ...fields, 'project[namespace_id]': String(group.id) })).text).toContain(
        'Namespace is not valid',
      )
    }
  })

  it('is made of an archive, which a maintainer has made and downloaded (EX-1, EX-4, EX-5)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { 'kept.txt': 'x' } })
    const advanced = `/${project.fullPath}/-/settings/advanced`
    const browser = await signedIn(owner)
    expect((await browser.open(advanced)).text).not.toContain('Download')
    expect((await browser.submit('Make an archive')).text).toContain('The archive is being made.')
    await t.ctx.jobs.drain()
    const link = (await browser.open(advanced)).$('a:contains("Download")').attr('href') ?? ''
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
    const download = await fetch(t.url + link, { headers: { cookie } })
    expect([download.status, download.headers.get('content-type')]).toEqual([200, 'application/gzip'])
    const archive = await download.blob()
    expect((await fetch(t.url + link)).status).not.toBe(200)

    expect((await browser.open('/projects/new?from=archive')).$('nav.tabs').text()).not.toContain('archive')
    const fields = { 'project[name]': 'Of an archive', 'project[archive]': new File([archive], 'x.tar.gz') }
    expect((await browser.submit('Import project', fields)).status).toBe(403)
    const admin = await signedIn(await anAdmin(t.ctx))
    await admin.open('/projects/new?from=archive')
    const made = await admin.submit('Import project', fields)
    expect(made.text).toContain('The archive is being read.')
    await t.ctx.jobs.drain()
    expect((await admin.open(made.at)).text).toContain('kept.txt')
    await setSettings(t.ctx, { project_export_enabled: false })
    expect((await browser.open(advanced)).text).not.toContain('Make a')
    await setSettings(t.ctx, { project_export_enabled: true })
  })

  it('is imported from an address, which is refused beside its field', async () => {
    const who = await aUser(t.ctx)
    const source = await aProject(t.ctx, { creator: who, visibility: 'public', files: { 'a.txt': 'a' } })
    const browser = await signedIn(who)
    await browser.open('/projects/new?from=url')
    expect((await browser.submit('Import project', { 'project[name]': 'copy', 'project[import_url]': 'file:///etc' })).status).toBe(422)
    expect(browser.page?.$('#project_import_url').val()).toBe('file:///etc')
    expect(faultAt(browser, 'project_import_url')).not.toBe('')
    const made = await browser.submit('Import project', { 'project[import_url]': `${t.url}/${source.fullPath}.git` })
    expect([made.status, made.at]).toEqual([200, `/${who.username}/copy`])
    expect(made.text).toContain('is being imported')
    await t.ctx.jobs.drain()
    expect((await browser.open(made.at)).text).toContain('a.txt')
    await browser.open('/projects/new?from=url')
    const lost = { 'project[name]': 'lost', 'project[import_url]': `${t.url}/no/such.git` }
    const { at } = await browser.submit('Import project', lost)
    await t.ctx.jobs.drain()
    expect((await browser.open(at)).text).toContain('The import has failed')
    await setSettings(t.ctx, { import_sources: [] })
    const without = await browser.open('/projects/new')
    await setSettings(t.ctx, {})
    expect(without.text).not.toContain('Import by address')
  })

  it('begins with the files of a template (WB-391)', async () => {
    const who = await aUser(t.ctx)
    const template = await aProject(t.ctx, { creator: who, files: { 'start.txt': EVIL } })
    const hidden = await aProject(t.ctx, { files: { 'a.txt': 'a' } })
    const browser = await signedIn(who)
    const page = await browser.open('/projects/new?from=template')
    expect(page.$('#templates option').attr('value')).toBe(template.fullPath)
    for (const path of [hidden.fullPath, 'no/such', EVIL]) {
      const refused = await browser.submit('Create project', { 'project[name]': 'Begun', 'project[template_project_id]': path })
      expect([refused.status, browser.page?.$('#project_template_project_id').val()]).toEqual([422, path])
      expect(faultAt(browser, 'project_template_project_id')).toContain('is not a project whose code you may read')
    }
    const made = await browser.submit('Create project', { 'project[template_project_id]': template.fullPath })
    expect([made.at, made.text]).toEqual([`/${who.username}/begun`, expect.stringContaining('files of the template are being copied')])
    await t.ctx.jobs.drain()
    expect((await browser.open(made.at)).text).toContain('start.txt')
  })

  it('and a new group are for those who are signed in; visibilities that are restricted are not offered', async () => {
    const stranger = new TestBrowser(t.url)
    expect((await stranger.open('/projects/new')).at).toContain('/users/sign_in')
    expect((await stranger.open('/groups/new')).at).toContain('/users/sign_in')
    const [browser, admin] = [await signedIn(await aUser(t.ctx)), await signedIn(await anAdmin(t.ctx))]
    const offered = async (who: TestBrowser) => (await who.open('/projects/new')).$('#project_visibility_level option').length
    await setSettings(t.ctx, { restricted_visibility_levels: ['public'] })
    const counts = [await offered(browser), await offered(admin)]
    await setSettings(t.ctx, {})
    expect(counts).toEqual([2, 3])
  })
})

describe('a new group (WB-150)', () => {
  it('is made at the top or in another, with its faults beside the fields', async () => {
    const who = await aUser(t.ctx)
    const browser = await signedIn(who)
    await browser.open('/groups/new')
    expect((await browser.submit('Create group', { 'group[name]': 'API', 'group[path]': 'api' })).status).toBe(422)
    expect(faultAt(browser, 'group_path')).not.toBe('')
    const path = `team${unique()}`
    expect((await browser.submit('Create group', { 'group[name]': 'Team', 'group[path]': path, 'group[visibility_level]': 'internal' })).at).toBe(
      `/groups/${path}`,
    )
    expect(browser.page?.text).toContain('New subgroup')
    const { body: group } = await t.api('get', `/groups/${path}`, who).expect(200)
    await browser.open(`/groups/new?parent_id=${group.id}`)
    expect(browser.page?.$('#group_visibility_level option').length).toBe(2)
    expect((await browser.submit('Create group', { 'group[name]': 'Sub' })).at).toBe(`/groups/${path}/sub`)
    expect((await browser.open(`/groups/${path}/-/subgroups`)).$('.rows strong').text()).toBe('Sub')
    expect((await browser.open('/dashboard/groups')).$('.rows strong').length).toBe(2)
    const without = await signedIn(await aUser(t.ctx, { can_create_group: false }))
    expect((await without.open('/groups/new')).text).toContain('You may not create groups')
    expect((await new TestBrowser(t.url).open('/explore/groups')).text).not.toContain(path)
  })
})

describe('the settings of a project (WB-151)', () => {
  it('are for its maintainers; owners alone rename, archive, transfer and delete it', async () => {
    const people = { guest: await aUser(t.ctx), developer: await aUser(t.ctx), maintainer: await aUser(t.ctx), owner: await aUser(t.ctx) }
    const group = await aGroup(t.ctx, { creator: people.owner, visibility: 'public' })
    const { guest, developer, maintainer } = people
    const project = await aProject(t.ctx, { creator: people.owner, namespace_id: group.id, visibility: 'public', guest, developer, maintainer })
    const pages = [
      'edit',
      '-/settings/features',
      '-/settings/merge_requests',
      '-/settings/advanced',
      '-/variables',
      '-/hooks',
      '-/deploy_keys',
      '-/deploy_tokens',
      '-/settings/access_tokens',
      '-/audit_events',
      '-/protected_branches',
      '-/protected_tags',
      '-/group_links/new',
    ]
    for (const who of [guest, developer]) {
      const browser = await signedIn(who)
      expect((await browser.open(`/${project.fullPath}`)).$('.tabs').text()).not.toContain('Settings')
      for (const path of pages) expect([path, (await browser.open(`/${project.fullPath}/${path}`)).status]).toEqual([path, 403])
    }
    const browser = await signedIn(maintainer)
    for (const path of pages) expect([path, (await browser.open(`/${project.fullPath}/${path}`)).status]).toEqual([path, 200])
    await browser.open(`/${project.fullPath}/edit`)
    expect([browser.page?.$('#project_name').length, browser.page?.$('#project_visibility_level').length]).toEqual([0, 0])
    const token = String(browser.page?.$('[name=authenticity_token]').first().val())
    const refused = async (path: string, method: string, fields = {}) =>
      (await browser.post(`/${project.fullPath}${path}`, { authenticity_token: token, _method: method, ...fields })).status
    expect(await refused('/edit', 'put', { 'project[name]': 'mine' })).toBe(403)
    expect(await refused('/-/archive', 'post')).toBe(403)
    expect(await refused('/-/transfer', 'put', { 'project[namespace]': maintainer.username })).toBe(403)
    expect(await refused('', 'delete', { full_path: project.fullPath })).toBe(403)
    const advanced = await browser.open(`/${project.fullPath}/-/settings/advanced`)
    expect(advanced.text).not.toMatch(/Archive|Transfer|Delete project/)
    const { body } = await t.api('get', project.path, people.owner).expect(200)
    expect(body).toMatchObject({ archived: false, path_with_namespace: project.fullPath })
    expect((await new TestBrowser(t.url).open(`/${project.fullPath}/edit`)).at).toContain('/users/sign_in')
  })

  it('change name, texts, features and merge rules; what is wrong stands beside its field and changes nothing', async () => {
    const who = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: who, visibility: 'public', files: { a: 'a' } })
    const at = `/${project.fullPath}`
    const browser = await signedIn(who)
    await browser.open(`${at}/-/settings`)
    expect([browser.page?.at, browser.page?.$('#project_default_branch').val()]).toEqual([`${at}/edit`, 'main'])
    const wrong = await browser.submit('Save changes', { 'project[name]': '//', 'project[description]': 'x'.repeat(2_001) })
    expect([wrong.status, wrong.$('.fault').length]).toEqual([422, 2])
    await browser.open(`${at}/edit`)
    expect((await browser.submit('Save changes', { 'project[default_branch]': 'gone' })).text).toContain("Do you have a branch named 'gone'")
    const png = new File(
      [Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64')],
      'p.png',
    )
    await browser.open(`${at}/edit`)
    await browser.submit('Save changes', { 'project[description]': EVIL, 'project[tag_list]': 'two, one', 'project[avatar]': png })
    expect([browser.page?.text.includes('Settings updated.'), browser.page?.$('main img').length]).toEqual([true, 0])
    await browser.submit('Remove avatar')
    await browser.open(`${at}/-/settings/features`)
    await browser.submit('Save changes', {
      'project[wiki_access_level]': 'disabled',
      'project[issues_access_level]': 'private',
      'project[request_access_enabled]': '1',
    })
    await browser.open(`${at}/-/settings/merge_requests`)
    expect(
      (await browser.submit('Save changes', { 'project[merge_commit_template]': 'x'.repeat(501) })).$('#project_merge_commit_template_fault').length,
    ).toBe(1)
    await browser.open(`${at}/-/settings/merge_requests`)
    await browser.submit('Save changes', {
      'project[merge_method]': 'ff',
      'project[squash_option]': 'always',
      'project[only_allow_merge_if_pipeline_succeeds]': '1',
      'project[squash_commit_template]': '%{title}',
    })
    const { body } = await t.api('get', project.path, who).expect(200)
    expect(body).toMatchObject({
      description: EVIL,
      topics: ['one', 'two'],
      avatar_url: null,
      default_branch: 'main',
      wiki_access_level: 'disabled',
      issues_access_level: 'private',
      request_access_enabled: true,
      lfs_enabled: true,
      merge_method: 'ff',
      squash_option: 'always',
      only_allow_merge_if_pipeline_succeeds: true,
      merge_commit_template: null,
      squash_commit_template: '%{title}',
      issue_branch_template: null,
    })
  })

  it('move, archive, delete and restore it, and say how much space it takes (WB-152, WB-153)', async () => {
    const who = await aUser(t.ctx)
    const [group, foreign] = [await aGroup(t.ctx, { creator: who, visibility: 'public' }), await aGroup(t.ctx, { visibility: 'public' })]
    const project = await aProject(t.ctx, { creator: who, name: `moved${unique()}`, files: { a: 'a' } })
    const browser = await signedIn(who)
    await browser.open(`/${project.fullPath}/-/settings/advanced`)
    expect(browser.page?.$('.sizes tr').length).toBe(5)
    expect((await browser.submit('Run housekeeping')).text).toContain('is being packed')
    expect((await browser.submit('Change path', { 'project[path]': 'a b' })).status).toBe(422)
    expect(faultAt(browser, 'project_path')).not.toBe('')
    expect((await browser.submit('Change path', { 'project[path]': 'renamed' })).at).toBe(`/${who.username}/renamed/-/settings/advanced`)
    for (const namespace of [foreign.fullPath, 'no-such-namespace']) {
      expect((await browser.submit('Transfer project', { 'project[namespace]': namespace })).status).toBe(422)
      expect(faultAt(browser, 'project_namespace')).toContain('is none that you may create projects in')
    }
    const home = `/${group.fullPath}/renamed`
    expect((await browser.submit('Transfer project', { 'project[namespace]': group.fullPath })).at).toBe(`${home}/-/settings/advanced`)
    expect((await browser.submit('Archive project')).text).toContain('Project archived.')
    expect((await browser.submit('Unarchive project')).text).toContain('Project unarchived.')
    expect((await browser.submit('Delete project', { full_path: 'renamed' })).status).toBe(422)
    expect(faultAt(browser, 'full_path')).toContain('is another one')
    const deleted = await browser.submit('Delete project', { full_path: home.slice(1) })
    expect([deleted.at, deleted.$('.rows strong').text()]).toEqual(['/dashboard/projects/removed', home.slice(1)])
    expect((await (await signedIn(await aUser(t.ctx))).open('/dashboard/projects/removed')).$('.rows').length).toBe(0)
    const waiting = await browser.open(String(deleted.$('.rows a.button').attr('href')))
    expect([waiting.status, sideOf(browser)]).toEqual([200, ['Advanced']])
    const twin = await aProject(t.ctx, { creator: who, namespace_id: group.id, name: 'Twin', path: 'renamed' })
    const refused = await browser.submit('Restore project')
    expect([refused.status, refused.text.includes('Path has already been taken')]).toEqual([422, true])
    await t.api('delete', `${twin.path}?permanently_remove=true`, who).expect(202)
    expect((await browser.submit('Restore project')).at).toBe(home)
    await browser.open(`${home}/-/settings/advanced`)
    await browser.submit('Delete project', { full_path: home.slice(1) })
    await browser.open(String(browser.page?.$('.rows a.button').attr('href')))
    expect((await browser.submit('Delete for good', { full_path: home.slice(1) })).$('.rows').length).toBe(0)
    await t.api('get', project.path, who).expect(404)
  })
})

describe('the settings of a group (WB-151)', () => {
  it('are for its owners; maintainers have its variables and deploy tokens', async () => {
    const [owner, maintainer, developer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner, maintainer, developer, visibility: 'public' })
    const at = `/groups/${group.fullPath}`
    const statuses = async (who: TestUser) => {
      const browser = await signedIn(who)
      const found: number[] = []
      for (const path of ['edit', 'settings/permissions', 'settings/advanced', 'hooks', 'variables', 'deploy_tokens', 'group_members', 'subgroups'])
        found.push((await browser.open(`${at}/-/${path}`)).status)
      return found
    }
    expect(await statuses(owner)).toEqual([200, 200, 200, 200, 200, 200, 200, 200])
    expect(await statuses(maintainer)).toEqual([403, 403, 403, 403, 200, 200, 200, 200])
    expect(await statuses(developer)).toEqual([403, 403, 403, 403, 403, 403, 200, 200])
    const browser = await signedIn(maintainer)
    expect((await browser.open(at)).$('.tabs a').last().attr('href')).toBe(`${at}/-/variables`)
  })

  it('change it, delete it with what is in it, and restore it', async () => {
    const who = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: who, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: who, namespace_id: group.id, visibility: 'public' })
    const at = `/groups/${group.fullPath}`
    const browser = await signedIn(who)
    await browser.open(`${at}/-/edit`)
    expect((await browser.submit('Save changes', { 'group[visibility_level]': 'private' })).status).toBe(422)
    expect(faultAt(browser, 'group_visibility_level')).toContain('contains projects with higher visibility')
    await browser.submit('Save changes', { 'group[visibility_level]': 'public', 'group[description]': EVIL, 'group[name]': 'New name' })
    expect([browser.page?.$('main img').length, browser.page?.$('.path .name').text()]).toEqual([0, 'New name'])
    await browser.open(`${at}/-/settings/permissions`)
    expect(
      (await browser.submit('Save changes', { 'group[two_factor_grace_period]': '9999' })).$('#group_two_factor_grace_period_fault').length,
    ).toBe(1)
    await browser.submit('Save changes', {
      'group[two_factor_grace_period]': '24',
      'group[project_creation_level]': 'noone',
      'group[share_with_group_lock]': '1',
    })
    const { body } = await t.api('get', group.path, who).expect(200)
    expect(body).toMatchObject({
      name: 'New name',
      description: EVIL,
      project_creation_level: 'noone',
      share_with_group_lock: true,
      lfs_enabled: true,
      two_factor_grace_period: 24,
    })
    await browser.open(`${at}/-/settings/advanced`)
    const path = `other${unique()}`
    expect((await browser.submit('Change path', { 'group[path]': path })).at).toBe(`/groups/${path}/-/settings/advanced`)
    expect((await browser.submit('Delete group', { full_path: group.fullPath })).status).toBe(422)
    const deleted = await browser.submit('Delete group', { full_path: path })
    expect(deleted.$('.rows strong').text()).toBe(path)
    await t.api('get', project.path, await aUser(t.ctx)).expect(404)
    expect((await browser.submit('Restore')).at).toBe(`/groups/${path}`)
    await t.api('get', project.path, await aUser(t.ctx)).expect(200)
  })
})

describe('members (WB-154)', () => {
  it('are found, added with role and last day, changed and removed; inherited ones say by which group (WB-157)', async () => {
    const [owner, one, two, above] = [await aUser(t.ctx, { name: 'Olivia' }), await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const group = await aGroup(t.ctx, { creator: owner, developer: above, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, namespace_id: group.id, visibility: 'public' })
    const at = `/${project.fullPath}/-/project_members`
    const browser = await signedIn(owner)
    const page = await browser.open(at)
    expect([page.$('.rows li').length, page.text]).toEqual([2, expect.stringContaining(`Developer by the group ${group.fullPath}`)])
    expect((await browser.submit('Add members', { 'member[usernames]': `${one.username}, no-such-user` })).status).toBe(422)
    expect(faultAt(browser, 'member_usernames')).toContain('no-such-user')
    expect((await browser.submit('Add members', { 'member[usernames]': one.username, 'member[expires_at]': '2001-01-01' })).status).toBe(422)
    expect(faultAt(browser, 'member_expires_at')).toContain('cannot be a date in the past')
    expect((await t.api('get', `${project.path}/members`, owner)).body).toEqual([])
    await browser.submit('Add members', {
      'member[usernames]': `@${one.username},${two.username}`,
      'member[access_level]': '20',
      'member[expires_at]': '2999-01-01',
    })
    expect(browser.page?.text).toContain('2 members are added.')
    expect((await browser.open(`${at}?search=${one.username}`)).$('.rows li').length).toBe(1)
    expect(browser.page?.text).toContain('Reporter · until 1 Jan 2999')
    await browser.open(`${at}/${one.id}`)
    await browser.submit('Save changes', { 'member[access_level]': '40', 'member[expires_at]': '' })
    const { body } = await t.api('get', `${project.path}/members/${one.id}`, owner).expect(200)
    expect(body).toMatchObject({ access_level: 40, expires_at: null })
    const log = await browser.open(`/${project.fullPath}/-/audit_events`)
    expect(log.$('.rows .what').first().text()).toBe(
      `member updated by ${owner.username}user @${one.username} · expires at 2999-01-01 → none · access level Reporter → Maintainer`,
    )
    expect((await browser.open(`/groups/${group.fullPath}/-/audit_events`)).text).toContain('group created')
    // a maintainer cannot make somebody an owner, and is not offered it
    const maintainer = await signedIn(one)
    await maintainer.open(at)
    expect(maintainer.page?.$('#member_access_level option').last().text()).toBe('Maintainer')
    expect((await maintainer.submit('Add members', { 'member[usernames]': above.username, 'member[access_level]': '50' })).status).toBe(422)
    expect((await maintainer.submit('Leave')).at).toBe('/dashboard')
    const visitor = await signedIn(await aUser(t.ctx))
    const seen = await visitor.open(at)
    expect([seen.status, seen.text.includes('Add members'), seen.$('.rows .actions').length]).toEqual([200, false, 0])
    expect((await visitor.open(`${at}/${two.id}`)).status).toBe(403)
  })

  it('ask for access, and are approved, denied, or withdraw', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public', request_access_enabled: true })
    const at = `/groups/${group.fullPath}/-/group_members`
    const people = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    for (const who of people) {
      const browser = await signedIn(who)
      await browser.open(at)
      expect((await browser.submit('Request access')).text).toContain('You have asked for access.')
      if (who === people[2]) expect((await browser.submit('Withdraw the request')).text).toContain('withdrawn')
    }
    const browser = await signedIn(owner)
    await browser.open(at)
    expect(browser.page?.text.match(/ApproveDeny/g)).toHaveLength(2)
    await browser.submit('Approve', { access_level: '20' })
    await browser.submit('Deny')
    const { body } = await t.api('get', `${group.path}/members`, owner).expect(200)
    expect(body.map(({ id, access_level }: { id: number; access_level: number }) => [id, access_level])).toEqual([
      [owner.id, 50],
      [people[0]?.id, 20],
    ])
    expect((await browser.submit('Leave')).status).toBe(403)
  })

  it('come by groups that a project is shared with', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public' })
    const project = await aProject(t.ctx, { creator: owner, visibility: 'public' })
    const at = `/${project.fullPath}/-/group_links`
    const browser = await signedIn(owner)
    await browser.open(`${at}/new`)
    expect((await browser.submit('Share project', { 'share[group]': 'no-such-group' })).$('#share_group_fault').length).toBe(1)
    expect((await browser.submit('Share project', { 'share[group]': group.fullPath, 'share[group_access]': '20' })).text).toContain(
      'At most Reporter',
    )
    await browser.open(`${at}/${group.id}`)
    expect((await browser.submit('Save changes', { 'share[expires_at]': '2001-01-01' })).$('#share_expires_at_fault').length).toBe(1)
    await browser.submit('Save changes', { 'share[group_access]': '40', 'share[expires_at]': '2999-01-01' })
    const { body } = await t.api('get', project.path, owner).expect(200)
    expect(body.shared_with_groups).toMatchObject([{ group_id: group.id, group_access_level: 40, expires_at: '2999-01-01' }])
    expect((await browser.submit('Remove')).text).toContain('no longer shared')
    expect((await browser.open(`${at}/${group.id}`)).status).toBe(404)
  })
})

describe('groups shared with groups', () => {
  it('are shared, changed and no longer shared, by owners (WB-351)', async () => {
    const [owner, developer, outsider] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
    const hidden = await aGroup(t.ctx)
    const other = await aGroup(t.ctx, { creator: owner, developer: outsider })
    const group = await aGroup(t.ctx, { creator: owner, developer })
    const at = `/groups/${group.fullPath}/-/group_links`
    const browser = await signedIn(owner)
    await browser.open(`/groups/${group.fullPath}/-/group_members`)
    expect(browser.page?.text).toContain('This group is shared with no group.')
    await browser.open(`${at}/new`)
    expect((await browser.submit('Share group', { 'share[group]': hidden.fullPath })).$('#share_group_fault').length).toBe(1)
    const shared = await browser.submit('Share group', { 'share[group]': other.fullPath, 'share[group_access]': '20' })
    expect(shared.text).toContain('At most Reporter')
    expect(shared.text).toContain('Reporter by a share with a group')
    // who does not see the other group does not learn of it
    const theirs = await (await signedIn(developer)).open(`/groups/${group.fullPath}/-/group_members`)
    expect([theirs.status, theirs.text.includes(other.fullPath), theirs.text.includes('Share with a group')]).toEqual([200, false, false])
    expect((await (await signedIn(developer)).open(`${at}/new`)).status).toBe(403)
    await browser.open(`${at}/${other.id}`)
    expect((await browser.submit('Save changes', { 'share[expires_at]': '2001-01-01' })).$('#share_expires_at_fault').length).toBe(1)
    await browser.submit('Save changes', { 'share[group_access]': '50', 'share[expires_at]': '2999-01-01' })
    expect((await t.api('get', group.path, owner).expect(200)).body.shared_with_groups).toMatchObject([
      { group_id: other.id, group_access_level: 50, expires_at: '2999-01-01' },
    ])
    await browser.open(`/groups/${group.fullPath}/-/group_members`)
    const form = { _method: 'delete', authenticity_token: String(browser.page?.$('[name=authenticity_token]').val()) }
    expect((await browser.post(`${at}/${other.id}`, form)).text).toContain('no longer shared')
    expect((await browser.open(`${at}/${other.id}`)).status).toBe(404)
  })
})

describe('protection, variables, keys and tokens', () => {
  it('protect branches and tags by name or pattern', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const at = `/${project.fullPath}/-`
    const browser = await signedIn(owner)
    for (const [from, to] of [
      ['ci_cd', 'variables'],
      ['members', 'project_members'],
      ['repository', 'protected_branches'],
    ])
      expect((await browser.open(`${at}/settings/${from}`)).at).toBe(`${at}/${to}`)
    expect((await browser.submit('Protect', { 'protected_branch[name]': ' ' })).status).toBe(422)
    expect(faultAt(browser, 'protected_branch_name')).toContain("can't be blank")
    await browser.submit('Protect', { 'protected_branch[name]': 'release/*', 'protected_branch[push_access_level]': '0' })
    await browser.open(String(browser.page?.$('.rows a.button').last().attr('href')))
    await browser.submit('Save changes', { 'protected_branch[merge_access_level]': '30', 'protected_branch[allow_force_push]': '1' })
    const { body } = await t.api('get', `${project.path}/protected_branches/release%2F*`, owner).expect(200)
    expect(body).toMatchObject({ allow_force_push: true, push_access_levels: [{ access_level: 0 }], merge_access_levels: [{ access_level: 30 }] })
    expect((await browser.submit('Protect', { 'protected_branch[name]': 'release/*' })).text).toContain('already exists')
    await browser.open(`${at}/protected_tags`)
    await browser.submit('Protect', { 'protected_tag[name]': 'v*' })
    expect((await browser.submit('Protect', { 'protected_tag[name]': 'v*' })).$('#protected_tag_name_fault').text()).toContain('already been taken')
    await browser.open(`${at}/protected_tags`)
    expect((await browser.submit('Unprotect')).text).toContain('No tag is protected.')
  })

  it('keep values of variables out of the list (WB-155)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const project = await aProject(t.ctx, { creator: owner })
    for (const [at, path] of [
      [`/${project.fullPath}/-/variables`, project.path],
      [`/groups/${group.fullPath}/-/variables`, group.path],
    ] as const) {
      const browser = await signedIn(owner)
      await browser.open(at)
      expect((await browser.submit('Add variable', { 'variable[key]': 'A-B', 'variable[value]': 'x' })).$('#variable_key_fault').length).toBe(1)
      const added = await browser.submit('Add variable', {
        'variable[key]': 'TOKEN',
        'variable[value]': `s3cret ${EVIL}`,
        'variable[protected]': '1',
      })
      expect([added.text.includes('The variable TOKEN is added.'), added.html.includes('s3cret')]).toEqual([true, false])
      const shown = await browser.open(`${at}/TOKEN`)
      expect([shown.$('#variable_value').text().trim(), shown.headers.get('cache-control'), shown.$('main img').length]).toEqual([
        `s3cret ${EVIL}`,
        'no-store',
        0,
      ])
      await browser.submit('Save changes', { 'variable[value]': 'other' })
      expect((await t.api('get', `${path}/variables/TOKEN`, owner)).body).toMatchObject({ key: 'TOKEN', value: 'other' })
      expect((await browser.submit('Delete')).text).toContain('There are no variables.')
    }
  })

  it('have variables of one name for several environments, and what kind they are (V-60 to V-64)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner })
    const browser = await signedIn(owner)
    const at = `/${project.fullPath}/-/variables`
    await browser.open(at)
    const short = await browser.submit('Add variable', { 'variable[key]': 'URL', 'variable[value]': 'short', 'variable[masked]': '1' })
    expect(short.$('#variable_value_fault').text()).toContain('is invalid')
    await browser.open(at)
    await browser.submit('Add variable', { 'variable[key]': 'URL', 'variable[value]': 'all' })
    const given = { 'variable[key]': 'URL', 'variable[value]': 'live-one', 'variable[environment_scope]': 'production', 'variable[masked]': '1' }
    const both = await browser.submit('Add variable', given)
    expect(both.$('.rows .badge').text()).toBe('productionmasked')
    const live = await browser.open(both.$('[aria-label="Show URL in production"]').attr('href') as string)
    expect([live.$('#variable_value').text().trim(), live.$('#variable_environment_scope').val()]).toEqual(['live-one', 'production'])
    await browser.submit('Save changes', { 'variable[environment_scope]': 'prod/*', 'variable[variable_type]': 'file', 'variable[raw]': '1' })
    const one = await t.api('get', `${project.path}/variables/URL?filter[environment_scope]=prod/*`, owner).expect(200)
    expect(one.body).toMatchObject({ value: 'live-one', variable_type: 'file', masked: true, raw: true })
    expect((await t.api('get', `${project.path}/variables`, owner)).body).toMatchObject([{ value: 'all' }, { value: 'live-one' }])
  })

  it('hide the value of a variable for good (RX-8)', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner })
    const browser = await signedIn(owner)
    const list = `/${project.fullPath}/-/variables`
    await browser.open(list)
    const fields = { 'variable[key]': 'HID', 'variable[value]': 'secret_value', 'variable[description]': 'of the cloud', 'variable[hidden]': '1' }
    const added = await browser.submit('Add variable', fields)
    expect([added.text.includes('of the cloud'), added.text.includes('hidden')]).toEqual([true, true])
    const shown = await browser.open(`${list}/HID`)
    expect([shown.text.includes('secret_value'), shown.$('#variable_value').text()]).toEqual([false, ''])
    await browser.submit('Save changes', { 'variable[description]': 'of all clouds' })
    const { body } = await t.api('get', `${project.path}/variables/HID`, owner).expect(200)
    expect(body).toMatchObject({ value: null, masked: true, hidden: true, description: 'of all clouds' })
  })

  it('say which jobs may use a project with their token (CI-244)', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner })
    const [project, other] = [await aProject(t.ctx, { creator: owner }), await aProject(t.ctx, { creator: owner })]
    const browser = await signedIn(owner)
    await browser.open(`/${project.fullPath}/-/job_token_scope`)
    expect((await browser.submit('Allow', { 'allowed[path]': 'no/such' })).text).toContain('There is no such project or group.')
    await browser.open(`/${project.fullPath}/-/job_token_scope`)
    await browser.submit('Allow', { 'allowed[path]': `/${other.fullPath}` })
    const both = await browser.submit('Allow', { 'allowed[path]': group.fullPath })
    expect(
      both
        .$('.rows a')
        .toArray()
        .map((link) => both.$(link).text()),
    ).toEqual([group.fullPath, other.fullPath])
    await browser.submit('Remove')
    await browser.submit('Save changes', { 'job_token_scope[enabled]': '0' })
    expect((await t.api('get', `${project.path}/job_token_scope`, owner)).body.inbound_enabled).toBe(false)
    expect((await t.api('get', `${project.path}/job_token_scope/allowlist`, owner)).body).toMatchObject([{ id: project.id }, { id: other.id }])
  })

  it('have variables of the service for its administrators (V-65)', async () => {
    const admin = await anAdmin(t.ctx)
    const browser = await signedIn(admin)
    await browser.open('/admin/variables')
    const added = await browser.submit('Add variable', { 'variable[key]': 'SHARED', 'variable[value]': 'one', 'variable[protected]': '1' })
    expect([added.text.includes('SHARED'), added.$('[name="variable[environment_scope]"]').length]).toEqual([true, 0])
    await browser.open('/admin/variables/SHARED')
    await browser.submit('Save changes', { 'variable[value]': 'two' })
    expect((await t.api('get', '/admin/ci/variables/SHARED', admin).expect(200)).body).toMatchObject({ value: 'two', protected: true })
    expect((await browser.submit('Delete')).text).toContain('There are no variables.')
  })

  it('show deploy tokens once, and let keys push or not', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const browser = await signedIn(owner)
    await browser.open(`/${project.fullPath}/-/deploy_tokens`)
    expect(
      (await browser.submit('Create token', { 'deploy_token[name]': 'x', 'deploy_token[username]': 'a b' })).$('#deploy_token_username_fault').length,
    ).toBe(1)
    const made = await browser.submit('Create token', { 'deploy_token[name]': EVIL, 'deploy_token[username]': 'machine' })
    const value = String(made.$('#token').val())
    expect([value.length > 10, made.headers.get('cache-control')]).toEqual([true, 'no-store'])
    const answer = await fetch(`${t.url}/${project.fullPath}.git/info/refs?service=git-upload-pack`, {
      headers: { authorization: `Basic ${Buffer.from(`machine:${value}`).toString('base64')}` },
    })
    expect(answer.status).toBe(200)
    const listed = await browser.open(`/${project.fullPath}/-/deploy_tokens`)
    expect([listed.html.includes(value), listed.$('main img').length, listed.text.includes('machine')]).toEqual([false, 0, true])
    expect((await browser.submit('Revoke')).text).toContain('There are no deploy tokens.')
    await browser.open(`/${project.fullPath}/-/deploy_keys`)
    expect((await browser.submit('Add key', { 'deploy_key[title]': 'm', 'deploy_key[key]': 'no key' })).$('#deploy_key_key_fault').length).toBe(1)
    await browser.submit('Add key', { 'deploy_key[title]': 'machine', 'deploy_key[key]': KEY, 'deploy_key[can_push]': '1' })
    await browser.open(String(browser.page?.$('.rows a.button').attr('href')))
    await browser.submit('Save changes', { 'deploy_key[title]': 'robot', 'deploy_key[can_push]': [] })
    expect((await t.api('get', `${project.path}/deploy_keys`, owner)).body).toMatchObject([{ title: 'robot', can_push: false }])
    expect((await browser.submit('Remove')).text).toContain('There are no deploy keys.')
  })
})

describe.each(['project', 'group'] as const)('access tokens of a %s (PT-9)', (kind) => {
  it('are made in its settings, shown once, listed and revoked there; its members have the bot, and no button to remove it', async () => {
    const owner = await aUser(t.ctx)
    const at = kind === 'project' ? await aProject(t.ctx, { creator: owner, files: { a: 'a' } }) : await aGroup(t.ctx, { creator: owner })
    const home = kind === 'project' ? `/${at.fullPath}/-` : `/groups/${at.fullPath}/-`
    const browser = await signedIn(owner)
    await browser.open(`${home}/settings/access_tokens`)
    const sent = { 'access_token[name]': EVIL, 'access_token[access_level]': '20', 'access_token[scopes][]': ['read_api', 'read_repository'] }
    const refused = await browser.submit('Create token', { 'access_token[name]': 'x' })
    expect([refused.status, refused.text.includes("can't be blank")]).toEqual([422, true])
    const made = await browser.submit('Create token', sent)
    const value = String(made.$('#token').val())
    expect([value.length, made.headers.get('cache-control')]).toEqual([20, 'no-store'])
    expect((await t.api('get', at.path, { token: value }).expect(200)).body.id).toBe(at.id)
    const listed = await browser.open(`${home}/settings/access_tokens`)
    expect([listed.html.includes(value), listed.$('main img').length]).toEqual([false, 0])
    expect(listed.$('main .rows').text()).toContain('Reporter')
    const members = await browser.open(`${home}/${kind}_members`)
    expect(members.$('main .rows').last().text()).toContain('bot')
    expect(members.$('main .rows form').length).toBe(kind === 'group' ? 1 : 0)
    await browser.open(`${home}/settings/access_tokens`)
    expect((await browser.submit('Revoke')).text).toContain('There are no active tokens.')
    await t.api('get', at.path, { token: value }).expect(401)
  })
})

describe('webhooks (WB-156)', () => {
  it('are added, tested, and send a failed delivery again', async () => {
    const owner = await aUser(t.ctx)
    const project = await aProject(t.ctx, { creator: owner, files: { a: 'a' } })
    const at = `/${project.fullPath}/-/hooks`
    const browser = await signedIn(owner)
    await browser.open(at)
    expect((await browser.submit('Add webhook', { 'hook[url]': 'ftp://example.com', 'hook[name]': EVIL })).status).toBe(422)
    expect(faultAt(browser, 'hook_url')).not.toBe('')
    expect((await t.api('get', `${project.path}/hooks`, owner)).body).toEqual([])
    await browser.submit('Add webhook', {
      'hook[url]': `${r.url}/hook`,
      'hook[name]': EVIL,
      'hook[token]': 's3cret',
      'hook[events][]': ['push', 'issues'],
    })
    const edit = String(browser.page?.at)
    const { body } = await t.api('get', `${project.path}/hooks`, owner).expect(200)
    expect(body).toMatchObject([{ url: `${r.url}/hook`, push_events: true, issues_events: true, note_events: false, enable_ssl_verification: true }])
    expect(browser.page?.html).not.toContain('s3cret')
    r.reply('/hook', { status: 500, body: EVIL })
    expect((await browser.submit('Send a sample')).text).toContain('The receiver has answered 500.')
    r.reply('/hook', { status: 200, body: 'fine' })
    expect((await browser.submit('Send again')).text).toContain('The receiver has answered 200.')
    expect(browser.page?.$('.rows li').length).toBe(2)
    const one = await browser.open(String(browser.page?.$('.rows .what a').last().attr('href')))
    expect([one.text.includes(EVIL), one.text.includes('"object_kind": "push"'), one.$('main img').length, one.html.includes('s3cret')]).toEqual([
      true,
      true,
      0,
      false,
    ])
    await browser.open(edit)
    await browser.submit('Save changes', { 'hook[events][]': [], 'hook[url]': `${r.url}/hook` })
    const { body: after } = await t.api('get', `${project.path}/hooks`, owner).expect(200)
    expect(after).toMatchObject([{ push_events: false, issues_events: false }])
    const other = await aProject(t.ctx, { creator: owner })
    expect((await browser.open(edit.replace(project.fullPath, other.fullPath))).status).toBe(404)
    await browser.open(at)
    expect((await browser.submit('Delete')).text).toContain('There are no webhooks.')
  })
})

describe('what these pages cost', () => {
  it('is the same number of statements, however much they list', async () => {
    const owner = await aUser(t.ctx)
    const group = await aGroup(t.ctx, { creator: owner, visibility: 'public', request_access_enabled: true })
    const project = await aProject(t.ctx, {
      creator: owner,
      namespace_id: group.id,
      visibility: 'public',
      request_access_enabled: true,
      files: { a: 'a' },
    })
    const browser = await signedIn(owner)
    const pages = ['project_members', 'variables', 'hooks', 'deploy_keys', 'deploy_tokens', 'protected_branches', 'audit_events', 'settings/advanced']
    const costs = async () => {
      const found: [string, number][] = []
      for (const page of pages) {
        const path = `/${project.fullPath}/-/${page}`
        // what is read once a second, or by a job, may come between
        const counts: number[] = []
        for (let i = 0; i < 3; i++) counts.push((await t.queriesOf(() => browser.open(path))).length)
        found.push([page, Math.min(...counts)])
      }
      return found
    }
    const add = async (times: number) => {
      for (let i = 0; i < times; i++) {
        const [one, two, three] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
        await t.api('post', `${project.path}/members`, owner).send({ user_id: one.id, access_level: 30 }).expect(201)
        await t.api('post', `${group.path}/members`, owner).send({ user_id: two.id, access_level: 20 }).expect(201)
        await t.api('post', `${project.path}/access_requests`, three).expect(201)
        await t
          .api('post', `${project.path}/variables`, owner)
          .send({ key: `K${unique()}`, value: 'v' })
          .expect(201)
        await t
          .api('post', `${project.path}/hooks`, owner)
          .send({ url: `${r.url}/${unique()}` })
          .expect(201)
        await t
          .api('post', `${project.path}/deploy_tokens`, owner)
          .send({ name: 'x', scopes: ['read_repository'] })
          .expect(201)
        await t
          .api('post', `${project.path}/protected_branches`, owner)
          .send({ name: `b${unique()}` })
          .expect(201)
      }
    }
    await add(1)
    const few = await costs()
    await add(4)
    expect(await costs()).toEqual(few)
    expect(Math.max(...few.map(([, count]) => count))).toBeLessThan(15)
  })
})
