import { Bench, call, TOKEN } from './harness.mjs'
import { seed } from './seed.mjs'
import { build } from '../scripts/build.mjs'
import autocannon from 'autocannon'
import inspector from 'node:inspector'
await build()
const bench = new Bench({ quick: true })
try {
  await bench.start({ NODE_OPTIONS: '--inspect=127.0.0.1:9339', LOG_LEVEL: 'warn' })
  const seeded = await seed(bench)
  console.log(Object.keys(seeded))
  await bench.quiet()
  const p = (await call(`${bench.api}/projects?search=every`))[0].id
  const paths = (process.argv[2] ?? `/projects/${p}/issues`).split(',').map(x => x.replace(':p', p))
  const { default: WS } = await import('ws').catch(() => ({}))
  const list = await (await fetch('http://127.0.0.1:9339/json')).json()
  const ws = new (WS ?? WebSocket)(list[0].webSocketDebuggerUrl)
  await new Promise((r) => ws.on ? ws.on('open', r) : ws.addEventListener('open', r))
  let id = 0; const waiting = new Map()
  const onmsg = (t) => { const m = JSON.parse(t); waiting.get(m.id)?.(m.result) }
  ws.on ? ws.on('message', (d) => onmsg(String(d))) : ws.addEventListener('message', (e) => onmsg(e.data))
  const cmd = (method, params = {}) => new Promise((r) => { waiting.set(++id, r); ws.send(JSON.stringify({ id, method, params })) })
  await cmd('Profiler.enable'); await cmd('Profiler.setSamplingInterval', { interval: 200 })
  for (const path of paths) {
    const url = `${bench.api}${path}`
    const run = (duration) => autocannon({ url, connections: 16, duration, headers: { 'private-token': TOKEN } })
    await run(3)
    await cmd('Profiler.start')
    const r = await run(6)
    const { profile } = await cmd('Profiler.stop')
    console.log(path, r.requests.average, 'non2xx', r.non2xx)
    const { writeFileSync } = await import('node:fs')
    writeFileSync(`/tmp/prof-${path.replace(/\W+/g, '_')}.cpuprofile`, JSON.stringify(profile))
    const self = new Map(); const total = profile.timeDeltas.reduce((a, b) => a + b, 0)
    const byId = new Map(profile.nodes.map((n) => [n.id, n]))
    profile.samples.forEach((s, i) => { const n = byId.get(s); const f = n.callFrame; const k = `${f.functionName || '(anon)'} ${f.url.split('/').slice(-2).join('/')}:${f.lineNumber}:${f.columnNumber}`; self.set(k, (self.get(k) ?? 0) + profile.timeDeltas[i]) })
    for (const [k, v] of [...self].sort((a, b) => b[1] - a[1]).slice(0, 45)) console.log((v / total * 100).toFixed(1) + '%', (v / r.requests.total).toFixed(0) + 'us', k)
  }
  ws.close()
} finally { await bench.close() }
process.exit()
