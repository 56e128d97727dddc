import { expect, it } from 'vitest'
import { registryOf } from '../routes/packages/packages.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aGroup, aProject, aUser } from '../support/factories.js'

const t = testApp()

it('packages are listed, shown and deleted in pages, which say how they are published and installed (PK-60)', async () => {
  const [creator, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
  const group = await aGroup(t.ctx, { creator })
  const project = await aProject(t.ctx, { creator, namespace_id: group.id, visibility: 'private', reporter })
  const [maintainer, reader] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await maintainer.signIn(creator)
  await reader.signIn(reporter)
  const at = `/${project.fullPath}/-/packages`
  const empty = await maintainer.open(at)
  for (const command of ['curl --header', 'npm publish', 'twine upload', 'mvn deploy']) expect(empty.text).toContain(command)
  expect((await reader.open(at)).text).not.toContain('npm publish')
  expect(empty.$('nav a[href$="/-/packages"]').text()).toContain('Packages')

  for (const path of ['tool/1.0/tool.zip', 'tool/2.0/tool.zip', 'other/1.0/x.bin'])
    await t.api('put', `${project.path}/packages/generic/${path}`, creator).send(path).expect(201)
  const { text, $ } = await reader.open(at)
  expect(text).toMatch(/other 1\.0.*tool 2\.0.*tool 1\.0/)
  expect($('a[href$="?type=npm"]').length).toBe(1)
  expect((await reader.open(`${at}?search=tool`)).text).not.toContain('other')
  expect((await reader.open(`${at}?type=npm`)).text).toContain('There are no such packages.')
  expect((await reader.open(`/groups/${group.fullPath}/-/packages`)).text).toContain(`tool 2.0 Generic ${project.fullPath}`)

  await reader.open(`${at}?search=tool`)
  const shown = await reader.follow('tool')
  expect(shown.text).toContain(`--remote-name ${t.ctx.links.base}/api/v4${project.path}/packages/generic/tool/2.0/tool.zip`)
  expect(shown.text).toContain('Other versions')
  expect(shown.$('form').text()).not.toContain('Delete')
  const file = await reader.follow('tool.zip')
  expect([file.html, file.headers.get('content-disposition')]).toEqual(['tool/2.0/tool.zip', 'attachment; filename="tool.zip"'])

  const page = await maintainer.open(shown.at)
  const [ofFile] = page.$('form[action*="/files/"]').toArray()
  expect(ofFile).toBeDefined()
  const removed = await maintainer.submit('Delete', {})
  expect(removed.at).toBe(at)
  expect(removed.text).toContain('The package is deleted.')
  expect((await reader.open(shown.at)).status).toBe(404)
  expect((await new TestBrowser(t.url).open(at)).text).toContain('Sign in')
})

it('images are listed by repository and tag, and deleted by those who may (OCI-60)', async () => {
  const [creator, reporter, developer] = [await aUser(t.ctx), await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator, visibility: 'private', reporter, developer })
  const [maintainer, writer, reader] = [new TestBrowser(t.url), new TestBrowser(t.url), new TestBrowser(t.url)]
  await maintainer.signIn(creator)
  await writer.signIn(developer)
  await reader.signIn(reporter)
  const at = `/${project.fullPath}/-/container_registry`
  const empty = await writer.open(at)
  expect(empty.text).toContain('There are no images yet.')
  expect(empty.text).toContain(`docker push ${new URL(t.ctx.links.base).host}/${project.fullPath}`)
  expect((await reader.open(at)).text).not.toContain('docker push')

  const name = `${project.fullPath}/app`
  for (const tag of ['v1', 'v2']) await registryOf(t).image({ name, tag, by: creator })
  await reader.open(`/${project.fullPath}/-/packages`)
  const list = await reader.follow('Container registry')
  expect([list.at, list.text]).toEqual([at, expect.stringContaining('2 tags')])
  const tags = await reader.follow(`${new URL(t.ctx.links.base).host}/${name}`)
  expect(tags.text).toMatch(/docker pull \S+\/app:v1.*v1.*v2/)
  expect([list, tags].flatMap(({ $ }) => $('form[action*="container_registry"]').toArray())).toEqual([])
  expect((await writer.open(at)).$('form[action*="container_registry"]').length).toBe(0)

  expect((await writer.open(tags.at)).$('form[action$="/tags/v1"]').length).toBe(1)
  const less = await writer.submit('Delete', {})
  expect(less.at).toBe(tags.at)
  expect(less.text).toContain('The tag v1 is deleted.')
  expect((await reader.open(tags.at)).text).not.toContain('v1')
  await maintainer.open(at)
  expect((await maintainer.submit('Delete', {})).text).toContain('The images are deleted.')
  expect((await reader.open(tags.at)).status).toBe(404)

  await t.api('put', project.path, creator).send({ container_registry_enabled: false }).expect(200)
  expect((await maintainer.open(at)).status).toBe(403)
  expect((await new TestBrowser(t.url).open(at)).text).toContain('Sign in')
})

it('packages are protected by their names in the settings (PK-92)', async () => {
  const [creator, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator, developer })
  const [owner, other] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await owner.signIn(creator)
  await other.signIn(developer)
  const at = `/${project.fullPath}/-/settings/packages`
  expect((await other.open(at)).status).toBe(403)
  const empty = await owner.open(at)
  expect(empty.text).toContain('No packages are protected.')
  const rule = { 'rule[package_type]': 'nuget', 'rule[package_name_pattern]': 'Kept.*', 'rule[push_level]': 'owner', 'rule[delete_level]': 'admin' }
  const made = await owner.submit('Protect', rule)
  expect(made.text).toContain('The packages are protected.')
  expect(made.text).toContain('Kept.* NuGetPublished by: Owners · Deleted by: Administrators')
  const twice = await owner.submit('Protect', rule)
  expect([twice.status, twice.text]).toEqual([422, expect.stringContaining('has already been taken')])
  const none = await owner.submit('Protect', { ...rule, 'rule[package_name_pattern]': 'x', 'rule[push_level]': 'role', 'rule[delete_level]': 'role' })
  expect(none.text).toContain('This needs a minimum access level for push or for delete')
  await owner.open(at)
  expect((await owner.submit('Delete', {})).text).toContain('No packages are protected.')
  await t.api('put', project.path, creator).send({ packages_enabled: false }).expect(200)
  expect((await owner.open(`/${project.fullPath}/edit`)).$('a[href$="/-/settings/packages"]').length).toBe(0)
})

it('the policy by which tags of images go is set in the settings (OCI-82)', async () => {
  const [creator, developer] = [await aUser(t.ctx), await aUser(t.ctx)]
  const project = await aProject(t.ctx, { creator, developer })
  const [owner, other] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await owner.signIn(creator)
  await other.signIn(developer)
  const at = `/${project.fullPath}/-/settings/images`
  expect((await other.open(at)).status).toBe(403)
  const policy = async () => (await t.api('get', project.path, creator).expect(200)).body.container_expiration_policy
  const before = await policy()
  await owner.open(at)
  await owner.submit('Save changes', {})
  expect(await policy()).toEqual(before)
  const given = { 'policy[enabled]': '1', 'policy[cadence]': '7d', 'policy[keep_n]': '5', 'policy[older_than]': 'none', 'policy[name_regex]': 'a.+' }
  const saved = await owner.submit('Save changes', { ...given, 'policy[name_regex_keep]': 'v.+' })
  expect(saved.text).toMatch(/Saved\..*Next run:/)
  const set = { enabled: true, cadence: '7d', keep_n: 5, older_than: null, name_regex: 'a.+', name_regex_keep: 'v.+' }
  expect(await policy()).toEqual({ ...set, next_run_at: expect.any(String) })
  expect(saved.$('select[name="policy[keep_n]"] option[selected]').text()).toBe('The 5 newest tags')
  const refused = await owner.submit('Save changes', { 'policy[name_regex]': '(', 'policy[keep_n]': 'none' })
  expect(refused.text).toContain('not valid RE2 syntax')
  expect(refused.$('#policy_name_regex').val()).toBe('(')
  expect((await policy()).name_regex).toBe('a.+')
  await owner.open(at)
  await owner.submit('Save changes', { 'policy[enabled]': '', 'policy[keep_n]': 'none', 'policy[name_regex_keep]': '' })
  expect(await policy()).toEqual({ ...set, enabled: false, keep_n: null, name_regex_keep: null, next_run_at: null })
})
