import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../scripts/start.mjs', import.meta.url))

/** Lines of what the server has said that an error quotes. */
const QUOTED = 20

export async function startRoost({ port = 0, ssh = false, env = {} } = {}) {
  const args = ['--v8-pool-size=1', program, 'test', '--port', String(port), ...(ssh ? ['--ssh'] : [])]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const { url, username, token, password, pid } = JSON.parse(await firstLine(child, ended))
  // a test runner that forgets to stop it can end all the same; the server notices
  for (const part of [child.stdout, child.stderr, child]) part.unref()
  const stop = async () => {
    child.ref()
    child.kill('SIGTERM')
    await ended
  }
  return { url, username, token, password, pid, stop, [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: stop }
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
