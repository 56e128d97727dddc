import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { call, need, repositoryOf, startService } from './kill.mjs'

/** Merge requests accepted concurrently. */
const AT_ONCE = 6

function git(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync('git', ['-c', 'safe.directory=*', ...args], {
    cwd,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    encoding: 'utf8',
  })
  return { ok: status === 0, out: stdout.trim(), text: stdout + stderr }
}

/**
 * Kills the service with SIGKILL at a random moment while it merges, restarts it and checks that a merge request is
 * `merged` if and only if its merge commit is reachable; `rounds` times. Resolves with the faults found.
 */
export async function killMerges(rounds, report) {
  const folder = mkdtempSync(join(tmpdir(), 'roost-kill-'))
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'data')
  const faults = []
  let service = await startService(dataDir)
  try {
    const { id } = need(await call(service.url, 'POST', '/projects', { name: 'merges' }), 201, 'a project')
    const commit = (branch, file_path, more = {}) =>
      call(service.url, 'POST', `/projects/${id}/repository/commits`, {
        branch,
        commit_message: file_path,
        actions: [{ action: 'create', file_path, content: file_path }],
        ...more,
      })
    need(await commit('main', 'first'), 201, 'the first commit')
    for (let round = 1; round <= rounds; round++) {
      const requests = []
      for (let n = 0; n < AT_ONCE; n++) {
        const branch = `topic-${round}-${n}`
        const { id: head } = need(await commit(branch, branch, { start_branch: 'main' }), 201, 'a branch')
        const sent = { title: branch, source_branch: branch, target_branch: 'main', remove_source_branch: n % 2 === 0 }
        const { iid } = need(await call(service.url, 'POST', `/projects/${id}/merge_requests`, sent), 201, 'a request')
        requests.push({ iid, head, branch })
      }
      const accepts = requests.map(async (request) => {
        const answer = await call(service.url, 'PUT', `/projects/${id}/merge_requests/${request.iid}/merge`)
        request.acknowledged = answer?.status === 200
        if (answer && answer.status !== 200) faults.push(`round ${round}: !${request.iid} answered ${answer.status} ${JSON.stringify(answer.body)}`)
      })
      await sleep(5 + Math.random() * 400)
      await service.end()
      await Promise.all(accepts)
      service = await startService(dataDir)
      const { merged, found } = await look(service, dataDir, id, requests)
      faults.push(...found.map((fault) => `round ${round}: ${fault}`))
      report(
        `round ${round}: ${requests.filter(({ acknowledged }) => acknowledged).length} acknowledged, ${merged} merged of ${AT_ONCE}, ${found.length === 0 ? 'all is well' : found.join('; ')}`,
      )
    }
  } finally {
    await service.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return faults
}

/** Descriptions of all faults, and the number of merged requests. */
async function look(service, dataDir, id, requests) {
  const found = []
  let merged = 0
  const directory = repositoryOf(dataDir, id)
  const merges = new Map(
    git(directory, 'log', '--merges', '--format=%H %P', 'refs/heads/main')
      .out.split('\n')
      .map((line) => line.split(' '))
      .map(([oid, , second]) => [second, oid]),
  )
  for (const { iid, head, acknowledged, branch } of requests) {
    const { state, merge_commit_sha, merge_status } = need(await call(service.url, 'GET', `/projects/${id}/merge_requests/${iid}`), 200, 'a request')
    const commit = merges.get(head)
    if (commit !== undefined) merged++
    if ((state === 'merged') !== (commit !== undefined)) found.push(`!${iid} is ${state}, and its merge is ${commit ?? 'nowhere'}`)
    if (state === 'merged' && merge_commit_sha !== commit) found.push(`!${iid} says ${merge_commit_sha}, not ${commit}`)
    if (acknowledged && state !== 'merged') found.push(`!${iid} was acknowledged and is ${state}`)
    if (state === 'opened' && !git(directory, 'rev-parse', '-q', '--verify', `refs/heads/${branch}`).ok)
      found.push(`!${iid} is open without its branch`)
    if (state !== 'opened') continue
    let known = merge_status
    for (let tried = 0; known === 'unchecked' && tried < 40; tried++) {
      await sleep(50)
      known = need(await call(service.url, 'GET', `/projects/${id}/merge_requests/${iid}`), 200, 'a request').merge_status
    }
    if (known !== 'can_be_merged') found.push(`!${iid} stays ${known}`)
    // without manual repair, unfinished merges can be done now
    const again = await call(service.url, 'PUT', `/projects/${id}/merge_requests/${iid}/merge`)
    if (again?.status !== 200) found.push(`!${iid} cannot be merged now: ${again?.status} ${JSON.stringify(again?.body)}`)
  }
  const checked = git(directory, 'fsck', '--full', '--no-dangling')
  if ((!checked.ok || /error|missing|broken/.test(checked.text)) && !/cannot be accessed|index not opened/.test(checked.text))
    found.push(`fsck: ${checked.text}`)
  const { url } = JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8'))
  const client = new pg.Client(url)
  await client.connect()
  // intents are resolved before a start listens, or within seconds by a running service
  const left = async () => (await client.query('select * from ref_intents')).rows.length
  for (let tried = 0; tried < 60 && (await left()) > 0; tried++) await sleep(250)
  if ((await left()) > 0) found.push(`${await left()} intents left`)
  await client.end()
  return { merged, found }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rounds = Number(process.argv[2] ?? 100)
  const faults = await killMerges(rounds, (line) => process.stdout.write(`${line}\n`))
  process.stdout.write(`${rounds} kills, ${faults.length} faults\n`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
