import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/** Polling interval in milliseconds. */
const EVERY = 500

/**
 * Ends this process, as SIGTERM does, when the npm that started it is gone, or the `sh -c` that started npm. A supervisor
 * only knows the first process; if that ends without forwarding its signal, the service would keep running, with its
 * port and data folder.
 */
export function endWithLauncher() {
  const chain = [process.ppid]
  for (let parent = parentOf(process.ppid); parent > 1 && isCommandShell(parent); parent = parentOf(parent)) chain.push(parent)
  const timer = setInterval(() => {
    const stands = process.ppid === chain[0] && chain.every((pid, i) => i === 0 || parentOf(chain[i - 1]) === pid)
    if (stands) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, EVERY)
  timer.unref()
}

/** 0 if unknown. */
function parentOf(pid) {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}

/** A shell that runs one command line, unlike one that a person types into or one that runs a script. */
function isCommandShell(pid) {
  try {
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return /^(sh|ash|bash|dash|ksh|zsh)$/.test(basename(program)) && args.some((arg) => /^-[a-z]*c$/.test(arg))
  } catch {
    return false
  }
}
