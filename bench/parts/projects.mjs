import { call } from '../harness.mjs'

/** A list of projects, against a bare Fastify that sends the same. */
export async function projects(bench) {
  for (let i = 0; i < 24; i++) await bench.project(`listed ${i}`, { description: 'One of the projects that the list shows' })
  const url = `${bench.api}/projects?per_page=20`
  const rates = await bench.againstConstant(await call(url), 32, () => bench.throughput(url, 32))
  bench.row('list of 20 projects, constant list', ...rates, 0.25, { unit: '/s', atLeast: true })
}
