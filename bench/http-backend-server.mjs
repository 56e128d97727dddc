import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setPriority } from 'node:os'

/**
 * A baseline for Git over HTTP without permissions and records: a plain server that passes each request to
 * `git http-backend` and accepts any password for pushes. Its git has the same priority as the service's, so that other
 * load on the machine affects both equally. Its argument is the folder of the repositories; it prints its URL.
 */
/** GIT_NICENESS of the service. */
const NICENESS = 10
const [, , folder] = process.argv
const server = createServer((request, response) => {
  const { pathname, search } = new URL(request.url, 'http://localhost')
  if (`${pathname}${search}`.includes('receive-pack') && !request.headers.authorization)
    return void response.writeHead(401, { 'www-authenticate': 'Basic realm="bench"' }).end()
  const child = spawn('git', ['-c', 'safe.directory=*', 'http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REMOTE_USER: 'bench',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      ...(request.headers['content-length'] && { CONTENT_LENGTH: request.headers['content-length'] }),
      ...(request.headers['git-protocol'] && { GIT_PROTOCOL: request.headers['git-protocol'] }),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  try {
    setPriority(child.pid, NICENESS)
    writeFileSync(`/proc/${child.pid}/autogroup`, String(NICENESS))
  } catch {
    // the system does not support autogroups
  }
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  const read = (chunk) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    child.stdout.off('data', read)
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [, name, value] = /^([^:]+): (.*)$/.exec(line)
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.write(head.subarray(end + 4))
    child.stdout.pipe(response)
  }
  child.stdout.on('data', read)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
process.on('SIGTERM', () => process.exit())
