import { execFile } from 'node:child_process'
import Fastify from 'fastify'

// What a call costs when nothing is looked up: a bare Fastify that answers the same twenty objects, which it is sent first;
// and what it costs when a git is started for each call: the first page of a log as git prints it.
const app = Fastify({ bodyLimit: 1 << 26 })
let list = []
app.post('/list', async (request) => {
  list = request.body
  return { length: list.length }
})
app.get('/list', async () => list)
const run = (cwd, args) =>
  new Promise((resolve, reject) => execFile('git', args, { cwd, maxBuffer: 1 << 26 }, (error, stdout) => (error ? reject(error) : resolve(stdout))))
app.get('/log', ({ query }) => run(query.directory, ['log', '-n', '20', '--format=%H%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%P%x00%B', 'main']))
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
