import { spawnSync } from 'node:child_process'
import { readSync, writeSync } from 'node:fs'

/** Runs one program after another for `runSync`: reads requests from one pipe, writes results to another, until EOF. */
const [requests, results] = [3, 4]

/** Reads exactly `length` bytes; null at EOF. */
function read(length) {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    const got = readSync(requests, bytes, at, length - at, null)
    if (got === 0) return null
    at += got
  }
  return bytes
}

function write(...parts) {
  for (const part of parts) for (let at = 0; at < part.length; ) at += writeSync(results, part, at)
}

for (let head = read(8); head; head = read(8)) {
  const { program, args, cwd, env } = JSON.parse(read(head.readUInt32BE(0)).toString())
  const input = read(head.readUInt32BE(4))
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, { cwd, env, input, maxBuffer: 1 << 30 })
  const [out, err] = [stdout ?? Buffer.alloc(0), stderr ?? Buffer.alloc(0)]
  const result = Buffer.from(JSON.stringify({ status, signal, error: error?.message, out: out.length, err: err.length }))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(result.length)
  write(length, result, out, err)
}
