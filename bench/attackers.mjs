import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { SMTPServer } from 'smtp-server'
import ssh2 from 'ssh2'
import { call, gitBeside, withToken } from './kill.mjs'

/** The attacking clients, in a separate process so that their cost is not measured. Prints the responses they get. */
const { url, id, path, work, zeros, ssh, smtpPort, issue, hostile, milliseconds, meant } = JSON.parse(process.argv[2])
const until = Date.now() + milliseconds
const isMeant = (attack) => meant.split(',').some((part) => attack.includes(part))

const counts = {}
const note = (attack, answer) => {
  counts[`${attack}: ${answer}`] = (counts[`${attack}: ${answer}`] ?? 0) + 1
}
const repeat = (attack, work) =>
  (async () => {
    for (let i = 0; isMeant(attack) && Date.now() < until; i++) note(attack, await work(i).catch((error) => error.message))
  })()

/** Sends a request with a body in pieces; resolves with the status, or 0 if the connection closed without one. */
function send(url, { method = 'POST', headers = {}, pieces = [], pause = 0, leaveAfter = 0 }) {
  return new Promise((resolve) => {
    const outgoing = request(url, { method, headers, agent: false }, (answer) => {
      answer.on('data', () => undefined)
      answer.on('end', () => resolve(answer.statusCode))
      answer.on('error', () => resolve(answer.statusCode))
    })
    outgoing.on('error', () => resolve(0))
    outgoing.setMaxListeners(0)
    outgoing.setTimeout(120_000, () => outgoing.destroy())
    if (leaveAfter > 0) setTimeout(() => outgoing.destroy(), leaveAfter)
    const write = async () => {
      for (const piece of pieces) {
        if (outgoing.destroyed) return
        if (!outgoing.write(piece)) await new Promise((next) => outgoing.once('drain', next).once('close', next))
        if (pause > 0) await sleep(pause)
      }
      outgoing.end()
    }
    void write()
  })
}

const json = { 'content-type': 'application/json' }
const chunk = Buffer.from('['.repeat(65_536))
const pairs = Buffer.from('{},'.repeat(21_845))
const haves = gzipSync(
  `0032want ${'1'.repeat(40)}\n0000${Array.from({ length: 200_000 }, () => `0032have ${randomBytes(20).toString('hex')}\n`).join('')}`,
)

/** Runs a command over SSH; resolves with its exit status, or with the error that ended the connection. */
function overSsh(command) {
  return new Promise((resolve) => {
    const client = new ssh2.Client()
    client.on('error', (error) => resolve(error.message))
    client.on('close', () => resolve('closed'))
    client.on('ready', () =>
      client.exec(command, (error, channel) => {
        if (error) return resolve(error.message)
        channel.resume()
        channel.stderr.resume()
        channel.on('close', (code) => {
          resolve(`exit ${code}`)
          client.end()
        })
      }),
    )
    client.connect({ host: '127.0.0.1', port: ssh.port, username: 'git', privateKey: ssh.privateKey })
  })
}

/** Opens a TCP connection and says nothing on it until the other side closes it. */
const silent = (port, localAddress) =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.resume()
    socket.on('error', () => resolve('refused'))
    socket.on('close', () => resolve('closed'))
    setTimeout(() => socket.destroy(), Math.max(1, until - Date.now()))
  })

let mails = 0
const relay = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  logger: false,
  onData(stream, _, done) {
    mails++
    stream.resume()
    stream.on('end', done)
  },
})
relay.listen(smtpPort, '127.0.0.1')
// headings, lists and code of half a MiB: the most expensive text to render
const longText = '# a\n\n- b `c` **d** [e](http://f)\n\n```js\nlet g = 1\n```\n\n'.repeat(8_000)

const attacks = [
  ...Array.from({ length: 16 }, () =>
    repeat('nested JSON of a stranger', () => send(`${url}/api/v4/projects/999999/issues`, { headers: json, pieces: Array(128).fill(chunk) })),
  ),
  ...Array.from({ length: 16 }, () =>
    repeat('many elements of a stranger', () =>
      send(`${url}/api/v4/projects/${id}/repository/commits`, { headers: json, pieces: Array(900).fill(pairs) }),
    ),
  ),
  ...Array.from({ length: 64 }, (_, n) =>
    repeat('guessed passwords', async (i) => {
      const body = new URLSearchParams({ grant_type: 'password', username: n % 2 ? 'root' : `user${i}`, password: `guess ${i}` })
      const answer = await fetch(`${url}/oauth/token`, { method: 'POST', body }).catch(() => null)
      await answer?.text()
      return answer?.status ?? 0
    }),
  ),
  ...Array.from({ length: 8 }, () =>
    repeat('lists of large texts', async () => {
      const answer = await fetch(`${url}/api/v4/projects/${id}/issues?per_page=85`).catch(() => null)
      await answer?.arrayBuffer()
      return answer?.status ?? 0
    }),
  ),
  ...Array.from({ length: 4 }, () =>
    repeat('abandoned fetches', () =>
      send(`${url}/${path}.git/git-upload-pack`, {
        headers: { 'content-type': 'application/x-git-upload-pack-request', 'content-encoding': 'gzip' },
        pieces: [haves],
        leaveAfter: 1_000,
      }),
    ),
  ),
  ...Array.from({ length: 16 }, () =>
    repeat('slow bodies', () =>
      send(`${url}/oauth/token`, { headers: json, pieces: Array(100).fill(' '), pause: 3_000, leaveAfter: Math.max(1, until - Date.now()) }),
    ),
  ),
  ...Array.from({ length: 10 }, () => repeat('SSH commands of 30 KB', () => overSsh(`git-lfs-authenticate a${' '.repeat(30_000)}b`))),
  ...Array.from({ length: 300 }, (_, n) =>
    repeat('silent SSH connections', async () => {
      const end = await silent(ssh.port, `127.0.0.${1 + (n % 3)}`)
      await sleep(1_000)
      return end
    }),
  ),
  // one reader: each file once, in endings whose marks take longest, then again
  repeat('hostile files', async (i) => {
    const answer = await fetch(`${url}/${path}/-/blob/hostile/${hostile[i % hostile.length]}`, { headers: { accept: 'text/html' } }).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.status ?? 0
  }),
  repeat('texts mailed to forty', async () => {
    const answer = await call(url, 'POST', `/projects/${id}/issues/${issue}/notes`, { body: longText })
    await sleep(2_000)
    return answer?.status ?? 0
  }),
  repeat('3 GB of zeros in 3 MB', async () => {
    const { code } = await gitBeside(zeros, ['push', '-q', `${withToken(url)}/${path}.git`, 'zeros'])
    await sleep(1_000)
    return `git exit ${code}`
  }),
  repeat('a commit with 10,000 parents', async () => {
    const { code } = await gitBeside(work, ['push', '-q', `${withToken(url)}/${path}.git`, 'octopus'])
    await sleep(5_000)
    return `git exit ${code}`
  }),
]
await Promise.all(attacks)
relay.close()
note('texts mailed to forty', `mails ${mails > 0 ? 'sent' : 'not sent'}`)
process.stdout.write(JSON.stringify(counts))
