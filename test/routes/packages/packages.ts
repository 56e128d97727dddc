import supertest from 'supertest'
import { expect } from 'vitest'
import type { TestApp } from '../../support/app.js'
import type { Credentialed, TestProject } from '../../support/factories.js'

type Headers = Record<string, string>

export const basic = (name: string, password: string): Headers => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

/** Calls of package managers, which no endpoint declares. */
export const registryOf = (t: TestApp) => ({
  send: (method: 'get' | 'head' | 'put' | 'post' | 'delete', path: string, headers: Headers | Credentialed = {}) => {
    const call = supertest(t.url)[method](`/api/v4${path}`)
    return 'token' in headers ? call.set('private-token', headers.token as string) : call.set(headers as Headers)
  },

  /** Publishes a generic file. */
  async generic(project: TestProject, path: string, bytes: string | Buffer, more = '') {
    await supertest(t.url)
      .put(`/api/v4${project.path}/packages/generic/${path}${more}`)
      .set('private-token', project.creator.token)
      .type('application/octet-stream')
      .send(Buffer.from(bytes))
      .expect(201, { message: '201 Created' })
  },

  /** Pushes an index without images. */
  async image({ name, tag, by }: { name: string; tag: string; by: { token: string } }) {
    const mediaType = 'application/vnd.oci.image.index.v1+json'
    const response = await fetch(`${t.url}/v2/${name}/manifests/${tag}`, {
      method: 'PUT',
      headers: { ...basic('anyone', by.token), 'content-type': mediaType },
      body: JSON.stringify({ schemaVersion: 2, mediaType, manifests: [] }),
    })
    expect(response.status).toBe(201)
  },

  async deployToken(project: { path: string; creator: Credentialed }, scopes: string[]) {
    const { body } = await t.api('post', `${project.path}/deploy_tokens`, project.creator).send({ name: 'machine', scopes }).expect(201)
    return body as { id: number; token: string; username: string }
  },
})
