// Installs Roost as users do, as the package that would be published and by the steps of the Dockerfile, and runs it.
// The last line is "N passed, N failed".
import { execFile, execFileSync, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Bytes of the package: of what is always loaded, and with what pages load only when they need it. */
const LARGEST = 4 * 1024 * 1024
const LARGEST_WHOLE = 8 * 1024 * 1024
/** Bytes of four installations. */
const ROOM = 4 * 1024 ** 3
const folder = mkdtempSync(join(memoryFolder() ?? tmpdir(), 'roost-package-'))
// the database may run under another account
chmodSync(folder, 0o711)
const counts = { passed: 0, failed: 0 }

/** A folder in memory: to write the files of packages there takes less than half the time. Programs must run from it. */
function memoryFolder() {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    const runs = /^\S+ \/dev\/shm \S+ (?!\S*\bnoexec\b)/m.test(readFileSync('/proc/mounts', 'utf8'))
    return runs && bavail * bsize >= ROOM ? '/dev/shm' : null
  } catch {
    return null
  }
}

async function check(what, work) {
  try {
    const found = await work()
    counts.passed++
    process.stdout.write(`ok     ${what}${found ? `: ${found}` : ''}\n`)
  } catch (error) {
    counts.failed++
    process.stdout.write(`FAILED ${what}: ${error.stderr || error.message}\n`)
  }
}

function expect(holds, text) {
  if (!holds) throw new Error(text)
}

const configures = /^(ROOST_|DATA_DIR$|DATABASE_URL$|STORAGES$|LFS_STORAGE$|SMTP_URL$|MAIL_FROM$|METRICS_|BASE_URL$|HOST$)/
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !configures.test(name)))
const place = join(folder, 'empty')
mkdirSync(place)

/**
 * A program that was installed. It runs in the empty folder, and its data is in `data` there unless `settings` say so.
 */
class Installed {
  constructor(command, settings = {}) {
    this.command = command
    this.settings = { ...environment, PORT: '0', SSH_PORT: '', ...settings }
  }

  run(...words) {
    const [program, ...args] = this.command
    return execFileSync(program, [...args, ...words], { cwd: place, env: this.settings, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  }

  /** Resolves with its URL and a function that stops it. */
  start() {
    const [program, ...args] = this.command
    const child = spawn(program, args, { cwd: place, env: this.settings, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const end = () => {
      child.kill('SIGTERM')
      return ended
    }
    let log = ''
    return new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text) => {
          log += text
          const [, url] = /Roost is ready at (\S+)/.exec(log) ?? []
          if (url) resolve({ url, end })
        })
      void ended.then((code) => reject(new Error(`it ended with ${code}: ${log}`)))
    })
  }

  /** Starts the service, calls it with a token created by the CLI, and stops it. */
  async serves(more = () => undefined) {
    const { url, end } = await this.start()
    try {
      const token = this.run('token', 'create', 'root')
      const answer = await fetch(`${url}/api/v4/user`, { headers: { 'private-token': token } })
      expect(answer.status === 200 && (await answer.json()).username === 'root', `GET /user is ${answer.status}`)
      const page = await fetch(`${url}/api/docs`)
      expect(page.status === 200, `GET /api/docs is ${page.status}`)
      await more(url, token)
    } finally {
      const code = await end()
      expect(code === 0, `it ended with ${code}`)
    }
  }
}

/** The instructions of the Dockerfile, with continued lines joined. */
const instructions = readFileSync(join(root, 'Dockerfile'), 'utf8')
  .replaceAll(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))
  .map((line) => ({ name: line.slice(0, line.indexOf(' ')), args: line.slice(line.indexOf(' ') + 1) }))
const lastOf = (wanted) => instructions.findLast(({ name }) => name === wanted).args

/**
 * Runs the steps of the Dockerfile in a folder, except those that need an image: Debian packages, accounts and /data.
 */
async function buildImage(image) {
  mkdirSync(image)
  for (const { name, args } of instructions) {
    if (name === 'RUN' && !/apt-get|\/data/.test(args)) await shell(args, image, {}, 300_000)
    if (name !== 'COPY' || args.startsWith('--from')) continue
    const words = args.split(' ')
    const target = words.pop()
    for (const source of words) cpSync(join(root, source), join(image, target === './' ? source : target), { recursive: true })
  }
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** Creates an empty database in the Postgres of a running service. */
async function otherDatabase(dataDir) {
  const { url } = JSON.parse(readFileSync(join(dataDir, 'postgres/running.json'), 'utf8'))
  const client = new pg.Client(url)
  await client.connect()
  await client.query('create database image')
  await client.end()
  return url.replace('/postgres?', '/image?')
}

/** The commands of the first block of a section of a document, without their comments. */
function documentedCommands(file, heading) {
  const text = readFileSync(join(root, file), 'utf8')
  const [, block] = new RegExp(`^## ${heading}$[\\s\\S]*?\`\`\`sh\\n([\\s\\S]*?)\`\`\``, 'm').exec(text)
  return block
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, ''))
}

/** A fresh clone of this checkout, in which nothing has been built. */
function cloned(name) {
  const checkout = join(folder, name)
  execFileSync('git', ['clone', '--quiet', root, checkout], { stdio: ['ignore', 'ignore', 'pipe'] })
  return checkout
}

/** Resolves with what the commands print; they run beside others. */
const shell = async (script, cwd, more = {}, timeout = 600_000) => {
  const running = promisify(execFile)('sh', ['-c', script], { cwd, env: { ...environment, ...more }, timeout })
  running.child.stdin.end()
  return (await running).stdout
}

async function packageIsInstalled() {
  const [makePackage, installPackage] = documentedCommands('docs/installation.md', 'As a package')
  const packed = cloned('packed')
  const commit = execFileSync('git', ['rev-parse', '--short=11', 'HEAD'], { cwd: packed, encoding: 'utf8' }).trim()
  await check('the package as documented, in a fresh clone, below 4 MiB, and 8 MiB with what few pages load', async () => {
    await shell(makePackage, packed)
    const [name, ...others] = readdirSync(packed).filter((file) => file.endsWith('.tgz'))
    expect(name !== undefined && others.length === 0, 'no package was made')
    const { size } = statSync(join(packed, name))
    // compressed as they stand
    const onDemand = (await shell(`tar -tvzf ${name}`, packed))
      .split('\n')
      .filter((line) => / package\/dist\/assets\/(?:diagrams|editor|language)\//.test(line))
      .reduce((sum, line) => sum + Number(line.split(/\s+/)[2]), 0)
    expect(onDemand > 0 && size - onDemand < LARGEST && size < LARGEST_WHOLE, `${size} bytes, ${onDemand} of them on demand`)
    return `${name}, ${size} bytes, ${onDemand} of them on demand`
  })
  await check('its installation as documented', async () => {
    await shell(installPackage, packed, { npm_config_prefix: join(folder, 'prefix'), npm_config_prefer_offline: 'true' })
    rmSync(packed, { recursive: true })
  })
  await check('roost version', () => installed.run('version'))
  await check('roost serves, with its own database, and names its commit', () =>
    installed.serves(async (url, token) => {
      const { revision } = await (await fetch(`${url}/api/v4/version`, { headers: { 'private-token': token } })).json()
      expect(revision === commit, `the revision is ${revision}, not ${commit}`)
    }),
  )
  await check('roost doctor', () => installed.run('doctor'))
}

const checkoutRuns = () =>
  check('the quick start of the README, as it stands', async () => {
    const checkout = cloned('checkout')
    const [start, ...others] = documentedCommands('README.md', 'Quick start')
    // uses any port if 8080 is taken
    const port = await freePort()
    const env = { ...environment, PORT: String(port), SSH_PORT: '' }
    const child = spawn('sh', ['-c', start], { cwd: checkout, env, stdio: ['ignore', 'pipe', 'ignore'] })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    try {
      await new Promise((resolve, reject) => {
        child.stdout.on('data', (text) => String(text).includes('Roost is ready') && resolve())
        void ended.then((code) => reject(new Error(`it ended with ${code}`)))
      })
      const script = ['set -e', ...others].join('\n').replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      const log = await shell(script, checkout, { PORT: String(port), SSH_PORT: '' })
      expect(/[0-9a-f]{7} .+\n$/.test(log), log)
      return `${others.length + 1} commands`
    } finally {
      child.kill('SIGTERM')
      await ended
    }
  })

const image = join(folder, 'image')
const installed = new Installed([join(folder, 'prefix/bin/roost')])
await Promise.all([packageIsInstalled(), checkoutRuns().then(() => check('the steps of the Dockerfile', () => buildImage(image)))])
await check('what they make serves beside another Postgres, and its health check passes', async () => {
  const command = JSON.parse(lastOf('CMD')).map((word) => (word.endsWith('.mjs') ? join(image, word) : word))
  const [node, ...healthy] = JSON.parse(lastOf('HEALTHCHECK').replace(/^.*?CMD /, ''))
  const { end } = await installed.start()
  try {
    const settings = { DATA_DIR: join(folder, 'image-data'), DATABASE_URL: await otherDatabase(join(place, 'data')), NODE_ENV: 'production' }
    await new Installed(command, settings).serves((url) => void execFileSync(node, healthy, { env: { ...environment, PORT: new URL(url).port } }))
  } finally {
    await end()
  }
})
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`)
process.exitCode = counts.failed === 0 ? 0 : 1
