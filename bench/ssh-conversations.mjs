import { randomBytes, randomInt } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import ssh2 from 'ssh2'
import { call, startService } from './kill.mjs'
import { sshKeyPair } from './ssh-keys.mjs'

/**
 * Random and hostile conversations with the SSH port of the built service, then many concurrent connections, next to an
 * API client; prints descriptors, memory and latency before, during and after:
 *   node bench/ssh-conversations.mjs [random conversations [hostile ones [connections]]]
 */
const [RANDOM = 10_000, HOSTILE = 1_000, OPEN = 1_000] = process.argv.slice(2).map(Number)
/** Concurrent conversations. */
const AT_ONCE = 24
/** Milliseconds of silence after which a conversation is aborted. */
const SILENCE = 300
const HELLO = 'SSH-2.0-x\r\n'

const folder = mkdtempSync(join(tmpdir(), 'roost-ssh-conversations-'))
chmodSync(folder, 0o711)
const service = await startService(join(folder, 'data'), { SSH_PORT: '0', LOG_LEVEL: 'warn' })

const { private: privateKey, public: publicKey } = sshKeyPair()
const need = (answer, status) => {
  if (answer?.status !== status) throw new Error(`${answer?.status} ${JSON.stringify(answer?.body)}`)
  return answer.body
}
need(await call(service.url, 'POST', '/user/keys', { title: 'bench', key: publicKey }), 201)
const project = need(await call(service.url, 'POST', '/projects', { name: 'target', initialize_with_readme: true }), 201)
const port = Number(new URL(project.ssh_url_to_repo).port)

/** Sends data and resolves when the connection is closed, by the service or after a silence. */
function talk(said, { cut = false, localAddress } = {}) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }, () => {
      for (const each of said) socket.write(each)
      if (cut) socket.end()
    })
    socket.setTimeout(SILENCE, () => socket.destroy())
    socket.resume().on('error', () => {})
    socket.on('close', resolve)
  })
}

const packet = (payload, length = payload.length + 5) => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length)
  head[4] = 4
  return Buffer.concat([head, payload, Buffer.alloc(4)])
}

/** Runs a session with a command whose client bytes are changed or cut at some point. */
async function mangled() {
  const at = randomInt(1, 3_000)
  const how = randomInt(3)
  const near = await new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      server.close()
      const far = connect(port, '127.0.0.1')
      let passed = 0
      socket.on('data', (chunk) => {
        const within = at - passed
        passed += chunk.length
        const here = within >= 0 && within < chunk.length
        if (here && how === 0) {
          far.end(chunk.subarray(0, within))
          return void socket.destroy()
        }
        if (here) chunk.fill(how === 1 ? chunk[within] ^ 0xff : 0xff, within, Math.min(chunk.length, within + (how === 1 ? 1 : 4)))
        far.write(chunk)
      })
      far.on('data', (chunk) => socket.write(chunk))
      far.setTimeout(SILENCE, () => far.destroy())
      for (const one of [socket, far])
        one
          .on('error', () => {})
          .on('close', () => {
            socket.destroy()
            far.destroy()
          })
    })
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
  await session(near)
}

/** Logs in and requests a fetch; resolves with whether the service responded. */
function session(at) {
  return new Promise((resolve) => {
    let answered = false
    const client = new ssh2.Client()
    const done = () => {
      client.destroy()
      resolve(answered)
    }
    client.on('error', done).on('close', done)
    client.on('ready', () =>
      client.exec(`git-upload-pack '${project.path_with_namespace}.git'`, (error, channel) => {
        if (error) return done()
        channel.on('data', () => (answered = true)).on('close', done)
        channel.end('0000')
      }),
    )
    client.connect({ host: '127.0.0.1', port: at, username: 'git', privateKey, readyTimeout: 10_000 })
  })
}

const RANDOM_KINDS = [
  () => talk([randomBytes(randomInt(1, 5_000))]),
  () => talk([HELLO, randomBytes(randomInt(1, 50_000))]),
  () => talk([HELLO, packet(randomBytes(randomInt(1, 2_000)), randomInt(2 ** 32))]),
  mangled,
]
const HOSTILE_KINDS = [
  () => talk([Buffer.alloc(3_000_000, 'a')]), // a greeting without an end
  () => talk([Buffer.alloc(2_000_000, 'line\r\n')]),
  () => talk([HELLO, packet(randomBytes(30), 0xffffffff)]),
  () => talk([HELLO, packet(randomBytes(30), 0)]),
  () => talk([HELLO, packet(Buffer.from([50, 0, 0, 0, 3]))]), // a login before keys are exchanged
  () => talk([HELLO, packet(Buffer.from([20]))]),
  () => talk(['SSH-1.5-old\r\n']),
  () => talk([HELLO, packet(randomBytes(200)).subarray(0, 60)], { cut: true }),
  () => talk([HELLO.slice(0, 5)], { cut: true }),
  mangled,
]

async function many(count, kinds) {
  let left = count
  const worker = async () => {
    while (left-- > 0) await kinds[left % kinds.length]()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const rank = (times, share) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]
const status = () => readFileSync(`/proc/${service.pid}/status`, 'utf8')
const figures = () => ({
  descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
  'memory MB': Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status())[1]) / 1_024),
})
async function reads(until) {
  const times = []
  while (!until(times.length)) {
    const start = performance.now()
    need(await call(service.url, 'GET', `/projects/${project.id}`), 200)
    times.push(performance.now() - start)
  }
  return { reads: times.length, 'p50 ms': rank(times, 0.5).toFixed(1), 'p99 ms': rank(times, 0.99).toFixed(1) }
}
const alone = () => reads((count) => count === 500)

const rows = {}
async function beside(name, work) {
  const began = performance.now()
  let running = true
  const ended = work().finally(() => {
    running = false
  })
  const latency = await reads(() => !running)
  await ended
  rows[name] = { seconds: Math.round((performance.now() - began) / 1_000), ...figures(), ...latency }
}

try {
  // warm-up: memory still grows right after a start
  await many(200, [() => session(port)])
  await sleep(2_000)
  rows.before = { ...figures(), ...(await alone()) }
  await beside(`${RANDOM} random ones`, () => many(RANDOM, RANDOM_KINDS))
  await beside(`${HOSTILE} hostile ones`, () => many(HOSTILE, HOSTILE_KINDS))
  await beside(`${OPEN} connections at once`, () =>
    Promise.all(Array.from({ length: OPEN }, (_, i) => talk([HELLO], { localAddress: `127.0.1.${1 + (i % 20)}` }))),
  )
  await sleep(5_000)
  const served = await session(port)
  rows.after = { ...figures(), ...(await alone()) }
  console.table(rows)
  const faults = service
    .log()
    .split('\n')
    .filter((line) => /"level":(50|60)/.test(line))
  console.log(`${faults.length} faults in the log, SSH ${served ? 'is' : 'IS NOT'} served`)
  for (const line of new Set(faults.slice(0, 5))) console.log(line)
  const leak = rows.after.descriptors - rows.before.descriptors
  if (faults.length > 0 || !served || leak > 10) process.exitCode = 1
} finally {
  await service.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}
