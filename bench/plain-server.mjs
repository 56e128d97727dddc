import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import Fastify from 'fastify'
import pg from 'pg'

// Baselines of a bare Fastify: a constant response, which is uploaded first; the same after two lookups by key with
// prepared statements; a log printed by a git process per call; and a file that is received as a stream, hashed,
// written
// and synced, and sent again.
const app = Fastify({ bodyLimit: 1 << 26 })
let list = []
app.post('/list', async (request) => {
  list = request.body
  return { length: list.length }
})
app.get('/list', async () => list)
let pool
app.post('/database', async ({ body: { url } }) => {
  pool = new pg.Pool({ connectionString: url })
  return {}
})
const lookUp = (text, id) => pool.query({ name: text, text, values: [id] })
app.get('/looked-up', async () => {
  const { rows } = await lookUp('select * from users where id = $1', 1)
  await lookUp('select * from projects where id = $1', rows[0].id)
  return list
})
const run = (cwd, args) =>
  new Promise((resolve, reject) => execFile('git', args, { cwd, maxBuffer: 1 << 26 }, (error, stdout) => (error ? reject(error) : resolve(stdout))))
app.get('/log', ({ query }) => run(query.directory, ['log', '-n', '20', '--format=%H%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%B', 'main']))
const folder = mkdtempSync(join(tmpdir(), 'roost-bench-'))
const file = join(folder, 'object')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
process.on('SIGTERM', () => process.exit())
app.addContentTypeParser('application/octet-stream', (_, payload, done) => done(null, payload))
app.put('/object', { bodyLimit: 2 ** 40 }, async ({ body }) => {
  const hash = createHash('sha256')
  const hashed = async function* (chunks) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  await pipeline(body, hashed, createWriteStream(file, { flush: true }))
  return hash.digest('hex')
})
app.get('/object', (_, reply) => reply.type('application/octet-stream').send(createReadStream(file)))
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
