import { readFileSync } from 'node:fs'
import { runProgram } from './cli/program.js'
import { type Failure, failureText } from './failures.js'
import { StartFault } from './lib/start-fault.js'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** Resolves when the command is done, or the service is ready. */
export const started = runProgram(process.argv.slice(2), version).catch((error: unknown) => {
  // A StartFault is printed as one line; anything else is a bug and is printed with its stack.
  const plain = error instanceof StartFault
  const failure = error instanceof Error && 'kind' in error // a Failure of a service, such as an unknown user
  const line = plain ? (error as Error).message : failure ? failureText((error as Failure).body) : undefined
  process.stderr.write(line !== undefined ? `roost: ${line}\n` : `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
  // Handles that a failed start left open must not keep the process running.
  setTimeout(() => process.exit(1), 500).unref()
})
