import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { gitClient, gitRun } from '../support/clients/git-client.js'
import { aProject } from '../support/factories.js'

describe('a service below a path (W-43)', () => {
  const t = testApp({ BASE_URL: 'http://roost.test/git/roost' })
  const client = gitClient(t)

  it('answers there, whether the proxy takes the path away or not', async () => {
    const project = await aProject(t.ctx, { files: { a: 'a' } })
    const headers = { 'private-token': project.creator.token }
    for (const prefix of ['', '/git/roost']) {
      const get = (path: string) => fetch(`${t.url}${prefix}${path}`, { headers, redirect: 'manual' })
      expect((await get('/api/v4/user')).status).toBe(200)
      expect((await get('/-/readiness')).status).toBe(200)
      const list = await get(`/api/v4${project.path}/repository/branches?per_page=1`)
      expect(list.headers.get('link')).toContain(`<${t.url}/git/roost/api/v4${project.path}/repository/branches?`)
      const moved = await get(`/${project.fullPath}/info/refs?service=git-upload-pack`)
      expect(moved.headers.get('location')).toBe(`http://roost.test/git/roost/${project.fullPath}.git/info/refs?service=git-upload-pack`)
      const folder = client.folder()
      const url = client.url(`x`, project.creator).replace(/\/x\.git$/, `${prefix}/${project.fullPath}.git`)
      expect(await gitRun(folder, 'clone', '-q', url, 'copy')).toMatchObject({ code: 0 })
      const page = await (await get('/api/docs')).text()
      expect(page).toContain('/git/roost/api/v4/openapi.json')
      expect((await get('/gitx/roost/api/v4/user')).status).toBe(404)
    }
    const { body } = await t.api('get', project.path, project.creator).expect(200)
    expect(body).toMatchObject({ web_url: `http://roost.test/git/roost/${project.fullPath}` })
  })
})
