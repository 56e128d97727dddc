// @module-tag long
import { describe, expect, it } from 'vitest'
import { testApp } from '../support/app.js'
import { aProject } from '../support/factories.js'

const t = testApp()

describe('a database whose connections are all taken', () => {
  it('answers 503 after too long a wait and changes nothing; afterwards all works as before (SEC-144)', async () => {
    const project = await aProject(t.ctx)
    let free: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      free = resolve
    })
    const taken = Array.from({ length: 4 }, () => t.ctx.db.transaction(() => held))
    const refused = await t.api('put', project.path, project.creator).send({ description: 'late' })
    free()
    await Promise.all(taken)
    expect([refused.status, refused.headers['retry-after'], Object.keys(refused.body)]).toEqual([503, expect.stringMatching(/^\d+$/), ['message']])
    expect(refused.text).not.toMatch(/postgres|pool|timeout|\n/i)
    expect((await t.api('get', project.path, project.creator).expect(200)).body.description).toBe(null)
    await t.api('put', project.path, project.creator).send({ description: 'in time' }).expect(200)
  })
})
