import { median } from '../harness.mjs'

const CLIENTS = 32

/** A list of projects, against a bare Fastify that sends the same; and for five times as many clients as keep the service busy (SEC-149). */
export async function projects(bench) {
  const list = (clients) => bench.throughput(`${bench.api}/projects?per_page=20`, clients)
  const rates = await bench.againstConstantList(CLIENTS, () => list(CLIENTS))
  bench.row('list of 20 projects, constant list', ...rates, 0.25, { unit: '/s', atLeast: true })
  const [many, few] = [[], []]
  for (let i = 0; i < 3; i++) {
    few.push(await list(CLIENTS))
    many.push(await list(5 * CLIENTS))
  }
  bench.row(`the same for ${5 * CLIENTS} clients, for ${CLIENTS}`, median(many), median(few), 0.9, { unit: '/s', atLeast: true })
}
