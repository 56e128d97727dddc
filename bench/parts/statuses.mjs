import { call } from '../harness.mjs'

const CLIENTS = 16
const NAMES = 10

/** Concurrent status updates of one commit, and reading the latest of very many statuses. */
export async function statuses(bench) {
  const commitOf = async (name) => {
    const project = await bench.project(name)
    const actions = [{ action: 'create', file_path: 'a', content: 'a\n' }]
    const { id } = await call(`${bench.api}/projects/${project.id}/repository/commits`, {
      method: 'POST',
      body: { branch: 'main', commit_message: 'Add a file', actions },
    })
    return {
      post: `${bench.api}/projects/${project.id}/statuses/${id}`,
      list: `${bench.api}/projects/${project.id}/repository/commits/${id}/statuses`,
    }
  }
  const post = ({ post }, body) => call(post, { method: 'POST', body })

  for (let i = 0; i < 20; i++) await bench.project(`built ${i}`, { description: 'One of the projects that the list shows' })
  const busy = await commitOf('busy')
  await post(busy, { state: 'success' })
  const headers = { 'private-token': 'bench-token-0123456789', 'content-type': 'application/json' }
  const posting = () => bench.throughput(busy.post, CLIENTS, { method: 'POST', headers, body: JSON.stringify({ state: 'success' }) })
  const rates = await bench.againstConstant(await call(`${bench.api}/projects?per_page=20`), CLIENTS, posting)
  bench.row(`${CLIENTS} clients post statuses of one commit, constant list`, ...rates, 0.2, { unit: '/s', atLeast: true })

  const few = await commitOf('few')
  const many = await commitOf('many')
  for (let n = 0; n < NAMES; n++) await post(few, { state: 'success', name: `job ${n}` })
  for (let i = 0; i < 10_000; i += CLIENTS)
    await Promise.all(Array.from({ length: CLIENTS }, (_, n) => post(many, { state: 'success', name: `job ${(i + n) % NAMES}` })))
  const [ofMany, ofFew] = await bench.interleaved(
    () => call(many.list),
    () => call(few.list),
    bench.rounds * 5,
  )
  bench.row(`the latest of 10,000 statuses, of ${NAMES}`, ofMany, ofFew, 2)
}
