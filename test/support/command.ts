import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const startScript = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))

export interface EndedCommand {
  code: unknown
  stdout: string
  stderr: string
}

/** Runs a program to its end. Of the environment of this process, it gets only `PATH` and `TMPDIR`. */
export const runProgram = (
  program: string,
  args: string[],
  { cwd, env, input = '' }: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
) =>
  new Promise<EndedCommand>((resolve) => {
    const environment = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], ...env }
    const child = execFile(program, args, { cwd, env: environment }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }))
    child.stdin?.end(input)
  })

/** Runs a command of the built program on a data folder, whether or not the service is running. */
export const roostOn =
  (dataDir: string) =>
  (args: string[], input = '') =>
    runProgram(process.execPath, [startScript, ...args], { env: { DATA_DIR: dataDir }, input })
