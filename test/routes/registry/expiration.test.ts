import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { describe, expect, it } from 'vitest'
import { containerBlobs, containerTags, projects } from '../../../src/db/schema/index.js'
import { removePackageFiles } from '../../../src/services/packages/files.js'
import { expireTags } from '../../../src/services/registry/expiration.js'
import { removeUnusedBlobs } from '../../../src/services/registry/manifests.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject } from '../../support/factories.js'
import { basic } from '../packages/packages.js'

const t = testApp()
const FIRST = { id: 0, number: 1, signal: new AbortController().signal }
const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'

const digest = (bytes: string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const call = (project: TestProject, method: string, path: string, body = '', type = 'application/octet-stream') =>
  fetch(`${t.url}/v2/${project.fullPath}/app/${path}`, {
    method,
    headers: { ...basic('x', project.creator.token), 'content-type': type },
    ...(method !== 'GET' && { body }),
  })
const descriptor = (bytes: string, mediaType: string) => ({ mediaType, digest: digest(bytes), size: bytes.length })

async function put(project: TestProject, reference: string, manifest: string, type: string) {
  expect((await call(project, 'PUT', `manifests/${reference}`, manifest, type)).status).toBe(201)
  return manifest
}
/** Pushes an image by a tag, or by its digest. */
async function push(project: TestProject, text: string, tag?: string, more: object = {}) {
  expect((await call(project, 'POST', `blobs/uploads/?digest=${digest(text)}`, text)).status).toBe(201)
  const config = descriptor(text, 'application/vnd.oci.image.config.v1+json')
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: IMAGE, config, layers: [], ...more })
  return put(project, tag ?? digest(manifest), manifest, IMAGE)
}
const pushIndex = (project: TestProject, tag: string, images: string[]) =>
  put(project, tag, JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: images.map((each) => descriptor(each, IMAGE)) }), INDEX)

const set = (project: TestProject, container_expiration_policy_attributes: unknown) =>
  t.api('put', project.path, project.creator).send({ container_expiration_policy_attributes })
const policy = async (project: TestProject) => (await t.api('get', project.path, project.creator).expect(200)).body.container_expiration_policy
const tags = async (project: TestProject) => ((await (await call(project, 'GET', 'tags/list')).json()) as { tags: string[] }).tags
const has = async (project: TestProject, manifest: string) => (await call(project, 'GET', `manifests/${digest(manifest)}`)).status === 200

/** Makes the tags of all repositories as many days older. */
const age = (days: number) => t.ctx.db.write.update(containerTags).set({ updated_at: sql`now() - ${`${days} days`}::interval` })

/** Lets the policy of a project run now. */
async function run(project: TestProject) {
  await t.ctx.db.write.update(projects).set({ container_expiration_next_run_at: sql`now() - interval '1 second'` }).where(eq(projects.id, project.id))
  await expireTags.run(t.ctx, {}, FIRST)
}

describe('the policy by which tags of images go (OCI-81)', () => {
  it('is off at first, is set in parts and shown', async () => {
    const project = await aProject(t.ctx)
    const off = { enabled: false, cadence: '1d', keep_n: 10, older_than: '90d', name_regex: '.*', name_regex_keep: null, next_run_at: null }
    expect(await policy(project)).toEqual(off)
    await set(project, { keep_n: 5, name_regex_keep: 'v.+' }).expect(200)
    expect(await policy(project)).toEqual({ ...off, keep_n: 5, name_regex_keep: 'v.+' })
    const { body } = await set(project, { enabled: true, cadence: '7d', older_than: '14d', name_regex_delete: 'dev-.*' }).expect(200)
    const on = { enabled: true, cadence: '7d', keep_n: 5, older_than: '14d', name_regex: 'dev-.*', name_regex_keep: 'v.+' }
    expect(body.container_expiration_policy).toEqual({ ...on, next_run_at: expect.any(String) })
    expect((Date.parse(body.container_expiration_policy.next_run_at) - Date.now()) / 86_400_000).toBeCloseTo(7, 1)
    await set(project, { keep_n: null, older_than: '', name_regex_keep: '' }).expect(200)
    expect(await policy(project)).toMatchObject({ keep_n: null, older_than: null, name_regex_keep: null, name_regex: 'dev-.*' })
    await set(project, { enabled: false }).expect(200)
    expect(await policy(project)).toMatchObject({ enabled: false, cadence: '7d', next_run_at: null })
    const name = `p${project.id}`
    const sent = { name, container_expiration_policy_attributes: { enabled: 'true', keep_n: '25' } }
    const made = await t.api('post', '/projects', project.creator).send(sent).expect(201)
    expect(made.body.container_expiration_policy).toMatchObject({ enabled: true, keep_n: 25, next_run_at: expect.any(String) })
  })

  it('is refused with what it cannot be, and for those who do not manage the project', async () => {
    const project = await aProject(t.ctx)
    for (const [given, text] of [
      [{ cadence: '2d' }, 'is not included in the list'],
      [{ keep_n: 7 }, 'is not included in the list'],
      [{ older_than: '1d' }, 'is not included in the list'],
      [{ name_regex: '' }, "can't be blank"],
      [{ name_regex_delete: '(' }, 'not valid RE2 syntax'],
      [{ name_regex_keep: '(?=a)' }, 'not valid RE2 syntax'],
    ] as const) {
      const field = Object.keys(given)[0]?.replace('_delete', '') ?? ''
      await set(project, { enabled: true, ...given }).expect(400, { message: { [`container_expiration_policy.${field}`]: [text] } })
    }
    for (const given of [{ enabled: 'maybe' }, { keep_n: 'x' }, { name_regex: {} }, 'x', [1]]) await set(project, given).expect(400)
    expect(await policy(project)).toMatchObject({ enabled: false, next_run_at: null })
    const developer = await aUser(t.ctx)
    await t.api('post', `${project.path}/members`, project.creator).send({ user_id: developer.id, access_level: 30 }).expect(201)
    const sent = { container_expiration_policy_attributes: { enabled: true } }
    await t.api('put', project.path, developer).send(sent).expect(403)
  })

  it('removes what is old and fits, but for the newest, what is kept by name, and latest', async () => {
    const project = await aProject(t.ctx)
    for (const tag of ['latest', 'v1', 'dev-1', 'dev-2', 'dev-3', 'other']) await push(project, tag, tag)
    await age(10)
    await t.ctx.db.write.update(containerTags).set({ updated_at: sql`now()` }).where(eq(containerTags.name, 'dev-3'))
    await set(project, { enabled: true, keep_n: 1, older_than: '7d', name_regex_delete: 'dev-.*|v.*', name_regex_keep: 'v1' }).expect(200)
    await expireTags.run(t.ctx, {}, FIRST)
    expect(await tags(project)).toEqual(['dev-1', 'dev-2', 'dev-3', 'latest', 'other', 'v1'])
    await run(project)
    expect(await tags(project)).toEqual(['dev-3', 'latest', 'other', 'v1'])
    expect(Date.parse((await policy(project)).next_run_at)).toBeGreaterThan(Date.now())
    for (const off of [{ archived: true }, { archived: false, container_registry_enabled: false }]) {
      await t.ctx.db.write.update(projects).set(off).where(eq(projects.id, project.id))
      await set(project, { name_regex_delete: '.*', keep_n: null, older_than: null })
      await run(project)
    }
    await t.ctx.db.write.update(projects).set({ archived: false, container_registry_enabled: true }).where(eq(projects.id, project.id))
    expect(await tags(project)).toEqual(['dev-3', 'latest', 'other', 'v1'])
    await set(project, { name_regex_delete: '.*', name_regex_keep: null, keep_n: null, older_than: null }).expect(200)
    await run(project)
    expect(await tags(project)).toEqual(['latest'])
  })

  it('removes what the tags were of, unless something else has it, and then its layers', async () => {
    const project = await aProject(t.ctx)
    const [both, child, shared] = [await push(project, 'both', 'old'), await push(project, 'child'), await push(project, 'shared')]
    await put(project, 'kept', both, IMAGE)
    const index = await pushIndex(project, 'old-index', [child, shared])
    const other = await pushIndex(project, 'kept-index', [shared])
    const alone = await push(project, 'alone', 'old-alone')
    const signature = await push(project, 'signature', undefined, { subject: descriptor(alone, IMAGE) })
    const pinned = await push(project, 'pinned')
    await set(project, { enabled: true, keep_n: null, older_than: null, name_regex_delete: 'old.*' }).expect(200)
    await run(project)
    expect(await tags(project)).toEqual(['kept', 'kept-index'])
    expect(await Promise.all([both, child, shared, index, other, alone, signature, pinned].map((each) => has(project, each)))).toEqual(
      // what never had a tag stays for who knows its digest
      [true, false, true, false, true, false, false, true],
    )
    await t.ctx.db.write.update(containerBlobs).set({ created_at: new Date(Date.now() - 2 * 86_400_000) })
    await removeUnusedBlobs.run(t.ctx, {}, FIRST)
    await removePackageFiles.run(t.ctx, {}, FIRST)
    const blob = async (text: string) => (await call(project, 'GET', `blobs/${digest(text)}`)).status
    expect(await Promise.all(['both', 'child', 'shared', 'alone', 'signature', 'pinned'].map(blob))).toEqual([200, 404, 200, 404, 404, 200])
  })
})
