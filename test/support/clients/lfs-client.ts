import { createHash } from 'node:crypto'
import { request } from 'node:http'
import type { TestApp } from '../app.js'

export const LFS_TYPE = 'application/vnd.git-lfs+json'

export interface LfsAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: answers of the LFS API, looked into by tests
  body: any
}

export interface LfsCall {
  method?: string
  headers?: Record<string, string>
  body?: Buffer | string
}

/** Sends a request without any defaults. */
export function send(url: string, { method = 'GET', headers = {}, body }: LfsCall = {}): Promise<LfsAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, agent: false, headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const isJson = answer.headers['content-type'] === LFS_TYPE
        resolve({ status: answer.statusCode as number, headers: answer.headers, bytes, body: isJson ? JSON.parse(bytes.toString()) : null })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** An LFS object and its pointer file. */
export function anObject(content: Buffer | string) {
  const bytes = Buffer.from(content)
  const oid = createHash('sha256').update(bytes).digest('hex')
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${bytes.length}\n`
  return { bytes, oid, size: bytes.length, pointer }
}
export type TestObject = ReturnType<typeof anObject>

export const basic = (password: string, name = 'git') => ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })

/** A small client of the batch API that behaves like git-lfs. */
export function lfsClient(t: TestApp) {
  const call = (fullPath: string, path: string, caller: { token: string } | null, { headers, ...rest }: LfsCall = {}) =>
    send(`${t.url}/${fullPath}.git/info/lfs/${path}`, { ...rest, headers: { accept: LFS_TYPE, ...(caller && basic(caller.token)), ...headers } })
  const post = (fullPath: string, path: string, caller: { token: string } | null, body: object) =>
    call(fullPath, path, caller, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': LFS_TYPE } })
  const batch = (fullPath: string, caller: { token: string } | null, operation: 'download' | 'upload', objects: { oid: string; size: number }[]) =>
    post(fullPath, 'objects/batch', caller, { operation, transfers: ['basic'], objects: objects.map(({ oid, size }) => ({ oid, size })) })
  /** The address of a link at the test server, which BASE_URL does not name. */
  const at = (href: string) => t.url + new URL(href).pathname
  /** Uploads as git-lfs does. Returns the statuses of upload and verify, or null if the server has the object. */
  const upload = async (fullPath: string, caller: { token: string }, object: TestObject) => {
    const { body } = await batch(fullPath, caller, 'upload', [object])
    const { actions, error } = body.objects[0]
    if (error) throw new Error(`${error.code} ${error.message}`)
    if (!actions) return null
    const put = await send(at(actions.upload.href), {
      method: 'PUT',
      headers: { ...actions.upload.header, 'content-type': 'application/octet-stream' },
      body: object.bytes,
    })
    const verified = await send(at(actions.verify.href), {
      method: 'POST',
      headers: { ...actions.verify.header, 'content-type': LFS_TYPE, accept: LFS_TYPE },
      body: JSON.stringify({ oid: object.oid, size: object.size }),
    })
    return [put.status, verified.status]
  }
  const download = async (fullPath: string, caller: { token: string } | null, object: TestObject, headers: Record<string, string> = {}) => {
    const { body } = await batch(fullPath, caller, 'download', [object])
    const action = body.objects[0].actions.download
    return send(at(action.href), { headers: { ...action.header, ...headers } })
  }
  return { call, post, batch, at, upload, download }
}
