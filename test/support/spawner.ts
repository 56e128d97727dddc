import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from '../../scripts/build.mjs'
import type { Spawner } from '../../src/git/process/spawner.js'
import { SpawnerProcess } from '../../src/git/process/spawner-process.js'

let started: Promise<Spawner> | undefined

function start(): Promise<Spawner> {
  started ??= build().then((program) => new SpawnerProcess(fileURLToPath(new URL('spawner.js', pathToFileURL(program)))))
  return started
}

/**
 * The spawner process of this worker, shared by all its test files: starting git from the worker itself, with its large
 * memory, takes three times as long.
 */
export const testSpawner: Spawner = {
  spawn: async (program, args, options) => (await start()).spawn(program, args, options),
  close: async () => {},
}

export interface Ended {
  code: number | null
  out: string
  err: string
}

/** Runs a program asynchronously, because it may call the service of this process; resolves with its output. */
export async function run(program: string, args: string[], { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): Promise<Ended> {
  const child = await testSpawner.spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], niceness: undefined })
  const ended = { out: '', err: '' }
  child.stdout?.on('data', (text) => {
    ended.out += text
  })
  child.stderr?.on('data', (text) => {
    ended.err += text
  })
  const code = await child.closed
  return { ...ended, code }
}
