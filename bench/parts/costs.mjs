import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, native, postgresOf, ticks } from '../harness.mjs'
import { git } from '../repository.mjs'
import { atOnce, seed } from '../seed.mjs'

/** A process and its descendants. */
function familyOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap(familyOf)]
}

/** CPU milliseconds per kind of call, of the service with its git processes and of Postgres, for capacity planning. */
export async function costs(bench) {
  const { p, head, group, file } = await seed(bench)
  const api = `${bench.api}${p}`
  const post = (path, body) => call(`${api}${path}`, { method: 'POST', body })
  const work = join(bench.scratch, 'costs')
  const project = await call(api)
  const remote = bench.remote(project.path_with_namespace)
  await native(bench.scratch, ['clone', '-q', '--depth=1', remote, work])
  const push = async (n) => {
    writeFileSync(join(work, 'pushed.txt'), `${n}`)
    git(work, ['add', '.'])
    git(work, ['-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', `${n}`])
    await native(work, ['push', '-q', 'origin', `HEAD:refs/heads/pushed${n % 5}`, '--force'])
  }
  const request = async (n) => {
    const actions = [{ action: 'create', file_path: `costs/${n}`, content: `${n}` }]
    await post('/repository/commits', { branch: `cost${n}`, start_branch: 'main', commit_message: `${n}`, actions })
    const { iid } = await post('/merge_requests', { title: `cost ${n}`, source_branch: `cost${n}`, target_branch: 'main' })
    await call(`${api}/merge_requests/${iid}/merge`, { method: 'PUT' })
  }
  const kinds = [
    ['GET /user', 400, () => call(`${bench.api}/user`)],
    ['one project', 400, () => call(api)],
    ['20 projects', 200, () => call(`${bench.api}/projects`)],
    ['one issue', 400, () => call(`${api}/issues/1`)],
    ['20 issues', 200, () => call(`${api}/issues`)],
    ['one merge request', 400, () => call(`${api}/merge_requests/1`)],
    ['20 commits', 200, () => call(`${api}/repository/commits`)],
    ['a file', 400, () => call(`${api}/repository/files/${encodeURIComponent(file)}/raw?ref=main`)],
    ['projects of a group', 200, () => call(`${bench.api}/groups/${group.id}/projects`)],
    ['a status', 200, (n) => post(`/statuses/${head}`, { state: 'success', name: `cost ${n}` })],
    ['a new issue', 200, (n) => post('/issues', { title: `cost ${n}`, description: 'As people write them, in a few words.' })],
    ['a note', 200, (n) => post('/issues/2/notes', { body: `A note, number ${n}` })],
    [
      'a commit by API',
      60,
      (n) =>
        post('/repository/commits', {
          branch: 'main',
          commit_message: `${n}`,
          actions: [{ action: 'create', file_path: `c/${n}`, content: `${n}` }],
        }),
    ],
    ['a branch, commit, merge request and merge', 30, request, 1],
    ['ls-remote of 500 refs', 30, () => native(bench.scratch, ['ls-remote', remote])],
    ['a fetch that brings nothing', 30, () => native(work, ['fetch', '-q', 'origin', 'main'])],
    ['a clone of 6,000 commits', 10, (n) => native(bench.scratch, ['clone', '-q', '--bare', remote, `cost${n}.git`]), 1],
    ['a push of one commit', 30, push, 1],
  ]
  process.stdout.write('| call | service, ms | Postgres, ms |\n| --- | ---: | ---: |\n')
  for (const [what, times, run, parallel = 8] of kinds) {
    for (let i = 0; i < 5; i++) await run(100_000 + i)
    await bench.quiet()
    const now = () => [ticks(familyOf(bench.child.pid)), ticks(postgresOf(bench.dataDir))]
    const before = now()
    await atOnce(times, run, parallel)
    await bench.quiet()
    const [service, postgres] = now().map((after, i) => ((after - before[i]) * 10) / times)
    process.stdout.write(`| ${what} | ${service.toFixed(1)} | ${postgres.toFixed(1)} |\n`)
  }
}
