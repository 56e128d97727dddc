import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { type Account, spawnAs } from './account.js'

/** Runs a program to its end; rejects with its `stderr` if it fails. */
export const run = promisify(execFile)

/**
 * Runs Postgres and stops it when standard input closes, which also happens when this process is killed. The script is
 * fixed; command and paths are passed as arguments.
 */
const WATCHDOG = `
"$@" </dev/null 3<&- & server=$!
exec 3<&0
( read -r _ <&3; kill -INT $server ) >/dev/null 2>&1 & watch=$!
wait $server; code=$?
kill $watch 2>/dev/null
exit $code`

/** Starts Postgres; it stops when the standard input of the returned process closes. */
export function launch(program: string, args: string[], account: Account | undefined, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn('/bin/sh', ['-c', WATCHDOG, 'roost-postgres', program, ...args], {
    ...spawnAs(account),
    cwd: '/',
    env,
    // in a session of its own, Postgres does not get the Ctrl-C of the terminal before running requests are done
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
}
