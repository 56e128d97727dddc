const { spawn } = require('node:child_process')
const { readFile } = require('node:fs/promises')
const http = require('node:http')
const { join } = require('node:path')

const program = join(__dirname, '../scripts/start.mjs')

/** V8 flags that keep memory low: objects of a test server are short-lived, and a machine may run many servers. */
const SMALL_HEAP = ['--max-semi-space-size=2', '--initial-old-space-size=48', '--heap-growing-percent=20']

/** The number of lines of the server's log that an error quotes. */
const QUOTED = 20

exports.startRoost = async function startRoost({ port, ssh, env, world, clock, seed } = {}) {
  const running = process.env.ROOST_TEST_CONTROL
  if (world !== undefined && running) {
    if (port !== undefined || ssh !== undefined || env !== undefined || clock !== undefined)
      throw new TypeError('port, ssh, env and clock are those of the server that ROOST_TEST_CONTROL names')
    return seeded(
      handleOf(await call(running, 'POST', '/worlds', { name: world }), async () => {}),
      seed,
    )
  }
  const args = [
    ...['--v8-pool-size=1', ...SMALL_HEAP, program, 'test', '--port', String(port ?? 0)],
    ...(ssh ? ['--ssh'] : []),
    ...(world === undefined ? [] : ['--world', world]),
    ...(clock === undefined ? [] : ['--clock', clock instanceof Date ? clock.toISOString() : clock]),
  ]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const line = JSON.parse(await firstLine(child, ended))
  // lets the test runner exit without calling stop(); the server then ends by itself
  for (const part of [child.stdout, child.stderr, child]) part.unref()
  const stop = async () => {
    child.ref()
    child.kill('SIGTERM')
    await ended
  }
  try {
    return await seeded(handleOf(line, stop), seed)
  } catch (error) {
    await stop()
    throw error
  }
}

/** Applies the seed of a world when it starts. */
async function seeded(roost, seed) {
  if (seed !== undefined) await sendSeed(`${roost.control}/worlds/${roost.world}/seed?start=true`, seed)
  return roost
}

/** Sends a seed: an object, or the path of a file. */
async function sendSeed(address, seed) {
  return typeof seed === 'string'
    ? send(address, 'POST', 'application/yaml', await readFile(seed))
    : send(address, 'POST', 'application/json', JSON.stringify(seed))
}

/** The `Roost` object of a world, see index.d.cts. */
function handleOf({ name, control, ...line }, stop) {
  const ask = (method, path, body) => call(control, method, `/worlds/${name}${path}`, body)
  return {
    ...line,
    control,
    world: name,
    reset: () => ask('POST', '/reset'),
    snapshot: (name) => ask('POST', '/snapshots', { name }),
    restore: (snapshot) => ask('POST', '/restore', { snapshot }),
    seed: (data) => sendSeed(`${control}/worlds/${name}/seed`, data),
    requests: async (filter = {}) => (await ask('GET', `/requests?${new URLSearchParams(filter)}`)).requests,
    runJob: (run) => ask('POST', '/jobs', run),
    fail: (fault) => ask('POST', '/faults', fault),
    rateLimit: (limit) => ask('POST', '/limits', limit),
    advance: async (seconds) => new Date((await ask('POST', '/clock', { advance: seconds })).now),
    stop,
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: stop,
  }
}

/** Calls the control API; rejects with its error message. Does not use fetch, which tests may mock. */
const call = (control, method, path, body) =>
  body === undefined ? send(control + path, method) : send(control + path, method, 'application/json', JSON.stringify(body))

function send(address, method, type, body) {
  return new Promise((resolve, reject) => {
    const headers = type === undefined ? {} : { 'content-type': type }
    const request = http.request(address, { method, headers, agent: false }, (answer) => {
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
    request.once('error', reject).end(body)
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
