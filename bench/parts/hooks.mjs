import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, median, native, timed } from '../harness.mjs'
import { git } from '../repository.mjs'

const RECEIVERS = 50
/** Changes per second, each delivered to every receiver. */
const PACE = 4

/**
 * A server for each receiver: `arrived` gets each body with the number of its receiver; the first takes ten seconds to
 * answer.
 */
function receive(arrived) {
  return Promise.all(
    Array.from({ length: RECEIVERS }, async (_, receiver) => {
      const server = createServer((request, response) => {
        const chunks = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('end', () => {
          arrived(receiver, JSON.parse(Buffer.concat(chunks).toString()))
          setTimeout(() => response.end('{}'), receiver === 0 ? 10_000 : 0)
        })
      })
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
}

/** Webhooks to many receivers, one of which is slow, and their cost for the push that triggers them. */
export async function hooks(bench) {
  const changes = bench.quick ? 20 : 200
  const [made, delays] = [new Map(), []]
  let late = 0
  const servers = await receive((receiver, { object_attributes }) => {
    const at = made.get(object_attributes?.title)
    if (receiver === 0 || at === undefined) return
    delays.push(performance.now() - at)
  })
  const addressOf = (i) => `http://127.0.0.1:${servers[i].address().port}/`
  try {
    const project = await bench.project('many hooks')
    const hook = (id, body) => call(`${bench.api}/projects/${id}/hooks`, { method: 'POST', body })
    for (let i = 0; i < RECEIVERS; i++) await hook(project.id, { url: addressOf(i), issues_events: true, push_events: false })
    for (let i = 0; i < changes; i++) {
      const title = `change ${i}`
      const due = sleep(1_000 / PACE)
      made.set(title, performance.now())
      await call(`${bench.api}/projects/${project.id}/issues`, { method: 'POST', body: { title } })
      await due
    }
    const all = changes * (RECEIVERS - 1)
    for (let waited = 0; delays.length < all && waited < 600; waited++) await sleep(100)
    late = all - delays.length
    delays.sort((a, b) => a - b)
    bench.figure(`webhooks that did not arrive, of ${all}`, late, 0.5, 'of them')
    bench.figure('99 of 100 webhooks after the change, beside a receiver that takes 10 s', delays[Math.floor(delays.length * 0.99)], 2_000, 'ms')
    await pushes(bench, (id, i) => hook(id, { url: addressOf(i + 1), push_events: true }))
  } finally {
    for (const server of servers) server.close().closeAllConnections()
  }
}

async function pushes(bench, hook) {
  const work = `${bench.scratch}/pushed`
  await native(bench.scratch, ['init', '-q', '-b', 'main', work])
  git(work, ['-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', 'first'])
  const [without, beside] = [await bench.project('push without hooks'), await bench.project('push with hooks')]
  for (let i = 0; i < 20; i++) await hook(beside.id, i)
  const times = [[], []]
  for (let i = 0; i < Math.ceil(bench.rounds / 2); i++) {
    git(work, ['-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', `${i}`])
    for (const at of i % 2 ? [0, 1] : [1, 0]) {
      const project = at === 0 ? beside : without
      times[at].push(await timed(() => native(work, ['push', '-q', bench.remote(project.path_with_namespace), 'main'])))
      // deliveries of one push must not slow down the next
      await bench.quiet()
    }
  }
  bench.row('push with deliveries to 20 hooks, against one without', median(times[0]), median(times[1]), 1.1)
}
