/**
 * Code for a process whose event loop is watched: every 5 ms, `held` is the longest time that the loop was blocked, and
 * `longest` how much of it the main thread was running; the rest it waited for a core. Without kernel figures both are
 * the same.
 */
export const LOOP = `
import { readFileSync, writeFileSync } from 'node:fs'
const ran = () => {
  try {
    return Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}
let then = performance.now()
let ranThen = ran()
let held = 0
let longest = 0
setInterval(() => {
  const now = performance.now()
  const ranNow = ran()
  held = Math.max(held, now - then)
  longest = Math.max(longest, ranNow - ranThen)
  then = now
  ranThen = ranNow
}, 5).unref()`
