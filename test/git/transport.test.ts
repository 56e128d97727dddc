import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, watch, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeObjects } from '../../src/git/objects/loose-objects.js'
import { ObjectBuffer } from '../../src/git/objects/object-buffer.js'
import { encodeTree } from '../../src/git/objects/tree-codec.js'
import { POOL_LIMITS, ProcessPool } from '../../src/git/process/pool.js'
import { PackedRefsCache } from '../../src/git/refs/packed-refs.js'
import { maintain } from '../../src/git/storage/maintenance.js'
import { type GitRepository, type PushCommand, type PushPolicy, type Quarantine, type Service, ZERO } from '../../src/git/types.js'
import { TRANSPORT_LIMITS } from '../../src/git/wire/limits.js'
import { Transport } from '../../src/git/wire/transport.js'
import { Unavailable } from '../../src/lib/unavailable.js'
import { rounds } from '../support/rounds.js'
import { testSpawner } from '../support/spawner.js'
import { committed, git, gitAsync, PERSON, workshop } from './support.js'

const { pool, folder, repository, draft, refs } = workshop()
const repositories = new Map<string, string>()
const accept: PushPolicy = { verdict: async () => null, moved: async () => [] }
let policy = accept
const faults: unknown[] = []
let port = 0
let transport: Transport
const packed = new PackedRefsCache(1_000_000)

const server = createServer(async (req, res) => {
  const url = new URL(req.url ?? '', 'http://localhost')
  const [, name = '', ...rest] = url.pathname.split('/')
  const directory = repositories.get(name) ?? ''
  const leaving = new AbortController()
  res.on('close', () => {
    if (!res.writableFinished) leaving.abort()
  })
  const protocol = req.headers['git-protocol'] as string | undefined
  const body = req.headers['content-encoding'] === 'gzip' ? req.pipe(createGunzip()) : req
  const exchange = { body, out: res, protocol, signal: leaving.signal }
  try {
    const service = (url.searchParams.get('service') ?? rest.at(-1)) as Service
    res.setHeader('cache-control', 'no-cache')
    if (rest.join('/') === 'info/refs') {
      res.setHeader('content-type', `application/x-${service}-advertisement`)
      await transport.advertise(directory, service, exchange)
    } else {
      res.setHeader('content-type', `application/x-${service}-result`)
      if (service === 'git-upload-pack') await transport.uploadPack(directory, exchange, peelIn(directory))
      else await transport.receivePack(directory, exchange, policy, (env) => reader(directory, env))
    }
  } catch (error) {
    faults.push(error)
    if (res.headersSent) res.destroy()
    else res.writeHead(500).end()
  }
})

/** By a git for each object, so that none stays in the repository. */
const peelIn = (directory: string) => async (oid: string) => {
  const { stdout } = await pool.run(directory, ['rev-parse', '--verify', '-q', `${oid}^{}`], { accept: [1, 128] })
  return stdout.toString().trim() || null
}

/** As much of a GitRepository as these tests ask for. */
function reader(directory: string, env: NodeJS.ProcessEnv): Quarantine & Pick<GitRepository, 'ref'> & { close(): void } {
  return {
    ref: async (name: string) => {
      const { stdout } = await pool.run(directory, ['rev-parse', '--verify', '-q', name], { env, accept: [1, 128] })
      return stdout.toString().trim() || null
    },
    objectInfo: async (oid: string) => {
      const { stdout } = await pool.run(directory, ['cat-file', '--batch-check'], { env, input: `${oid}\n` })
      const [, type, size] = stdout.toString().trim().split(' ')
      return type === 'missing' ? null : { type, size: Number(size) }
    },
    close: () => undefined,
  } as unknown as Quarantine & Pick<GitRepository, 'ref'> & { close(): void }
}

beforeAll(async () => {
  transport = new Transport(pool, await folder(), packed)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

async function served(name: string) {
  const directory = await repository()
  repositories.set(name, directory)
  return { directory, url: `http://127.0.0.1:${port}/${name}` }
}

async function withCommits(name: string, count: number) {
  const place = await served(name)
  let head = ZERO
  for (let i = 0; i < count; i++) {
    const parents = head === ZERO ? [] : [head]
    const result = committed(await draft(place.directory, [{ action: 'create', path: `f${i}`, content: randomBytes(2000) }], { parents }))
    await refs.update(place.directory, [{ ref: 'refs/heads/main', old: head, new: result.commit }])
    head = result.commit
  }
  return { ...place, head }
}

async function clone(url: string, ...options: string[]) {
  const work = await folder()
  const result = await gitAsync(work, ['clone', '-q', ...options, url, 'w'])
  return { ...result, work: join(work, 'w') }
}

function commitIn(work: string, name: string) {
  writeFileSync(join(work, name), name)
  git(work, ['add', name])
  git(work, ['commit', '-qm', name])
  return git(work, ['rev-parse', 'HEAD']).trim()
}

/** Processes that work in a repository, but for the one that waits for the next ref update. */
function processesIn(directory: string) {
  return readdirSync('/proc').filter((id) => {
    if (!/^\d+$/.test(id)) return false
    try {
      return readlinkSync(`/proc/${id}/cwd`).startsWith(directory) && !readFileSync(`/proc/${id}/cmdline`, 'latin1').includes('update-ref')
    } catch {
      return false
    }
  })
}

/** A pack is being put in place. */
function ignoreBusy(error: unknown): boolean {
  if (error instanceof Unavailable) return false
  throw error
}

const quarantines = async (directory: string) => (await readdir(join(directory, 'objects'))).filter((name) => /tmp|incoming/.test(name))

describe('fetching', () => {
  it.each(['0', '1', '2'])('clones, shallow clones, filters and fetches with protocol %s (GH-5, GH-6)', async (version) => {
    const { url, directory, head } = await withCommits(`fetch${version}`, 5)
    const env = ['-c', `protocol.version=${version}`]
    const full = await clone(url, ...env)
    expect(full).toMatchObject({ code: 0 })
    expect(git(full.work, ['rev-parse', 'HEAD']).trim()).toBe(head)
    const shallow = await clone(url, ...env, '--depth=1')
    expect(git(shallow.work, ['rev-list', '--count', 'HEAD']).trim()).toBe('1')
    expect((await gitAsync(shallow.work, [...env, 'fetch', '-q', '--deepen=2'])).code).toBe(0)
    expect(git(shallow.work, ['rev-list', '--count', 'HEAD']).trim()).toBe('3')
    expect((await clone(url, ...env, '--filter=blob:none', '--no-checkout')).code).toBe(0)
    const more = committed(await draft(directory, [{ action: 'create', path: 'more', content: Buffer.from('x') }], { parents: [head] }))
    await refs.update(directory, [{ ref: 'refs/heads/main', old: head, new: more.commit }])
    expect((await gitAsync(full.work, [...env, 'pull', '-q'])).code).toBe(0)
    expect(git(full.work, ['rev-parse', 'HEAD']).trim()).toBe(more.commit)
    expect(faults).toEqual([])
  })

  it('an empty repository clones, and its first push makes the branch (GH-8)', async () => {
    const { url, directory } = await served('empty')
    const advertised = await fetch(`${url}/info/refs?service=git-receive-pack`).then((answer) => answer.text())
    expect(advertised).toMatch(/^001f# service=git-receive-pack\n0000[0-9a-f]{4}0{40} capabilities\^\{\}\0/)
    for (const version of ['0', '2']) expect(await clone(url, '-c', `protocol.version=${version}`)).toMatchObject({ code: 0 })
    const { work } = await clone(url)
    git(work, ['checkout', '-qb', 'main'])
    const head = commitIn(work, 'first')
    expect(await gitAsync(work, ['push', '-q', 'origin', 'main'])).toMatchObject({ code: 0 })
    expect(git(directory, ['rev-parse', 'main']).trim()).toBe(head)
    git(directory, ['fsck', '--strict', '--full'])
  })

  it('advertises what clients need, and nothing of the service itself (GH-6, GH-7, SEC-86)', async () => {
    const { url, directory, head } = await withCommits('advertise', 1)
    for (const ref of ['refs/keep-around/x', 'refs/roost/x', 'refs/merge-requests/1/head'])
      await refs.update(directory, [{ ref, old: ZERO, new: head }])
    const upload = await fetch(`${url}/info/refs?service=git-upload-pack`).then((answer) => answer.text())
    for (const word of [
      'multi_ack_detailed',
      'no-done',
      'side-band-64k',
      'ofs-delta',
      'include-tag',
      'shallow',
      'symref=HEAD:refs/heads/main',
      'object-format=sha1',
      'agent=',
    ]) {
      expect(upload).toContain(word)
    }
    expect(upload).toContain('refs/merge-requests/1/head')
    expect(upload).not.toMatch(/keep-around|roost/)
    const receive = await fetch(`${url}/info/refs?service=git-receive-pack`).then((answer) => answer.text())
    for (const word of ['report-status', 'delete-refs', 'ofs-delta', 'side-band-64k', 'quiet', 'atomic']) expect(receive).toContain(word)
    expect(receive).not.toMatch(/keep-around|roost|merge-requests/)
    const { work } = await clone(url)
    for (const ref of ['refs/keep-around/y', 'refs/roost/x', 'refs/merge-requests/1/head']) {
      expect((await gitAsync(work, ['push', 'origin', `+HEAD~0:${ref}`])).code).not.toBe(0)
    }
    const fetched = await gitAsync(work, ['fetch', '-q', 'origin', 'refs/merge-requests/1/head'])
    expect(fetched.code).toBe(0)
  })

  it('a response that no client reads ends, with its processes (SEC-143)', async () => {
    const { directory } = await served('stalled')
    const stage = new ObjectBuffer()
    const blob = await stage.blob(randomBytes(8_000_000))
    const tree = await stage.tree(encodeTree([{ mode: '100644', name: 'big', oid: blob }]))
    const commit = await stage.commit({ tree, parents: [], author: PERSON, committer: PERSON, message: 'big' })
    await writeObjects(directory, stage.objects)
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: commit }])
    const impatient = new Transport(pool, await folder(), packed, { ...TRANSPORT_LIMITS, stall: 200 })
    const taken: Buffer[] = []
    const out = new Writable({ highWaterMark: 1_024, write: (chunk: Buffer) => void taken.push(chunk) })
    const want = `want ${commit} side-band-64k\n`
    const body = Readable.from([Buffer.from(`${(want.length + 4).toString(16).padStart(4, '0')}${want}00000009done\n`)], { objectMode: false })
    await impatient.uploadPack(directory, { body, out, signal: new AbortController().signal }, peelIn(directory))
    expect(out.destroyed).toBe(true)
    expect(taken).toHaveLength(1)
    await expect.poll(() => processesIn(directory), { timeout: 2_000, interval: 20 }).toEqual([])
  })

  it('advertises for a push what git itself would, but for refs that cannot be written (GH-19, SEC-86)', async () => {
    const { url, directory } = await served('advertised')
    const writable = ['refs/heads', 'refs/notes', 'refs/tags']
    const own = async (version: string) => {
      const answer = await fetch(`${url}/info/refs?service=git-receive-pack`, { headers: { 'git-protocol': version } })
      return Buffer.from(await answer.arrayBuffer()).toString('latin1')
    }
    const gits = (version: string) => {
      const hidden = ['refs', ...writable.map((prefix) => `!${prefix}`)].flatMap((pattern) => ['-c', `receive.hideRefs=${pattern}`])
      const advertised = ['-c', 'receive.advertiseAtomic=true', '-c', 'receive.advertisePushOptions=true']
      const args = [...hidden, ...advertised, 'receive-pack', '--stateless-rpc', '--http-backend-info-refs', '.']
      return git(directory, args, undefined, { GIT_PROTOCOL: version })
    }
    const same = async () => {
      for (const version of ['', 'version=1']) expect(await own(version)).toBe(`001f# service=git-receive-pack\n0000${gits(version)}`)
    }
    await same()
    const commit = git(directory, ['commit-tree', '-m', 'x', git(directory, ['mktree'], '').trim()]).trim()
    for (const ref of ['heads/main', 'heads/ünï', 'heads/a/b', 'tags/v1', 'notes/commits', 'merge-requests/1/head', 'keep-around/x'])
      git(directory, ['update-ref', `refs/${ref}`, commit])
    git(directory, ['tag', '-a', '-m', 'annotated', 'v2', commit])
    await same()
    git(directory, ['pack-refs', '--all'])
    await same()
    // a name that is not UTF-8
    const file = readFileSync(join(directory, 'packed-refs')).toString('latin1')
    writeFileSync(join(directory, 'packed-refs'), Buffer.from(file.replace('refs/tags/v1', 'refs/tags/v\xe4'), 'latin1'))
    git(directory, ['update-ref', 'refs/heads/loose', commit])
    git(directory, ['update-ref', '-d', 'refs/heads/main'])
    await same()
    expect(await own('')).toContain('refs/tags/v\xe4\n')
    expect(faults).toEqual([])
  })

  it('lists refs in protocol 2 without a git process (GH-5)', async () => {
    const { directory, head } = await withCommits('listed', 1)
    let started = 0
    const counted = new ProcessPool(POOL_LIMITS, {
      ...testSpawner,
      spawn(...start) {
        started++
        return testSpawner.spawn(...start)
      },
    })
    const lister = new Transport(counted, await folder(), packed)
    const call = async (body: string, protocol: string) => {
      const out = new PassThrough()
      const asked = { body: Readable.from([Buffer.from(body)]), out, protocol, signal: new AbortController().signal }
      const [text] = await Promise.all([buffer(out), lister.uploadPack(directory, asked, peelIn(directory))])
      return text.toString()
    }
    expect(await call('0013command=ls-refs0000', 'version=2')).toBe(`0032${head} HEAD\n003d${head} refs/heads/main\n0000`)
    expect(started).toBe(0)
    await call('0011command=fetch00010000', 'version=2').catch(() => {})
    expect(started).toBe(1)
    await counted.close()
  })

  it('advertises many refs in pieces; a client that takes nothing is cut off (GH-19, SEC-143)', async () => {
    const { url, directory, head: commit } = await withCommits('many', 1)
    const names = Array.from({ length: 20_000 }, (_, i) => `refs/heads/branch-${String(i).padStart(5, '0')}`)
    writeFileSync(
      join(directory, 'packed-refs'),
      `# pack-refs with: peeled fully-peeled sorted \n${names.map((name) => `${commit} ${name}\n`).join('')}`,
    )
    const answer = await fetch(`${url}/info/refs?service=git-receive-pack`)
    const text = await answer.text()
    expect(text.match(/branch-/g)).toHaveLength(names.length)
    expect(text.endsWith('\n0000')).toBe(true)

    const impatient = new Transport(pool, await folder(), packed, { ...TRANSPORT_LIMITS, stall: 200 })
    const taken: Buffer[] = []
    const out = new Writable({ write: (chunk: Buffer) => void taken.push(chunk) })
    await impatient.advertise(directory, 'git-receive-pack', { out, signal: new AbortController().signal })
    expect(out.destroyed).toBe(true)
    expect(taken).toHaveLength(1)
  })

  it('a client that leaves takes its processes with it (SEC-143)', async () => {
    const { url, directory } = await served('leaving')
    const stage = new ObjectBuffer()
    const blob = await stage.blob(randomBytes(40_000_000))
    const tree = await stage.tree(encodeTree([{ mode: '100644', name: 'big', oid: blob }]))
    const commit = await stage.commit({ tree, parents: [], author: PERSON, committer: PERSON, message: 'big' })
    await writeObjects(directory, stage.objects)
    await refs.update(directory, [{ ref: 'refs/heads/main', old: ZERO, new: commit }])
    for (let i = 0; i < 5; i++) {
      await new Promise<void>((resolve) => {
        const asked = request(`${url}/git-upload-pack`, { method: 'POST' }, (answer) => {
          answer.once('data', () => {
            answer.destroy()
            resolve()
          })
        })
        asked.on('error', () => {})
        asked.end(`0032want ${commit}\n00000009done\n`)
      })
    }
    await expect.poll(() => processesIn(directory), { timeout: 20_000, interval: 20 }).toEqual([])
  })
})

describe('pushing', () => {
  it('pushes beside repacks lose no object (SEC-164)', { tags: ['long'] }, async () => {
    const { url, directory } = await withCommits('repacked', 10)
    let over = false
    const repacks = (async () => {
      let done = 0
      while (!over) if (await maintain(pool, directory, { depth: 'incremental' }).catch(ignoreBusy)) done++
      return done
    })()
    const works = await Promise.all(['a', 'b', 'c'].map(async (branch) => ({ branch, work: (await clone(url)).work })))
    await Promise.all(
      works.map(async ({ branch, work }) => {
        for (let i = 0; i < rounds(5, 15); i++) {
          commitIn(work, `${branch}${i}`)
          expect(await gitAsync(work, ['push', '-q', 'origin', `HEAD:${branch}`])).toMatchObject({ code: 0 })
        }
      }),
    ).finally(() => {
      over = true
    })
    expect(await repacks).toBeGreaterThan(0)
    expect(await gitAsync(directory, ['fsck', '--full', '--no-dangling'])).toMatchObject({ code: 0, out: '', err: '' })
  })

  it('a pushed pack has no .keep file, with which repack would lose its objects (SEC-157)', async () => {
    const { url, directory } = await withCommits('keep', 1)
    const { work } = await clone(url)
    const seen = new Set<string | null>()
    const watcher = watch(join(directory, 'objects', 'pack'), (_, name) => seen.add(name))
    commitIn(work, 'a')
    expect(await gitAsync(work, ['push', '-q', 'origin', 'HEAD'])).toMatchObject({ code: 0 })
    await expect.poll(() => [...seen].filter((name) => name?.endsWith('.idx')).length).toBeGreaterThan(0)
    watcher.close()
    expect([...seen].filter((name) => name?.endsWith('.keep'))).toEqual([])
  })

  it('pushes, forces and deletes, and reports which refs moved', async () => {
    const { url, directory, head } = await withCommits('push', 2)
    const { work } = await clone(url)
    const reported: PushCommand[][] = []
    policy = {
      verdict: async (commands, quarantine) => {
        for (const { new: oid } of commands) if (oid !== ZERO) expect(await quarantine.objectInfo(oid)).toMatchObject({ type: 'commit' })
        return null
      },
      moved: async (commands) => {
        reported.push(commands)
        return ['see http://example.org/new', 'and\x1b more']
      },
    }
    const first = commitIn(work, 'one')
    const pushed = await gitAsync(work, ['push', 'origin', 'HEAD:main', 'HEAD:refs/heads/schön', 'HEAD:refs/tags/v1'])
    expect(pushed).toMatchObject({ code: 0 })
    expect(pushed.err).toContain('remote: see http://example.org/new')
    expect(pushed.err).toContain('remote: and  more')
    expect(reported[0]).toEqual([
      { ref: 'refs/heads/main', old: head, new: first },
      { ref: 'refs/heads/schön', old: ZERO, new: first },
      { ref: 'refs/tags/v1', old: ZERO, new: first },
    ])
    git(work, ['reset', '-q', '--hard', 'HEAD~2'])
    expect((await gitAsync(work, ['push', '-q', 'origin', '+HEAD:main', ':refs/heads/schön'])).code).toBe(0)
    expect(git(directory, ['for-each-ref', '--format=%(refname)']).trim().split('\n')).toEqual(['refs/heads/main', 'refs/tags/v1'])
    expect(reported[1]?.map((command) => command.new).sort()).toEqual([ZERO, git(work, ['rev-parse', 'HEAD']).trim()].sort())
    expect(faults).toEqual([])
    policy = accept
  })

  it('a declined push moves nothing, says why and leaves nothing behind (GH-18)', async () => {
    const { url, directory, head } = await withCommits('declined', 1)
    const { work } = await clone(url)
    commitIn(work, 'one')
    const objects = git(directory, ['count-objects', '-v'])
    policy = { verdict: async () => 'You may not.\nNot at all.\r\n.', moved: async () => expect.fail() as never }
    const pushed = await gitAsync(work, ['push', '--porcelain', 'origin', 'HEAD:main', 'HEAD:other'])
    policy = accept
    expect(pushed.code).toBe(1)
    expect(pushed.err).toMatch(/remote: You may not\.\s*\nremote: Not at all\.\s*\nremote: \./)
    expect(pushed.out.match(/\[remote rejected\] \(pre-receive hook declined\)/g)).toHaveLength(2)
    expect(git(directory, ['for-each-ref', '--format=%(objectname)']).trim()).toBe(head)
    expect(await quarantines(directory)).toEqual([])
    expect(git(directory, ['count-objects', '-v'])).toBe(objects)
  })

  it('a check that fails on our side declines too', async () => {
    const { url, directory } = await withCommits('failing', 1)
    const { work } = await clone(url)
    commitIn(work, 'one')
    policy = { verdict: () => Promise.reject(new Error('database away')), moved: async () => [] }
    const pushed = await gitAsync(work, ['push', 'origin', 'HEAD:main'])
    policy = accept
    expect(pushed.code).toBe(1)
    expect(pushed.err).not.toContain('database')
    await expect.poll(() => faults.length).toBe(1)
    expect(faults.splice(0)).toMatchObject([{ message: 'database away' }])
    await expect.poll(() => quarantines(directory)).toEqual([])
  })

  it('a ref that moved meanwhile fails alone, with --atomic all fail (GH-22)', async () => {
    const { url, directory, head } = await withCommits('stale', 2)
    const { work } = await clone(url)
    commitIn(work, 'one')
    const reported: string[] = []
    for (const atomic of [true, false]) {
      const before = git(directory, ['rev-parse', 'main']).trim()
      policy = {
        verdict: async () => {
          const { commit } = committed(
            await draft(directory, [{ action: 'create', path: `race${atomic}`, content: Buffer.of() }], { parents: [before] }),
          )
          await refs.update(directory, [{ ref: 'refs/heads/main', old: before, new: commit }])
          return null
        },
        moved: async (commands) => {
          reported.push(...commands.map((command) => command.ref))
          return []
        },
      }
      const pushed = await gitAsync(work, ['push', '--porcelain', ...(atomic ? ['--atomic'] : []), 'origin', '+HEAD:main', 'HEAD:other'])
      expect(pushed.code).toBe(1)
      expect(pushed.out).toMatch(atomic ? /atomic push fail|failed to update ref|transaction/ : /failed to update ref/)
      expect(reported).toEqual(atomic ? [] : ['refs/heads/other'])
    }
    policy = accept
    expect(git(directory, ['merge-base', 'main', head]).trim()).toBe(head)
  })

  it('a client that leaves while the verdict is awaited leaves no process, no quarantine and no moved ref', async () => {
    const { url, directory, head } = await withCommits('impatient', 1)
    const { work } = await clone(url)
    commitIn(work, 'one')
    const leaving = new AbortController()
    policy = {
      verdict: async () => {
        if (leaving.signal.aborted) return 'This is the second try, made by the client itself.'
        leaving.abort()
        await new Promise((resolve) => setTimeout(resolve, 300))
        return null
      },
      moved: async () => expect.fail() as never,
    }
    const pushing = gitAsync(work, ['push', '-q', 'origin', 'HEAD:main'])
    await new Promise<void>((resolve) => leaving.signal.addEventListener('abort', () => resolve()))
    server.closeAllConnections()
    await pushing
    await expect.poll(() => processesIn(directory), { timeout: 20_000, interval: 20 }).toEqual([])
    policy = accept
    await expect.poll(() => quarantines(directory), { timeout: 20_000, interval: 20 }).toEqual([])
    expect(git(directory, ['rev-parse', 'main']).trim()).toBe(head)
    faults.splice(0)
  })

  it('a git that is killed after its first byte is no end of the answer, for which a client would wait for ever (SEC-143)', async () => {
    const { url, directory } = await withCommits('killed', 1)
    const { work } = await clone(url)
    commitIn(work, 'one')
    const killed = new AbortController()
    const verdict = () => new Promise<null>((resolve) => killed.signal.addEventListener('abort', () => resolve(null)))
    policy = { ...accept, verdict }
    const pushing = gitAsync(work, ['push', '-q', 'origin', 'HEAD:main'])
    // git says that it is there every five seconds
    await new Promise((resolve) => setTimeout(resolve, 6_500))
    for (const pid of processesIn(directory)) process.kill(Number(pid), 'SIGKILL')
    killed.abort()
    const { code } = await pushing
    policy = accept
    expect(code).not.toBe(0)
    expect(faults.splice(0)).not.toEqual([])
  })

  it('a client that disconnects after the verdict changes nothing: the refs move and are reported', async () => {
    const { url, directory } = await withCommits('committed', 1)
    const { work } = await clone(url)
    const wanted = commitIn(work, 'one')
    let report: (commands: PushCommand[]) => void = () => {}
    const moved = new Promise<PushCommand[]>((resolve) => {
      report = resolve
    })
    policy = {
      verdict: async () => {
        setTimeout(() => server.closeAllConnections(), 0)
        return null
      },
      moved: async (commands) => {
        report(commands)
        return []
      },
    }
    await gitAsync(work, ['push', '-q', 'origin', 'HEAD:main'])
    const result = await Promise.race([moved, new Promise((resolve) => setTimeout(() => resolve('not reported'), 3000))])
    policy = accept
    const now = git(directory, ['rev-parse', 'main']).trim()
    if (now === wanted) expect(result).toMatchObject([{ ref: 'refs/heads/main', new: wanted }])
    else expect(result).toBe('not reported')
    faults.splice(0)
  })

  it('limits of pack, object and commands hold, and the disk is as before (SEC-88)', async () => {
    const { url, directory } = await withCommits('limits', 1)
    const { work } = await clone(url)
    const usual = transport
    const parent = await folder()
    transport = new Transport(pool, parent, packed, { ...usual.limits, packBytes: 100_000, objectBytes: 5_000_000, commands: 10 })
    git(work, ['checkout', '-qb', 'big'])
    writeFileSync(join(work, 'noise'), randomBytes(200_000))
    git(work, ['add', '.'])
    git(work, ['commit', '-qm', 'noise'])
    const noise = await gitAsync(work, ['push', 'origin', 'HEAD:noise'])
    expect(noise.err).toMatch(/unpack|maximum allowed size/)
    git(work, ['reset', '-q', '--hard', 'HEAD~1'])
    writeFileSync(join(work, 'zeros'), Buffer.alloc(6_000_000))
    git(work, ['add', '.'])
    git(work, ['commit', '-qm', 'zeros'])
    const zeros = await gitAsync(work, ['push', 'origin', 'HEAD:zeros'])
    expect(zeros.code).toBe(1)
    expect(zeros.err).toContain('remote: An object of this push has 6000000 bytes, and 5000000 are allowed.')
    const many = Array.from({ length: 11 }, (_, i) => `HEAD~1:refs/heads/b${i}`)
    expect((await gitAsync(work, ['push', 'origin', ...many])).err).toContain('at most 10 refs')
    transport = usual
    expect(await quarantines(directory)).toEqual([])
    expect(git(directory, ['for-each-ref', '--format=%(refname)']).trim()).toBe('refs/heads/main')
    expect((await gitAsync(work, ['push', '-q', 'origin', ...many])).code).toBe(0)
    faults.splice(0)
  })

  const many = rounds(1_000, 10_000)
  it(`passes ${many} commands to the verdict, and all that moved to moved (SEC-88)`, { tags: ['long'] }, async () => {
    const { url, directory, head } = await withCommits('many', 1)
    const lines = Array.from({ length: many }, (_, i) => packetLine(`${ZERO} ${head} refs/tags/t${i}${i === 0 ? '\0report-status' : ''}`))
    const pack = Buffer.from(git(directory, ['pack-objects', '--stdout', '-q'], ''), 'latin1')
    const counts: number[] = []
    const count = (commands: PushCommand[]) => counts.push(commands.length)
    policy = {
      verdict: async (commands) => (count(commands) > 1 ? null : 'too much'),
      moved: async (commands) => {
        count(commands)
        return []
      },
    }
    const push = async () => {
      const body = Buffer.concat([Buffer.from(`${lines.join('')}0000`), pack])
      return (await fetch(`${url}/git-receive-pack`, { method: 'POST', body })).text()
    }
    expect((await push()).match(/ng refs\/tags\/t\d+ pre-receive hook declined/g)).toHaveLength(many)
    expect((await push()).match(/ok refs\/tags\/t\d+/g)).toHaveLength(many)
    policy = accept
    expect(counts).toEqual([many, many, many])
    expect(git(directory, ['for-each-ref', 'refs/tags']).trim().split('\n')).toHaveLength(many)
  })

  const name = (text: string, mode = '100644') => ({ name: text, mode })
  it.each([
    ['.git', [name('.git')]],
    ['.GIT', [name('.GIT')]],
    ['git~1', [name('git~1')]],
    ['.g U+200C it', [name(Buffer.from('.g\u200cit').toString('latin1'))]],
    ['..', [name('..', '40000')]],
    ['a slash', [name('a/b')]],
    ['duplicates', [name('a'), name('a')]],
    ['.gitmodules as a link', [name('.gitmodules', '120000')]],
  ])('refuses a tree with %s (SEC-87)', async (label, entries) => {
    const { url, directory } = await served(`bad${label.replace(/[^a-z0-9]/gi, '')}`)
    const stage = new ObjectBuffer()
    const blob = await stage.blob(Buffer.from('x'))
    const empty = await stage.tree(encodeTree([]))
    const tree = await stage.tree(encodeTree(entries.map((entry) => ({ ...entry, oid: entry.mode === '40000' ? empty : blob }))))
    await refusesPush(url, directory, stage, await stage.commit({ tree, parents: [], author: PERSON, committer: PERSON, message: 'bad' }))
  })

  it('refuses unsorted trees, NUL in a commit, an evil .gitmodules and missing objects (SEC-87)', async () => {
    for (const kind of ['unsorted', 'nul', 'modules', 'missing']) {
      const { url, directory } = await served(`evil${kind}`)
      const stage = new ObjectBuffer()
      const blob = await stage.blob(Buffer.from(kind === 'modules' ? '[submodule "../../x"]\n\tpath = x\n\turl = -u./x\n' : 'x'))
      const entry = (text: string) => encodeTree([{ mode: '100644', name: text, oid: kind === 'missing' ? '1'.repeat(40) : blob }])
      const content = kind === 'unsorted' ? Buffer.concat([entry('b'), entry('a')]) : entry(kind === 'modules' ? '.gitmodules' : 'a')
      const tree = await stage.tree(content)
      let commit = await stage.commit({ tree, parents: [], author: PERSON, committer: PERSON, message: 'bad' })
      const objects = stage.objects
      if (kind === 'nul') {
        const raw = Buffer.concat([objects.find((object) => object.oid === commit)?.content as Buffer, Buffer.from('a\0b\n')])
        commit = git(directory, ['hash-object', '-t', 'commit', '--literally', '--stdin'], raw).trim()
        objects.push({ oid: commit, type: 'commit', content: raw })
      }
      await refusesPush(url, directory, { objects }, commit)
    }
  })

  it('takes old commits with odd headers (SEC-151, SEC-152)', async () => {
    const { url, directory } = await served('odd')
    const work = await repository()
    const stage = new ObjectBuffer()
    const tree = await stage.tree(encodeTree([]))
    for (const [i, header] of ['J\xf6rg <> 1 +9999', ' <a@b> -5 +0000', 'A <a@b> 8589934592 +0000', 'A <a@b> 99999999999999999999 +0000'].entries()) {
      const raw = Buffer.from(`tree ${tree}\nauthor ${header}\ncommitter ${header}\n\nodd\n`, 'latin1')
      const oid = git(work, ['hash-object', '-w', '-t', 'commit', '--literally', '--stdin'], raw).trim()
      await writeObjects(work, stage.objects)
      git(work, ['update-ref', `refs/heads/odd${i}`, oid])
      expect([header, await gitAsync(work, ['push', '-q', url, `odd${i}`])]).toMatchObject([header, { code: 0 }])
    }
    expect(git(directory, ['for-each-ref']).trim().split('\n')).toHaveLength(4)
  })
})

function packetLine(line: string) {
  return (line.length + 4).toString(16).padStart(4, '0') + line
}

/** Pushes objects as a client would that checks nothing itself. */
async function refusesPush(url: string, directory: string, stage: Pick<ObjectBuffer, 'objects'>, commit: string) {
  const work = await repository()
  await writeObjects(work, stage.objects)
  writeFileSync(join(work, 'refs', 'heads', 'main'), `${commit}\n`)
  const pack = Buffer.from(git(work, ['pack-objects', '--stdout', '-q'], stage.objects.map((object) => `${object.oid}\n`).join('')), 'latin1')
  const body = Buffer.concat([Buffer.from(`${packetLine(`${ZERO} ${commit} refs/heads/main\0report-status`)}0000`), pack])
  const answer = await fetch(`${url}/git-receive-pack`, { method: 'POST', body }).then((response) => response.text())
  expect(answer).toMatch(/unpack (?!ok)|ng refs\/heads\/main/)
  expect(git(directory, ['for-each-ref'])).toBe('')
  expect(await quarantines(directory)).toEqual([])
  expect(await readdir(join(directory, 'objects', 'pack'))).toEqual([])
}
