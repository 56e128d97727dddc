// @module-tag long
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { type Answer, call, type Service, startService, TOKEN, withToken } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { gitOut } from './support/clients/git-client.js'
import { rounds } from './support/rounds.js'

beforeAll(async () => {
  await build()
})

const ISSUES = 30
/** Of random data, so that work on it takes longer than it takes to kill the service. */
const BYTES = 12 * 1024 * 1024

const headers = { 'private-token': TOKEN }
const bodyOf = async (answer: Promise<Answer | null>) => (await answer)?.body

async function sendArchive(url: string, path: string, archive: Blob): Promise<Answer | null> {
  const form = new FormData()
  form.set('path', path)
  form.set('file', archive, 'archive.tar.gz')
  const answer = await fetch(`${url}/api/v4/projects/import`, { method: 'POST', headers, body: form }).catch(() => null)
  return answer && { status: answer.status, body: await answer.json().catch(() => null) }
}

/** Resolves when something is there. */
async function appears(path: string) {
  await expect.poll(() => existsSync(path), { interval: 2 }).toBe(true)
}

it('a service that is killed while it makes an archive, or a project of one, does it after its next start, and leaves nothing else (EX-4, EX-7)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'archive-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const inFolder = (name: string) => (existsSync(join(dataDir, name)) ? readdirSync(join(dataDir, name)) : [])
  let service: Service = await startService(dataDir)
  const restart = async () => {
    await service.end('SIGKILL')
    service = await startService(dataDir)
  }
  const status = async (path: string, name: string) => (await bodyOf(call(service.url, 'GET', path)))?.[name]
  const until = (path: string, name: string) => expect.poll(() => status(path, name), { timeout: 120_000, interval: 200 }).toBe('finished')
  const refs = async (path: string) => gitOut(folder, 'ls-remote', `${withToken(service.url)}/${path}.git`)
  const titles = async (id: number) =>
    ((await bodyOf(call(service.url, 'GET', `/projects/${id}/issues?per_page=100&order_by=created_at&sort=asc`))) as { title: string }[]).map(
      ({ title }) => title,
    )
  /** The ids of the projects whose archives are there. */
  const projectsOf = async (names: string[]) => {
    const ids = names.map((name) => /\d+/.exec(name)?.[0])
    const statuses = await Promise.all(ids.map(async (id) => (await call(service.url, 'GET', `/projects/${id}`))?.status))
    return ids.filter((_, i) => statuses[i] !== 404)
  }
  try {
    const { id, path_with_namespace } = (await bodyOf(call(service.url, 'POST', '/projects', { name: 'source', initialize_with_readme: true }))) as {
      id: number
      path_with_namespace: string
    }
    const work = join(folder, 'work')
    await gitOut(folder, 'clone', '-q', `${withToken(service.url)}/${path_with_namespace}.git`, 'work')
    writeFileSync(join(work, 'data'), randomBytes(BYTES))
    await gitOut(work, 'add', '.')
    await gitOut(work, 'commit', '-q', '-m', 'Data')
    await gitOut(work, 'push', '-q', 'origin', 'HEAD')
    for (let i = 0; i < ISSUES; i++)
      expect(await call(service.url, 'POST', `/projects/${id}/issues`, { title: `Issue ${i}` })).toMatchObject({ status: 201 })
    const expected = { refs: await refs(path_with_namespace), titles: await titles(id) }
    expect(expected.titles).toHaveLength(ISSUES)

    let archive: Blob = new Blob([])
    for (let round = 0; round < rounds(1, 4); round++) {
      expect(await call(service.url, 'POST', `/projects/${id}/export`)).toMatchObject({ status: 202 })
      await appears(join(dataDir, 'exports', `.${id}`))
      await sleep(round * Math.random() * 200)
      await service.end('SIGKILL')
      // the first is killed before the archive is there
      if (round === 0) expect(inFolder('exports')).toContain(`.${id}`)
      service = await startService(dataDir)
      await until(`/projects/${id}/export`, 'export_status')
      expect(inFolder('exports')).toEqual([`${id}.tar.gz`])
      const answer = await fetch(`${service.url}/api/v4/projects/${id}/export/download`, { headers })
      expect(answer.status).toBe(200)
      archive = await answer.blob()
    }

    for (let round = 0; round < rounds(1, 4); round++) {
      const sent = await sendArchive(service.url, `copy${round}`, archive)
      expect(sent).toMatchObject({ status: 201 })
      const copy = sent?.body as { id: number; path_with_namespace: string }
      await appears(join(dataDir, 'imports', `.${copy.id}`))
      await sleep(round * Math.random() * 300)
      await service.end('SIGKILL')
      if (round === 0) expect(inFolder('imports')).toEqual(expect.arrayContaining([`.${copy.id}`, `${copy.id}.tar.gz`]))
      service = await startService(dataDir)
      await until(`/projects/${copy.id}/import`, 'import_status')
      expect(await refs(copy.path_with_namespace)).toBe(expected.refs)
      expect(await titles(copy.id)).toEqual(expected.titles)
      await expect.poll(() => inFolder('imports')).toEqual([])
    }

    // killed while it arrives: a project that is there is whole, and one that is not there has left nothing
    for (let round = 0; round < rounds(1, 4); round++) {
      const path = `early${round}`
      const sending = sendArchive(service.url, path, archive)
      await sleep(Math.random() * 250)
      await restart()
      const answer = await sending
      const found = await call(service.url, 'GET', `/projects/${encodeURIComponent(`${path_with_namespace.split('/')[0]}/${path}`)}`)
      if (answer?.status === 201) expect(found).toMatchObject({ status: 200 })
      if (found?.status === 200) {
        await until(`/projects/${found.body.id}/import`, 'import_status')
        expect(await titles(found.body.id)).toEqual(expected.titles)
      } else {
        expect(found).toMatchObject({ status: 404 })
        expect(await sendArchive(service.url, path, archive)).toMatchObject({ status: 201 })
        await until(`/projects/${encodeURIComponent(`${path_with_namespace.split('/')[0]}/${path}`)}/import`, 'import_status')
      }
      // one whose project was not committed is removed within an hour (EX-7)
      await expect.poll(() => projectsOf(inFolder('imports'))).toEqual([])
    }

    // what cannot be imported says why, also after a kill
    const broken = await sendArchive(service.url, 'broken', archive.slice(0, Math.floor(archive.size / 2)))
    expect(broken).toMatchObject({ status: 201 })
    await restart()
    const failed = (broken as Answer).body.id
    await expect.poll(() => status(`/projects/${failed}/import`, 'import_status'), { timeout: 120_000, interval: 200 }).toBe('failed')
    expect(await status(`/projects/${failed}/import`, 'import_error')).toMatch(/archive/)
    await expect.poll(() => projectsOf(inFolder('imports'))).toEqual([])
  } finally {
    await service.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})
