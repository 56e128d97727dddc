import { describe, expect, it } from 'vitest'
import { LEVELS } from '../../src/access/can.js'
import { testApp } from '../support/app.js'
import { ciOf } from '../support/ci.js'
import { aUser } from '../support/factories.js'

const t = testApp()
const { withCi, get, addMember } = ciOf(t)

describe('the jobs of a protected branch', () => {
  it('are retried, started, canceled and erased by those who may run pipelines there (CI-228)', async () => {
    const { project, runner } = await withCi('test: { script: x }\nlater: { script: x, when: manual }')
    const developer = await aUser(t.ctx)
    await addMember(project, developer, LEVELS.developer)
    await runner.end(await runner.takeNamed('test'), 'success')
    const [later, test] = await get(project, '/jobs')
    expect(later.status).toBe('manual')
    for (const [id, action] of [
      [test.id, 'retry'],
      [test.id, 'erase'],
      [later.id, 'play'],
    ])
      await t.api('post', `${project.path}/jobs/${id}/${action}`, developer).expect(403)
    for (const action of ['retry', 'cancel']) await t.api('post', `${project.path}/pipelines/${test.pipeline.id}/${action}`, developer).expect(403)
    await t.api('delete', `${project.path}/protected_branches/main`, project.creator).expect(204)
    await t.api('post', `${project.path}/jobs/${test.id}/retry`, developer).expect(201)
    await t.api('post', `${project.path}/pipelines/${test.pipeline.id}/cancel`, developer).expect(200)
  })
})
