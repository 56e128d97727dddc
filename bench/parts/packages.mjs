import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { call, median, rss, TOKEN, timed } from '../harness.mjs'

const MEBIBYTE = 1_048_576
const NAMES = 1_000
const SECONDS = 5

/** Pieces of one random MiB, so that making them costs nothing. */
function* pieces(count) {
  const piece = randomBytes(MEBIBYTE)
  for (let i = 0; i < count; i++) yield piece
}

/** A generic file of 1 GiB up and down beside a plain server, and how many of 1,000 npm packages are described in a second. */
export async function packages(bench) {
  const mebibytes = bench.quick ? 128 : 1_024
  const plain = await bench.plain()
  const { id } = await bench.project('packages')
  const headers = { 'private-token': TOKEN }
  const at = `${bench.api}/projects/${id}/packages`
  const send = async (url, more) => {
    const body = Readable.toWeb(Readable.from(pieces(mebibytes)))
    const { status } = await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/octet-stream', ...more }, body, duplex: 'half' })
    if (status >= 300) throw new Error(`the file was not taken: ${status}`)
  }
  const take = async (url, more) => {
    for await (const _ of (await fetch(url, { headers: more })).body);
  }
  const { pid } = bench.child
  const before = rss(pid)
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, rss(pid))
  }, 50)
  const [up, down] = [
    [[], []],
    [[], []],
  ]
  for (let i = 0; i < 3; i++) {
    const file = `${at}/generic/large/${i}/file`
    up[1].push(await timed(() => send(`${plain}/object`)))
    up[0].push(await timed(() => send(file, headers)))
    down[1].push(await timed(() => take(`${plain}/object`)))
    down[0].push(await timed(() => take(file, headers)))
  }
  clearInterval(watch)
  bench.row(`generic package of ${mebibytes} MiB up`, median(up[0]), median(up[1]), 1.3)
  bench.row(`generic package of ${mebibytes} MiB down`, median(down[0]), median(down[1]), 1.3)
  bench.figure('growth of memory meanwhile (RSS)', peak - before, 40, 'MB')

  const data = randomBytes(200)
  const shasum = createHash('sha1').update(data).digest('hex')
  for (let i = 0; i < NAMES; i++) {
    const name = `package${i}`
    const versions = { '1.0.0': { name, version: '1.0.0', dependencies: { other: '^1.0.0' }, dist: { shasum } } }
    const body = { name, 'dist-tags': { latest: '1.0.0' }, versions, _attachments: { file: { data: data.toString('base64') } } }
    await call(`${at}/npm/${name}`, { method: 'PUT', body })
  }
  let served = 0
  const end = performance.now() + SECONDS * 1_000
  const install = async () => {
    for (let i = 0; performance.now() < end; i++) {
      await (await fetch(`${at}/npm/package${(i * 7) % NAMES}`, { headers })).arrayBuffer()
      served++
    }
  }
  await Promise.all(Array.from({ length: 8 }, install))
  bench.figure('one of 1,000 npm packages described', (SECONDS * 1_000) / served, 1_000 / 300, 'ms')
}
