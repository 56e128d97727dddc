// @module-tag long
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { type Answer, call, type Service, startService, withToken } from '../bench/kill.mjs'
import { build } from '../scripts/build.mjs'
import { repositoryDirectory } from '../src/git/storage/create.js'
import { commitIn, gitOut, gitRun } from './support/clients/git-client.js'
import { rounds } from './support/rounds.js'
import { run } from './support/spawner.js'

let program: string
beforeAll(async () => {
  program = await build()
})

/** Writes to a project by API and by pushes until it is stopped; returns the commits that were acknowledged. */
function writers(url: string, id: number, work: string): () => Promise<string[]> {
  let over = false
  const made: string[] = []
  const byApi = async () => {
    for (let n = 0; !over; n++) {
      const actions = [{ action: 'create', file_path: `api${n}`, content: `${n}` }]
      const answer = await call(url, 'POST', `/projects/${id}/repository/commits`, { branch: 'main', commit_message: `${n}`, actions })
      if (answer?.status === 201) made.push(answer.body.id)
      else if (answer !== null) expect(answer.status).toBe(503)
    }
  }
  const byPush = async () => {
    for (let n = 0; !over; n++) {
      const oid = await commitIn(work, `push${n}`)
      if ((await gitRun(work, 'push', '-q', 'origin', 'HEAD:pushed')).code === 0) made.push(oid)
    }
  }
  const both = Promise.all([byApi(), byPush()])
  return async () => {
    over = true
    await both
    return made
  }
}

it('a service that is killed while it moves a repository leaves one valid copy, and the move is finished (SEC-187)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'move-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const places = { default: join(folder, 'first'), second: join(folder, 'second') }
  const environment = { STORAGES: `default=${places.default},second=${places.second}` }
  const at = (storage: keyof typeof places, id: number) => repositoryDirectory(places[storage], { storage, id, kind: 'project' })
  const roost = (...args: string[]) =>
    run(process.execPath, [program, ...args], { cwd: folder, env: { PATH: process.env['PATH'], DATA_DIR: dataDir, SSH_PORT: '', ...environment } })
  let service: Service = await startService(dataDir, environment)
  let acknowledged = 0
  try {
    for (let round = 0; round < rounds(1, 4); round++) {
      const made = await call(service.url, 'POST', '/projects', { name: `p${round}`, initialize_with_readme: true })
      expect(made).toMatchObject({ status: 201 })
      const { id, path_with_namespace } = (made as Answer).body
      await gitOut(folder, 'clone', '-q', `${withToken(service.url)}/${path_with_namespace}.git`, `w${round}`)
      const stop = writers(service.url, id, join(folder, `w${round}`))
      await sleep(100)
      expect(await call(service.url, 'PUT', `/projects/${id}`, { repository_storage: 'second' })).toMatchObject({ status: 200 })
      await sleep(Math.random() * 700)
      await service.end('SIGKILL')
      const commits = await stop()
      acknowledged += commits.length
      service = await startService(dataDir, environment)
      expect(await roost('move-repository', path_with_namespace, 'second')).toMatchObject({ code: 0, out: `project ${id} is in second\n` })
      const history = (await gitOut(at('second', id), 'rev-list', '--all')).split('\n')
      for (const oid of commits) expect(history).toContain(oid)
      expect(await gitRun(at('second', id), 'fsck', '--strict', '--no-dangling')).toMatchObject({ code: 0 })
      const after = [{ action: 'create', file_path: 'after', content: '' }]
      const written = { branch: 'main', commit_message: 'after', actions: after }
      expect(await call(service.url, 'POST', `/projects/${id}/repository/commits`, written)).toMatchObject({ status: 201 })
      expect(existsSync(join(at('second', id), '..', `.leaving-${id}`))).toBe(false)
    }
    expect(acknowledged).toBeGreaterThan(0)
    // what the kills left is removed while the service runs, when it is old enough
    const examined = async () => {
      const { out, err } = await roost('doctor')
      return out + err
    }
    await expect.poll(examined, { timeout: 100_000 }).toBe('0 faults\n')
    expect(await service.end('SIGTERM')).toBe(0)
    // without a service the command does the work itself
    expect(await roost('move-repository', '1', 'third')).toMatchObject({
      code: 1,
      err: 'roost: there is no storage called third: STORAGES has default, second\n',
    })
    expect(await examined()).toBe('0 faults\n')
  } finally {
    await service.end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}, 600_000)
