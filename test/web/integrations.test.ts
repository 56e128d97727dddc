import { expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aProject, aUser } from '../support/factories.js'
import { receiver } from '../support/servers/receiver.js'

const t = testApp({ ROOST_ALLOW_LOCAL_REQUESTS: 'true' })
const r = receiver(() => t.ctx.jobs.drain())

it('integrations are set up, changed and deactivated in pages, which list their deliveries (SV-30)', async () => {
  const developer = await aUser(t.ctx)
  const project = await aProject(t.ctx, { developer, visibility: 'public' })
  const at = `/${project.fullPath}/-/settings/integrations`
  const [browser, other] = [new TestBrowser(t.url), new TestBrowser(t.url)]
  await browser.signIn(project.creator)
  await other.signIn(developer)
  expect((await other.open(at)).status).toBe(403)
  expect((await browser.open(`${at}/harbor/edit`)).status).toBe(404)
  const active = async () => {
    const { $ } = await browser.open(at)
    return $('main li:has(.badge) a, main li:has(.success) a')
      .map((_, each) => $(each).text())
      .get()
  }
  expect(await active()).toEqual([])

  await browser.open(`${at}/slack/edit`)
  const refused = await browser.submit('Activate', { 'service[webhook]': 'nonsense' })
  expect([refused.status, refused.$('main .fault').text()]).toEqual([422, 'Webhook is not a valid URL.'])
  await browser.submit('Activate', { 'service[webhook]': `${r.url}/slack`, 'service[username]': '<b>bot' })
  await t.api('post', `${project.path}/issues`, project.creator).send({ title: 'Hi' }).expect(201)
  expect((await r.next('/slack')).body.username).toBe('<b>bot')
  await t.ctx.jobs.drain()
  const { $ } = await browser.open(`${at}/slack/edit`)
  expect($('main').text()).toContain(`${r.url}/…`)
  expect($('input[name="service[username]"]').attr('value')).toBe('<b>bot')

  await browser.open(`${at}/jenkins/edit`)
  await browser.submit('Activate', {
    ...{ 'service[jenkins_url]': 'https://ci.example.com', 'service[project_name]': 'p', 'service[username]': 'u' },
    'service[password]': 'hush',
  })
  const shown = await browser.open(`${at}/jenkins/edit`)
  expect(shown.$.html()).not.toContain('hush')
  expect(shown.$('main').text()).toContain('One is set. Empty: it stays.')
  await browser.submit('Save changes', { 'service[project_name]': 'q' })
  expect(await active()).toEqual(['Jenkins', 'Slack notifications'])

  await browser.open(`${at}/external-wiki/edit`)
  await browser.submit('Activate', { 'service[external_wiki_url]': 'https://wiki.example.com/' })
  const home = await other.open(`/${project.fullPath}`)
  expect(home.$('nav a[href="https://wiki.example.com/"]').text()).toContain('External wiki')
  await browser.open(`${at}/external-wiki/edit`)
  await browser.submit('Deactivate', {})
  expect((await other.open(`/${project.fullPath}`)).$.html()).not.toContain('wiki.example.com')
})
