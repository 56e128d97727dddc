import { expect, it } from 'vitest'
import { LEVELS } from '../../src/access/can.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { ciOf } from '../support/ci.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()
const { addMember } = ciOf(t)

it('feature flags are made, switched and changed in pages, with lists of users and the token of programs (FF-7, FF-10)', async () => {
  const project = await aProject(t.ctx)
  const [developer, reporter] = [await aUser(t.ctx), await aUser(t.ctx)]
  await addMember(project, developer, LEVELS.developer)
  await addMember(project, reporter, LEVELS.reporter)
  const [flags, lists] = [`/${project.fullPath}/-/feature_flags`, `/${project.fullPath}/-/feature_flags_user_lists`]
  const browser = new TestBrowser(t.url)
  await browser.signIn(developer)
  await browser.open(lists)
  await browser.submit('Create user list', { 'user_list[name]': 'Testers', 'user_list[user_xids]': 'ann\r\n bob, eve\r\n' })
  const [list] = (await t.api('get', `${project.path}/feature_flags_user_lists`, developer).expect(200)).body
  expect(list).toMatchObject({ name: 'Testers', user_xids: 'ann,bob,eve' })
  await browser.open(list.path)
  await browser.submit('Save changes', { 'user_list[user_xids]': 'ann\r\nbob' })

  await browser.open(`${flags}/new`)
  const refused = await browser.submit('Create feature flag', { 'flag[name]': 'No' })
  expect(refused.status).toBe(422)
  expect(refused.$('.fault').text()).toContain('Name can contain only lowercase letters')
  await browser.submit('Create feature flag', { 'flag[name]': 'new-menu', 'strategy[name]': 'gitlabUserList', 'strategy[environments]': 'a, b/*' })
  const shown = async () => (await t.api('get', `${project.path}/feature_flags/new-menu`, developer).expect(200)).body
  expect((await shown()).strategies).toMatchObject([
    { name: 'gitlabUserList', user_list: { user_xids: 'ann,bob' }, scopes: [{ environment_scope: 'a' }, { environment_scope: 'b/*' }] },
  ])
  const { $ } = await browser.open(flags)
  expect($('.rows').text()).toContain('Users of Testers: a, b/*')
  expect($('main').text()).not.toContain('Connect a program')
  await browser.submit('Switch off', {})
  expect((await shown()).active).toBe(false)
  await browser.open(`${flags}/1/edit`)
  await browser.submit('Add strategy', { 'strategy[name]': 'flexibleRollout', 'strategy[rollout]': '25', 'strategy[environments]': '' })
  await browser.submit('Remove', {})
  expect((await shown()).strategies).toMatchObject([
    { name: 'flexibleRollout', parameters: { rollout: '25', groupId: 'default', stickiness: 'default' }, scopes: [{ environment_scope: '*' }] },
  ])

  const maintainer = new TestBrowser(t.url)
  await maintainer.signIn(project.creator)
  await maintainer.open(flags)
  await maintainer.submit('Make a token', {})
  const page = await maintainer.open(flags)
  const [url, token] = [page.$('#unleash_url').val(), page.$('#unleash_instance').val()] as [string, string]
  const at = new URL(`${url}/client/features`)
  const answer = await t.api('get', at.pathname.replace('/api/v4', '')).set('UNLEASH-INSTANCEID', token).set('UNLEASH-APPNAME', 'a').expect(200)
  expect(answer.body.features).toMatchObject([{ name: 'new-menu', enabled: false, strategies: [{ name: 'flexibleRollout' }] }])

  await browser.open(`${flags}/1/edit`)
  await browser.submit('Delete feature flag', {})
  expect((await browser.open(flags)).$('.empty').text()).toContain('There is no feature flag yet')
  const other = new TestBrowser(t.url)
  await other.signIn(reporter)
  expect((await other.open(flags)).status).toBe(403)
})
