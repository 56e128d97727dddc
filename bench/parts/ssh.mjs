import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { cache, call, median, native, timed } from '../harness.mjs'
import { bulky, git } from '../repository.mjs'

const SSHD = '/usr/sbin/sshd'

/** SSH against the same over HTTP, with OpenSSH's client. */
export async function ssh(bench) {
  const { scratch, quick } = bench
  const key = join(scratch, 'key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  await call(`${bench.api}/user/keys`, { method: 'POST', body: { title: 'bench', key: readFileSync(`${key}.pub`, 'utf8') } })
  const options = [
    '-F',
    '/dev/null',
    '-i',
    key,
    '-o',
    'IdentitiesOnly=yes',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
  ]
  const over = ['-c', `core.sshCommand=ssh ${options.join(' ')}`]
  const big = bulky(cache)
  const bulk = await bench.project('bulk over ssh')
  git(big, ['push', '-q', bench.remote(bulk.path_with_namespace), 'main'])
  const turns = quick ? 2 : 5

  const push = [[], []]
  for (let i = 0; i < turns; i++) {
    const [near, far] = [await bench.project(`http ${i}`), await bench.project(`ssh ${i}`)]
    push[1].push(await timed(() => native(big, ['push', '-q', bench.remote(near.path_with_namespace), 'main'])))
    push[0].push(await timed(() => native(big, [...over, 'push', '-q', far.ssh_url_to_repo, 'main'])))
  }
  bench.row('push of 100 MB over SSH, against HTTP', median(push[0]), median(push[1]), 1.5)
  const clone = [[], []]
  for (let i = 0; i < turns; i++) {
    clone[1].push(await timed(() => native(scratch, ['clone', '-q', '--bare', bench.remote(bulk.path_with_namespace), `by-http${i}.git`])))
    clone[0].push(await timed(() => native(scratch, [...over, 'clone', '-q', '--bare', bulk.ssh_url_to_repo, `by-ssh${i}.git`])))
  }
  bench.row('clone of 100 MB over SSH, against HTTP', median(clone[0]), median(clone[1]), 1.5)

  const beside = async (name, start) => {
    const clones = Array.from({ length: 4 }, (_, i) => start(`${name}${i}.git`))
    const all = Promise.all(clones)
    let running = true
    const ended = all.finally(() => {
      running = false
    })
    const times = []
    while (running) times.push(await timed(() => call(`${bench.api}/projects/${bulk.id}`)))
    await ended
    return median(times)
  }
  const http = await beside('beside-http', (to) => native(scratch, ['clone', '-q', '--bare', bench.remote(bulk.path_with_namespace), to]))
  const secure = await beside('beside-ssh', (to) => native(scratch, [...over, 'clone', '-q', '--bare', bulk.ssh_url_to_repo, to]))
  bench.row('GET /projects/:id beside 4 clones over SSH, against 4 over HTTP', secure, http, 2)
  await manyKeys(bench, options, new URL(bulk.ssh_url_to_repo).port)
  if (existsSync(SSHD)) await besideSshd(bench, { key, options, bulk })
}

/** Logs in and reads the greeting. */
const welcomed = (options, port) =>
  new Promise((resolve, reject) => {
    const child = spawn('ssh', [...options, '-T', '-p', String(port), 'git@127.0.0.1'], { stdio: ['ignore', 'ignore', 'inherit'] })
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`ssh ended with ${code}`))))
  })

/** A login with one stored key, and with 100,000. */
async function manyKeys(bench, options, port) {
  const [one, many] = [[], []]
  const measure = async (times) => {
    await welcomed(options, port)
    for (let i = 0; i < bench.rounds; i++) times.push(await timed(() => welcomed(options, port)))
  }
  for (let turn = 0; turn < 3; turn++) {
    await measure(one)
    await bench.sql(`insert into ssh_keys (user_id, title, key, fingerprint, fingerprint_sha256)
      select 1, 'one of many', 'ssh-ed25519 ' || n, md5(n::text), encode(sha256(n::text::bytea), 'base64') from generate_series(1, 100000) n`)
    await bench.sql('vacuum analyze ssh_keys')
    await measure(many)
    await bench.sql(`delete from ssh_keys where title = 'one of many'`)
    await bench.sql('vacuum analyze ssh_keys')
  }
  bench.row('a login over SSH with 100,000 stored keys, against one', median(many), median(one), 1.1)
}

/** A login and a line of output, compared with a local sshd that runs `echo` in a shell; and a clone from both. */
async function besideSshd(bench, { key, options, bulk }) {
  const { port } = new URL(bulk.ssh_url_to_repo)
  const folder = join(bench.scratch, 'sshd')
  mkdirSync(folder, { mode: 0o700 })
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'host')])
  writeFileSync(join(folder, 'keys'), readFileSync(`${key}.pub`))
  chmodSync(join(folder, 'keys'), 0o600)
  const free = createServer()
  const theirs = await new Promise((resolve) => free.listen(0, '127.0.0.1', () => resolve(free.address().port)))
  await new Promise((resolve) => free.close(resolve))
  const config = [
    `Port ${theirs}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(folder, 'host')}`,
    `AuthorizedKeysFile ${join(folder, 'keys')}`,
    'UsePAM no',
    'StrictModes no',
    'PermitRootLogin yes',
    `PidFile ${join(folder, 'pid')}`,
  ]
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
  if (process.getuid() === 0) mkdirSync('/run/sshd', { recursive: true })
  const sshd = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  await new Promise((resolve) => sshd.stderr.on('data', (data) => String(data).includes('Server listening') && resolve()))
  // algorithms that both support
  const same = ['-o', 'Ciphers=aes128-gcm@openssh.com', '-o', 'KexAlgorithms=curve25519-sha256']
  const run = (at, ...command) =>
    new Promise((resolve, reject) => {
      const child = spawn('ssh', [...options, ...same, '-T', '-p', String(at), ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
      child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`ssh ended with ${code}`))))
    })
  const [ours, others] = await bench.interleaved(
    () => run(port, 'git@127.0.0.1'),
    () => run(theirs, `${userInfo().username}@127.0.0.1`, 'echo', 'welcome'),
  )
  const clones = [[], []]
  const over = ['-c', `core.sshCommand=ssh ${[...options, '-o', 'Ciphers=aes128-ctr', '-o', 'MACs=hmac-sha2-256-etm@openssh.com'].join(' ')}`]
  const direct = `ssh://${userInfo().username}@127.0.0.1:${theirs}${bench.stored(bulk)}`
  for (let i = 0; i < (bench.quick ? 2 : 5); i++)
    for (const [side, url] of [bulk.ssh_url_to_repo, direct].entries())
      clones[side].push(await timed(() => native(bench.scratch, [...over, 'clone', '-q', '--bare', url, `side${side}-${i}.git`])))
  sshd.kill()
  bench.row('clone of 100 MB over SSH, against a local sshd', median(clones[0]), median(clones[1]), 1.3)
  bench.figure(`a login over SSH, beyond ${others.toFixed(0)} ms of a local sshd`, ours - others, 60, 'ms')
}
