// Start-up time and idle memory of any server: `node bench/idle.mjs URL COMMAND ARGUMENT…`. Its data should exist
// already. Memory is the proportional set size (PSS) of the process and its descendants, including a database that it
// starts, after a minute without calls.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, pss } from './harness.mjs'

const STARTS = 5
const IDLE = 60_000
const [url, command, ...args] = process.argv.slice(2)
if (command === undefined) throw new Error('usage: node bench/idle.mjs URL COMMAND ARGUMENT…')

/** The descendants of a process. */
function below(pid) {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return [Number(name), Number(/^.*\) \S+ (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1])]
      } catch {
        return [Number(name), 0]
      }
    })
  const of = (parent) => parents.filter(([, its]) => its === parent).flatMap(([child]) => [child, ...of(child)])
  return [pid, ...of(pid)]
}

/** Milliseconds from the start to the first response. */
async function started() {
  const begun = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
    const answered = await fetch(url).then(
      () => true,
      () => false,
    )
    if (answered) return { ms: performance.now() - begun, child, ended }
    await sleep(2)
  }
}

const times = []
for (let n = 1; n <= STARTS; n++) {
  const { ms, child, ended } = await started()
  times.push(ms)
  if (n === STARTS) {
    await sleep(IDLE)
    const memory = below(child.pid).reduce((sum, pid) => sum + pss(pid), 0)
    process.stdout.write(`first answer after ${median(times).toFixed(0)} ms, ${memory.toFixed(0)} MB in ${below(child.pid).length} processes\n`)
  }
  child.kill('SIGTERM')
  await ended
}
