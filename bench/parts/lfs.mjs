import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { cache, call, median, rss, timed } from '../harness.mjs'

const GIGABYTE = 1_000_000_000

/** A file of the given size without repeated chunks, and its SHA-256; created once. */
async function large(bytes) {
  const path = join(cache, `lfs-${bytes}`)
  if (!existsSync(path) || statSync(path).size !== bytes) {
    const chunk = (n) => createHash('sha512').update(String(n)).digest().toString('hex').repeat(512)
    const chunks = function* () {
      for (let left = bytes, n = 0; left > 0; left -= 65_536, n++) yield Buffer.from(chunk(n)).subarray(0, left)
    }
    await pipeline(Readable.from(chunks()), createWriteStream(path))
  }
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return { path, oid: hash.digest('hex') }
}

/** Sends or fetches a body as a stream; resolves with the status when the whole response has been read. */
function transfer(url, { method, headers, path }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, (response) => {
      response.on('data', () => undefined)
      response.on('end', () => (response.statusCode < 300 ? resolve() : reject(new Error(`${method} ${url}: ${response.statusCode}`))))
    })
    request.on('error', reject)
    if (path)
      createReadStream(path, { highWaterMark: 1 << 18 })
        .on('error', reject)
        .pipe(request)
    else request.end()
  })
}

/** Objects of 1 GB up and down, against a bare Node server that stores and hashes the same bytes. */
export async function lfs(bench) {
  const size = bench.quick ? GIGABYTE / 10 : GIGABYTE
  const { path, oid } = await large(size)
  const plain = await bench.plain()
  const { pid } = bench.child
  const turns = bench.quick ? 2 : 4
  const [up, down] = [
    [[], []],
    [[], []],
  ]
  let peak = 0
  const before = rss(pid)
  const watch = setInterval(() => {
    peak = Math.max(peak, rss(pid))
  }, 50)
  for (let i = 0; i < turns; i++) {
    const project = await bench.project(`large objects ${i}`)
    const batch = async (operation) => {
      const body = { operation, transfers: ['basic'], objects: [{ oid, size }] }
      const type = 'application/vnd.git-lfs+json'
      const answer = await call(`${bench.remote(project.path_with_namespace)}/info/lfs/objects/batch`, {
        method: 'POST',
        body,
        headers: { accept: type, 'content-type': type },
      })
      return JSON.parse(answer).objects[0].actions[operation]
    }
    const length = { 'content-length': String(size) }
    up[1].push(
      await timed(() => transfer(`${plain}/object`, { method: 'PUT', headers: { ...length, 'content-type': 'application/octet-stream' }, path })),
    )
    const upload = await batch('upload')
    up[0].push(await timed(() => transfer(upload.href, { method: 'PUT', headers: { ...upload.header, ...length }, path })))
    down[1].push(await timed(() => transfer(`${plain}/object`, { method: 'GET' })))
    const download = await batch('download')
    down[0].push(await timed(() => transfer(download.href, { method: 'GET', headers: download.header })))
    // so that the next upload sends the object again
    await call(`${bench.api}/projects/${project.id}`, { method: 'DELETE' })
    await bench.quiet()
  }
  clearInterval(watch)
  const megabytes = `${size / 1_000_000} MB`
  bench.row(`LFS upload of ${megabytes}`, median(up[0]), median(up[1]), 1.3)
  bench.row(`LFS download of ${megabytes}`, median(down[0]), median(down[1]), 1.3)
  bench.figure('growth of memory meanwhile (RSS)', peak - before, 40, 'MB')
}
