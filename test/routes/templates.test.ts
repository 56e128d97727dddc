import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject, aUser } from '../support/factories.js'

const t = testApp()
const get = async (path: string) => (await t.api('get', path).expect(200)).body
const names = async (path: string) => (await get(path)).map((each: { name: string }) => each.name)

describe('licences (TM-1, TM-2)', () => {
  it('are listed with their texts, the popular ones apart to all', async () => {
    const all = await get('/templates/licenses')
    expect(all.map((each: { key: string }) => each.key)).toEqual([
      'agpl-3.0',
      'apache-2.0',
      'bsd-2-clause',
      'bsd-3-clause',
      'bsl-1.0',
      'cc0-1.0',
      'epl-2.0',
      'gpl-2.0',
      'gpl-3.0',
      'lgpl-2.1',
      'mit',
      'mpl-2.0',
      'unlicense',
    ])
    expect(all[10]).toEqual({
      key: 'mit',
      name: 'MIT License',
      nickname: null,
      html_url: 'https://choosealicense.com/licenses/mit/',
      source_url: null,
      popular: true,
      description: expect.stringContaining('permissive license'),
      conditions: ['include-copyright'],
      permissions: ['commercial-use', 'modifications', 'distribution', 'private-use'],
      limitations: ['liability', 'warranty'],
      content: expect.stringMatching(/^MIT License\n\nCopyright \(c\) \[year\] \[fullname\]\n/),
    })
    const keys = async (popular: boolean) => (await get(`/templates/licenses?popular=${popular}`)).map((each: { key: string }) => each.key)
    expect(await keys(true)).toEqual(['apache-2.0', 'gpl-3.0', 'mit'])
    expect(await keys(false)).toHaveLength(10)
    const { headers } = await t.api('get', '/templates/licenses?per_page=2&page=2').expect(200)
    expect([headers['x-total'], headers['x-page']]).toEqual(['13', '2'])
  })

  it('are filled in with the year, the project and a name, by default that of the caller', async () => {
    const year = t.ctx.now().getUTCFullYear()
    expect((await get('/templates/licenses/MIT')).content).toContain(`Copyright (c) ${year} [fullname]`)
    expect((await get('/templates/licenses/mit?fullname=Ada%20L.')).content).toContain(`Copyright (c) ${year} Ada L.`)
    const who = await aUser(t.ctx, { name: 'Grace $& Hopper' })
    expect((await t.api('get', '/templates/licenses/mit', who).expect(200)).body.content).toContain(`${year} Grace $& Hopper`)
    // one that is in no list
    expect((await get('/templates/licenses/vim?project=Engine')).content).toContain('copies of Engine')
    await t.api('get', '/templates/licenses/none').expect(404, { message: '404 License Not Found' })
  })
})

describe('files (TM-3)', () => {
  it.each([
    ['gitignores', 'Ada', '*.ali', 'gitignore'],
    ['dockerfiles', 'Node', 'FROM node', 'dockerfile'],
    ['gitlab_ci_ymls', 'Nodejs', 'script:', 'gitlab_ci_yml'],
    ['gitlab_ci_ymls', 'Workflows/Branch-Pipelines', 'workflow:', 'gitlab_ci_yml'],
  ])('%s: %s', async (kind, name, part, what) => {
    expect(await get(`/templates/${kind}?per_page=100`)).toContainEqual({ key: name, name })
    expect(await get(`/templates/${kind}/${encodeURIComponent(name)}`)).toEqual({ name, content: expect.stringContaining(part) })
    for (const bad of ['none', '../package', '..%2F..%2Fpackage.json', '.'])
      await t.api('get', `/templates/${kind}/${bad.replaceAll('/', '%2F')}`).expect(404, { message: `404 ${what} Not Found` })
  })
})

describe('templates for a project (TM-4, TM-5)', () => {
  it('are the same, and files of its default branch for descriptions', async () => {
    const project = await aProject(t.ctx, {
      visibility: 'public',
      files: { '.gitlab/issue_templates/Bug.md': 'What happened?\n', '.gitlab/merge_request_templates/Default.md': 'Why\n', 'secret.md': 'x' },
    })
    const of = (rest: string) => `${project.path}/templates/${rest}`
    expect(await names(of('issues'))).toEqual(['Bug'])
    expect(await get(of('issues/Bug'))).toEqual({ name: 'Bug', content: 'What happened?\n' })
    expect(await get(of('merge_requests/Default'))).toEqual({ name: 'Default', content: 'Why\n' })
    expect(await get(of('gitignores'))).toContainEqual({ key: 'Ada', name: 'Ada' })
    expect(await get(of('dockerfiles/PHP'))).toMatchObject({ name: 'PHP' })
    expect(await get(of('licenses'))).toContainEqual({ key: 'mit', name: 'MIT License' })
    const { body } = await t.api('get', project.path).expect(200)
    expect((await get(of('licenses/vim'))).content).toContain(`copies of ${body.name}`)
    expect((await get(of('licenses/mit'))).content).toContain(body.namespace.name)
    for (const bad of ['issues/None', 'issues/..%2F..%2Fsecret', 'licenses/none', 'dockerfiles/none'])
      await t.api('get', of(bad)).expect(404, { message: '404 Template Not Found' })
    await t.api('get', of('metrics_dashboard_ymls')).expect(400, { error: 'type does not have a valid value' })
  })

  it('are for those who see the project; descriptions for those who read its code', async () => {
    const hidden = await aProject(t.ctx, { files: { '.gitlab/issue_templates/Bug.md': 'x' } })
    const [stranger, guest] = [await aUser(t.ctx), await aUser(t.ctx)]
    await t.api('post', `${hidden.path}/members`, hidden.creator).send({ user_id: guest.id, access_level: 10 }).expect(201)
    for (const path of ['issues', 'issues/Bug', 'dockerfiles']) await t.api('get', `${hidden.path}/templates/${path}`, stranger).expect(404)
    await t.api('get', `${hidden.path}/templates/issues`, guest).expect(200, [])
    await t.api('get', `${hidden.path}/templates/issues/Bug`, guest).expect(404)
  })
})
