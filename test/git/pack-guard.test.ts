import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PackGuard } from '../../src/git/wire/pack-guard.js'

const MIB = 1024 ** 2
const ZEROS = 40 * MIB
const COMMANDS = '0009abcde0008wxyz0000'
let folder: string

const git = (args: string[], input?: string) =>
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], {
    cwd: folder,
    maxBuffer: 64 * MIB,
    stdio: ['pipe', 'pipe', 'ignore'],
    ...(input !== undefined && { input }),
  })
/** A push of everything that a branch reaches, in deltas where git makes some. */
const pushOf = (branch: string, ...options: string[]) =>
  Buffer.concat([Buffer.from(COMMANDS), git(['pack-objects', '--revs', '--stdout', '-q', ...options], branch)])

/** What the guard passes on of a push that arrives in chunks, and its fault. */
async function guarded(push: Buffer, { chunk = 4_096, objectBytes = 1024 * MIB } = {}) {
  const guard = new PackGuard({ objectBytes, inflatedBytes: 8 * MIB })
  const chunks = Array.from({ length: Math.ceil(push.length / chunk) }, (_, i) => push.subarray(i * chunk, (i + 1) * chunk))
  const passed = await buffer(Readable.from(chunks).pipe(guard))
  return { passed, fault: guard.fault }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'roost-pack-'))
  git(['init', '-q', '-b', 'good'])
  const lines = Array.from({ length: 3_000 }, (_, i) => `line ${i} ${randomBytes(8).toString('hex')}`)
  for (let i = 0; i < 25; i++) {
    lines[i * 7] = `changed ${i}`
    writeFileSync(join(folder, 'text'), lines.join('\n'))
    writeFileSync(join(folder, `noise${i % 5}`), randomBytes(i * 6_000))
    git(['add', '.'])
    git(['commit', '-qm', `commit ${i}`])
  }
  git(['checkout', '-qb', 'zeros'])
  writeFileSync(join(folder, 'zeros'), Buffer.alloc(ZEROS))
  git(['add', '.'])
  git(['commit', '-qm', 'zeros'])
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('PackGuard (SEC-220)', () => {
  it.each([1_000, 4_093, 65_536, 64 * MIB])('passes an ordinary push on, byte for byte, in chunks of %i bytes', async (chunk) => {
    for (const options of [[], ['--delta-base-offset'], ['--window=0']]) {
      const push = pushOf('good', ...options)
      const { passed, fault } = await guarded(push, { chunk })
      expect([fault, passed.equals(push)]).toEqual([null, true])
    }
  })

  it('refuses an object by the size in its header, before its content arrives', async () => {
    const push = pushOf('zeros')
    const { passed, fault } = await guarded(push, { chunk: 4_096, objectBytes: 10 * MIB })
    expect(fault).toBe(`An object of this push has ${ZEROS} bytes, and ${10 * MIB} are allowed.`)
    expect(passed.equals(push.subarray(0, passed.length))).toBe(true)
    // the object of zeros alone takes 40 KB
    expect(push.length - passed.length).toBeGreaterThan(30_000)
  })

  it('refuses a pack that inflates to a hundred times its size, wherever the object is in it', async () => {
    const alone = Buffer.concat([Buffer.from(COMMANDS), git(['pack-objects', '--stdout', '-q'], `${git(['rev-parse', 'zeros:zeros'])}`)])
    const withOptions = Buffer.concat([Buffer.from(`${COMMANDS}0006ab0005c0000`), alone.subarray(COMMANDS.length)])
    for (const push of [alone, Buffer.concat([alone, Buffer.alloc(100)]), withOptions]) {
      const { passed, fault } = await guarded(push)
      expect(fault).toContain('inflates to more than 100 times its size')
      expect(passed.length).toBeLessThan(push.length)
    }
  })

  it('continues after a small object that is padded with empty blocks', async () => {
    const [zeros, small] = [deflateSync(Buffer.alloc(ZEROS)), deflateSync('small')]
    const padded = Buffer.concat([small.subarray(0, 2), Buffer.alloc(200_000, Buffer.from([0, 0, 0, 0xff, 0xff])), small.subarray(2)])
    const head = Buffer.from(`${COMMANDS}PACK\0\0\0\x02\0\0\0\x02`, 'latin1')
    // blobs of 5 bytes and of ZEROS bytes
    const zerosHeader = [0xb0 | (ZEROS & 15)]
    for (let left = ZEROS >> 4; left > 0; left >>= 7) zerosHeader.push((left & 127) | (left > 127 ? 128 : 0))
    const push = Buffer.concat([head, Buffer.from([0x35]), padded, Buffer.from(zerosHeader), zeros, Buffer.alloc(20)])
    expect((await guarded(push)).fault).toContain('inflates to more than 100 times its size')
  })

  it('leaves to git what it cannot read, and pushes without a pack', async () => {
    const push = pushOf('good')
    const broken = Buffer.concat([push.subarray(0, 50), randomBytes(200_000)])
    for (const odd of [broken, Buffer.from(COMMANDS), Buffer.from('0000'), randomBytes(1_000), Buffer.from('no packet'), push.subarray(0, 5_000)])
      expect(await guarded(odd)).toEqual({ passed: odd, fault: null })
  })
})
