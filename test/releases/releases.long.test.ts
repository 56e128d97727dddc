// @module-tag long
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../scripts/build.mjs'
import { roostOn } from '../support/command.js'
import { git, gitUrl, LFS_CONTENT } from './content.js'
import { environment, folderOf, readRecorded, readRefs, unpack, withService } from './fixture.js'
import { type Answers, call, TOKEN } from './reading.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'releases-'))

beforeAll(async () => {
  chmodSync(folder, 0o711)
  await build()
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Versions of CHANGELOG.md from 0.2.0 on, the newest first. */
const versions = [...readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(/^## (\d\S+) \(`([0-9a-f]{40})`\)$/gm)]
  .map(([, version]) => version as string)
  .filter((version) => version !== '0.1.0')

/** Fields that calls change, and those that docs/upgrades.md says have another value. */
const CHANGING = new Set([
  'last_used_at',
  'last_activity_on',
  'last_activity_at',
  'ssh_url_to_repo',
  'draft',
  'work_in_progress',
  'detailed_merge_status',
  'approved',
  'user_can_approve',
  'packages_enabled',
])
/** Addresses of pages with `/-/` were without it. */
const stable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, inner) => (CHANGING.has(name) ? undefined : name === 'web_url' && inner ? inner.replace('/-/', '/') : inner)),
  )

const byId = (rows: unknown) => (rows as { id: number }[]).toSorted((a, b) => a.id - b.id)

/** Reads again what a version has answered. */
async function expectAnswers(url: string, answers: Answers) {
  for (const [path, { status, body }] of Object.entries(answers)) {
    const now = await call(url, 'GET', path)
    expect.soft([path, now.status]).toEqual([path, status])
    // the newest job comes first since 0.4.0
    const given = /^\/projects\/\d+\/jobs\?/.test(path) ? byId(body) : body
    const found = given === body ? now.body : byId(now.body)
    if (status === 200) expect.soft({ [path]: stable(found) }).toMatchObject({ [path]: stable(given) })
  }
}

/** Everything that a version has stored is there, and the service works on with it. */
async function expectEverything(version: string, dataDir: string) {
  const { answers, refs, upload } = readRecorded(version)
  await withService(root, environment(dataDir), async (url) => {
    await expectAnswers(url, answers)
    expect(readRefs(url, answers)).toEqual(refs)
    const clone = join(dataDir, 'clone')
    git('/', 'clone', '-q', '--mirror', gitUrl(url, 'team/api'), clone)
    git(clone, 'fsck', '--strict', '--no-dangling')
    const headers = { 'private-token': TOKEN, authorization: `Basic ${Buffer.from(`root:${TOKEN}`).toString('base64')}` }
    expect(await (await fetch(url + upload, { headers })).text()).toBe('an attachment')
    const oid = /oid sha256:(\w+)/.exec(git(clone, 'show', 'main:large.bin'))?.[1]
    expect(await (await fetch(`${url}/team/api.git/info/lfs/objects/${oid}`, { headers })).text()).toBe(LFS_CONTENT)
    expect(await call(url, 'POST', '/projects/team%2Fapi/issues', { title: 'the next' })).toMatchObject({ status: 201, body: { iid: 4 } })
  })
  expect(await roostOn(dataDir)(['doctor'])).toMatchObject({ code: 0, stderr: '' })
}

describe('the fixtures of releases', () => {
  it('are there for each version of CHANGELOG.md since 0.2.0, and small', () => {
    const folders = readdirSync(folderOf(''), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(folders.map(({ name }) => name).sort()).toEqual([...versions].sort())
    for (const version of versions)
      for (const name of readdirSync(folderOf(version)))
        expect([name, statSync(join(folderOf(version), name)).size < 2 * 1024 ** 2]).toEqual([name, true])
  })
})

describe.each(versions)('what %s has stored', (version) => {
  it('is read after an upgrade of its data folder (SEC-161)', async () => {
    const parent = join(folder, `${version}-data`)
    mkdirSync(parent, { mode: 0o711 })
    unpack(join(folderOf(version), 'data.tar.br'), parent)
    await expectEverything(version, join(parent, 'data'))
  })

  it('is read after the restore of its backup (SEC-163)', async () => {
    const parent = join(folder, `${version}-backup`)
    mkdirSync(parent, { mode: 0o711 })
    unpack(join(folderOf(version), 'backup.tar.br'), parent)
    const roost = roostOn(join(parent, 'data'))
    expect(await roost(['backup', '--verify', join(parent, 'backup')])).toMatchObject({ code: 0 })
    expect(await roost(['restore', join(parent, 'backup')])).toMatchObject({ code: 0 })
    await expectEverything(version, join(parent, 'data'))
  })
})
