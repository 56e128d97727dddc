import { describe, expect, it } from 'vitest'
import { testApp } from './support/app.js'
import { aProject, aUser } from './support/factories.js'

const t = testApp()

describe('smoke', () => {
  it('works', async () => {
    const user = await aUser(t.ctx)
    const project = await aProject(t.ctx, { developer: user, files: { 'a.txt': 'a' } })
    const { body } = await t.api('get', `${project.path}/repository/commits`, user).expect(200)
    expect(body).toHaveLength(1)
    await t.api('get', '/projects', null).expect(200)
    await t.api('get', project.path, null).expect(404, { message: '404 Project Not Found' })
  })
})
