import { mkdir, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'
import { anAdmin, aProject, aUser } from '../../support/factories.js'

const t = testApp()

describe('GET /version and /metadata', () => {
  it('three parts that clients branch on (VE-1, VE-6)', async () => {
    const user = await aUser(t.ctx)
    const { body } = await t.api('get', '/version', user).expect(200)
    expect(body).toEqual((await t.api('get', '/metadata', user).expect(200)).body)
    expect((body as { version: string }).version).toBe('13.12.0')
    expect((body as { version: string }).version).toMatch(/^\d+\.\d+\.\d+[^.]*$/)
    await t.api('get', '/version').expect(401, { message: '401 Unauthorized' })
  })

  it('VE-2', async () => {
    const { body } = await t.api('get', '/metadata', await aUser(t.ctx)).expect(200)
    expect(body).toEqual({
      version: '13.12.0',
      revision: expect.any(String) as string,
      kas: { enabled: false, externalUrl: null, version: null },
      enterprise: false,
    })
    await t.api('get', '/metadata').expect(401)
  })
})

describe('health', () => {
  it('says that it lives, and nothing else (VE-3, SEC-169)', async () => {
    for (const path of ['/-/health', '/-/liveness']) {
      const response = await fetch(t.url + path)
      expect([response.status, await response.text()]).toEqual([200, 'OK'])
      expect(response.headers.get('content-type')).toContain('text/plain')
    }
  })

  it('is ready while database and storage answer, and not without the storage (VE-4, SEC-170)', async () => {
    const ready = async () => {
      const response = await fetch(`${t.url}/-/readiness`)
      return [response.status, await response.json()] as unknown
    }
    const storage = t.ctx.config.storages['default'] ?? ''
    await t.ctx.git.create({ storage: 'default', id: 1, kind: 'project' }, 'main')
    expect(await ready()).toEqual([200, { status: 'ok' }])
    await rename(storage, join(t.dataDir, 'away'))
    expect(await ready()).toEqual([503, { status: 'failed' }])
    expect(await (await fetch(`${t.url}/-/health`)).text()).toBe('OK')
    await rename(join(t.dataDir, 'away'), storage)
    expect(await ready()).toEqual([200, { status: 'ok' }])
  })

  it('an empty folder where the disk of a storage should be mounted is not ready, and nothing is made there (SEC-156, SEC-170)', async () => {
    const admin = await anAdmin(t.ctx)
    const project = await aProject(t.ctx, { creator: admin, files: { a: 'a' } })
    await t.ctx.jobs.drain()
    const storage = t.ctx.config.storages['default'] ?? ''
    await rename(storage, join(t.dataDir, 'away'))
    await mkdir(storage)
    expect((await fetch(`${t.url}/-/readiness`)).status).toBe(503)
    await t.api('get', `${project.path}/repository/branches`, admin).expect(503)
    await t.api('post', '/projects', admin).send({ name: 'newcomer' }).expect(503)
    await t.api('post', `${project.path}/wikis`, admin).send({ title: 'a', content: 'a' }).expect(503)
    // neither does a start claim it
    expect(await t.ctx.git.claimStorages(async () => true)).toEqual(['default'])
    expect(await readdir(storage)).toEqual([])
    await rmdir(storage)
    await rename(join(t.dataDir, 'away'), storage)
    await t.api('get', `${project.path}/repository/branches`, admin).expect(200)
  })

  it('the base path and unknown paths answer quickly, without a token (VE-5)', async () => {
    for (const path of ['/api/v4', '/api/v4/', '/api/v4/no/such/thing', '/no-such-page/']) {
      const response = await fetch(t.url + path, { headers: { accept: 'application/json' } })
      expect([path, response.status, await response.json()]).toEqual([path, 404, { error: '404 Not Found' }])
    }
    expect(t.logged.filter((line) => line.includes('"level":50') && !line.includes('a repository is missing'))).toEqual([])
  })
})
