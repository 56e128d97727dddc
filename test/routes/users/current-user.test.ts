import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser } from '../../support/factories.js'

const t = testApp()

describe('GET /user (U-37, X-16)', () => {
  it('shows people their own view, with what clients ask for beside it', async () => {
    const user = await aUser(t.ctx)
    const { body } = await t.api('get', '/user', user).expect(200)
    expect(body).toMatchObject({
      id: user.id,
      username: user.username,
      email: user.email,
      commit_email: user.email,
      public_email: null,
      private_profile: false,
      state: 'active',
      theme_id: 1,
      color_scheme_id: 1,
      can_create_project: true,
      can_create_group: true,
      two_factor_enabled: false,
      identities: [],
      namespace_id: expect.any(Number) as number,
      web_url: `http://roost.test/${user.username}`,
      last_sign_in_at: null,
      bio: null,
      organization: '',
    })
    expect(body).not.toHaveProperty('is_admin')
    expect((await t.api('get', '/namespaces', user)).body).toMatchObject([{ id: (body as { namespace_id: number }).namespace_id }])
  })

  it('says is_admin to administrators', async () => {
    expect((await t.api('get', '/user', await anAdmin(t.ctx)).expect(200)).body).toMatchObject({ is_admin: true })
  })

  it('needs a credential', async () => {
    await t.api('get', '/user').expect(401, { message: '401 Unauthorized' })
  })

  it('can_create_project follows the number of one’s own projects, not of all (U-6)', async () => {
    const limited = await aUser(t.ctx, { projects_limit: 1 })
    for (let i = 0; i < 3; i++) await aProject(t.ctx)
    expect((await t.api('get', '/user', limited)).body).toMatchObject({ can_create_project: true })
    await aProject(t.ctx, { creator: limited })
    expect((await t.api('get', '/user', limited)).body).toMatchObject({ can_create_project: false })
  })
})
