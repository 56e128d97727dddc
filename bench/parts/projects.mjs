/** A list of projects, against a bare Fastify that sends the same. */
export async function projects(bench) {
  const rates = await bench.againstConstantList(32, () => bench.throughput(`${bench.api}/projects?per_page=20`, 32))
  bench.row('list of 20 projects, constant list', ...rates, 0.25, { unit: '/s', atLeast: true })
}
