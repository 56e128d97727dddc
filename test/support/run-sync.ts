import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Pipes {
  requests: number
  results: number
}

let pipes: Pipes | undefined

/** Starts a small helper process: forking it is three times as fast as forking the worker with its large memory. */
function start(): Pipes {
  const folder = mkdtempSync(join(tmpdir(), 'roost-run-'))
  const names = [join(folder, 'requests'), join(folder, 'results')] as const
  execFileSync('mkfifo', names)
  // open for reading and writing first, because opening only one end of a FIFO blocks
  const both = names.map((name) => openSync(name, 'r+'))
  const [requestsOut, requests] = [openSync(names[0], 'r'), openSync(names[0], 'w')]
  const [results, resultsIn] = [openSync(names[1], 'r'), openSync(names[1], 'w')]
  const program = fileURLToPath(new URL('sync-runner.mjs', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'ignore', requestsOut, resultsIn], cwd: '/' })
  child.unref()
  for (const end of [...both, requestsOut, resultsIn]) closeSync(end)
  rmSync(folder, { recursive: true })
  return { requests, results }
}

function read({ results }: Pipes, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const got = readSync(results, bytes, at, length - at, null)
    if (got === 0) throw new Error('the process that runs programs has ended')
    at += got
  }
  return bytes
}

function write({ requests }: Pipes, ...parts: Buffer[]) {
  for (const part of parts) for (let at = 0; at < part.length; ) at += writeSync(requests, part, at)
}

export interface RunOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  input?: string | Buffer
}

/** Runs a program synchronously and returns its output. If it fails, throws with its stderr, as `execFileSync` does. */
export function runSync(program: string, args: string[], { cwd, env, input = '' }: RunOptions = {}): Buffer {
  pipes ??= start()
  const request = Buffer.from(JSON.stringify({ program, args, cwd, env }))
  const given = Buffer.from(input)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(request.length)
  head.writeUInt32BE(given.length, 4)
  write(pipes, head, request, given)
  const { status, signal, error, out, err } = JSON.parse(read(pipes, read(pipes, 4).readUInt32BE()).toString())
  const [stdout, stderr] = [read(pipes, out), read(pipes, err)]
  if (status === 0 && error === undefined) return stdout
  throw Object.assign(new Error(error ?? `Command failed: ${program} ${args.join(' ')}\n${stderr}`), { status, signal, stdout, stderr })
}
