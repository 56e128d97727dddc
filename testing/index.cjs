const { spawn } = require('node:child_process')
const http = require('node:http')
const { join } = require('node:path')

const program = join(__dirname, '../scripts/start.mjs')

/** Lines of what the server has said that an error quotes. */
const QUOTED = 20

exports.startRoost = async function startRoost({ port, ssh, env, world } = {}) {
  const running = process.env.ROOST_TEST_CONTROL
  if (world !== undefined && running) {
    if (port !== undefined || ssh !== undefined || env !== undefined)
      throw new TypeError('port, ssh and env are those of the server that ROOST_TEST_CONTROL names')
    return handleOf(await call(running, 'POST', '/worlds', { name: world }), async () => {})
  }
  const args = [
    ...['--v8-pool-size=1', program, 'test', '--port', String(port ?? 0)],
    ...(ssh ? ['--ssh'] : []),
    ...(world === undefined ? [] : ['--world', world]),
  ]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const line = JSON.parse(await firstLine(child, ended))
  // a test runner that forgets to stop it can end all the same; the server notices
  for (const part of [child.stdout, child.stderr, child]) part.unref()
  return handleOf(line, async () => {
    child.ref()
    child.kill('SIGTERM')
    await ended
  })
}

/** What a test gets of a world. */
function handleOf({ name, control, ...line }, stop) {
  const ask = (method, path, body) => call(control, method, `/worlds/${name}${path}`, body)
  return {
    ...line,
    control,
    world: name,
    reset: () => ask('POST', '/reset'),
    snapshot: (name) => ask('POST', '/snapshots', { name }),
    restore: (snapshot) => ask('POST', '/restore', { snapshot }),
    stop,
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: stop,
  }
}

/** One call of the control channel; its answer, or an error with its message. Not by fetch, which tests replace. */
function call(control, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const request = http.request(`${control}${path}`, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      answer.once('error', reject).once('end', () => {
        const value = text === '' ? undefined : JSON.parse(text)
        if (answer.statusCode < 300) resolve(value)
        else reject(new Error(`roost: ${value?.message ?? answer.statusCode}`))
      })
    })
    request.once('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function firstLine(child, ended) {
  let out = ''
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log = (log + text).split('\n').slice(-QUOTED).join('\n')
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
      const end = out.indexOf('\n')
      if (end >= 0) resolve(out.slice(0, end))
    })
    void ended.then((code) => reject(new Error(`roost test ended with ${code}: ${log.trim()}`)))
  })
}
