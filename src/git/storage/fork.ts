import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import { Unavailable } from '../../lib/unavailable.js'
import { GitFault } from '../errors.js'
import type { ProcessPool } from '../process/pool.js'
import type { GitRepository, Ref } from '../types.js'
import { createRepository } from './create.js'
import { dropUnreachable } from './unreachable.js'

export interface ForkSource {
  directory: string
  refs: GitRepository['refs']
}

/** How often the source's packs may change during linking before the fork fails. */
const MAX_LINK_ROUNDS = 20
const BATCH_SIZE = 32

/**
 * Creates an independent repository with the branches and tags of another one. Objects are hard links, so they take no
 * space until one side repacks, and each side may pack and prune independently: there are no alternates. Refs are read
 * first: the objects they name exist at that moment, and git removes objects only after writing them elsewhere. Other
 * refs, such as those of merge requests, are not copied.
 */
export async function fork(pool: ProcessPool, source: ForkSource, directory: string, branch: string): Promise<void> {
  const all = await source.refs('refs/')
  const refs = all.filter(({ name }) => name.startsWith('refs/heads/') || name.startsWith('refs/tags/'))
  await createRepository(directory, branch, async (temporary) => {
    if (refs.length === 0) return
    await linkObjects(join(source.directory, 'objects'), join(temporary, 'objects'))
    await writeNewFile(join(temporary, 'packed-refs'), packedRefs(refs))
    await checkTips(pool, temporary, refs)
    // objects that no ref of the source reaches, such as a secret pushed by mistake, are not copied (SEC-43)
    await dropUnreachable(
      pool,
      temporary,
      all.map(({ oid }) => oid),
    )
  })
}

function packedRefs(refs: Ref[]) {
  const sorted = refs.map((ref) => ({ ...ref, bytes: Buffer.from(ref.name) })).sort((a, b) => Buffer.compare(a.bytes, b.bytes))
  const lines = sorted.map(({ name, oid, peeled }) => `${oid} ${name}\n${peeled === oid ? '' : `^${peeled}\n`}`)
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`
}

/** Throws if the object of a ref is missing. */
export async function checkTips(pool: ProcessPool, directory: string, refs: Pick<Ref, 'oid'>[]) {
  const input = `${[...new Set(refs.map(({ oid }) => oid))].join('\n')}\n`
  const { stdout } = await pool.run(directory, ['cat-file', '--buffer', '--batch-check=%(objecttype)'], { input })
  if (/ missing$/m.test(stdout.toString('latin1'))) throw new GitFault('cat-file', 0, `an object of ${directory} is missing`)
}

/**
 * Links the commit-graph first: it may name only commits that are linked after it. Then loose objects, then packs, the
 * order in which git packs them.
 */
async function linkObjects(from: string, to: string) {
  await linkCommitGraph(join(from, 'info'), join(to, 'info'))
  const shards = (await readdir(from)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  for (const shard of shards) {
    const names = (await readdir(join(from, shard)).catch(ignoreMissing([]))).filter((name) => /^[0-9a-f]{38}$/.test(name))
    if (names.length === 0) continue
    await mkdir(join(to, shard))
    await inBatches(names, (name) => linkOrCopy(join(from, shard, name), join(to, shard, name)))
    await syncDirectory(join(to, shard))
  }
  await linkPacks(join(from, 'pack'), join(to, 'pack'))
}

const PACK = /^(pack-[0-9a-f]+)\.(pack|idx|rev|bitmap)$/
const MULTI_PACK_INDEX = 'multi-pack-index'

/**
 * Links until the source has no pack that is not linked: a repack writes new packs before it removes old ones, so
 * nothing is missed.
 */
async function linkPacks(from: string, to: string) {
  const linked = new Set<string>()
  for (let round = 0; ; round++) {
    if (round === MAX_LINK_ROUNDS) throw new Unavailable('the source repository is being packed')
    const index = await identityOf(join(from, MULTI_PACK_INDEX))
    const fresh = (await readdir(from)).filter((name) => PACK.test(name) && !linked.has(name))
    await inBatches(fresh, async (name) => {
      const linkedNow = await linkOrCopy(join(from, name), join(to, name))
      if (linkedNow) linked.add(name)
      return linkedNow
    })
    if ((await readdir(from)).some((name) => PACK.test(name) && !linked.has(name))) continue
    // the multi-pack-index is rewritten before a pack that it names is removed: if it is unchanged, all of its packs
    // are linked; otherwise it is dropped, and maintenance writes a new one
    if (index !== null) {
      const companions = (await readdir(from)).filter((name) => /^multi-pack-index-[0-9a-f]+\.(bitmap|rev)$/.test(name))
      await inBatches(companions, (name) => linkOrCopy(join(from, name), join(to, name)))
      await linkOrCopy(join(from, MULTI_PACK_INDEX), join(to, MULTI_PACK_INDEX))
      if (index !== (await identityOf(join(from, MULTI_PACK_INDEX))))
        for (const name of [...companions, MULTI_PACK_INDEX]) await rm(join(to, name), { force: true })
    }
    break
  }
  // a pack that was removed during linking may be incomplete here
  const names = [...linked].map((name) => PACK.exec(name) as RegExpExecArray)
  const whole = (stem: string | undefined) => linked.has(`${stem}.pack`) && linked.has(`${stem}.idx`)
  for (const [name, stem] of names) if (!whole(stem)) await rm(join(to, name), { force: true })
  await syncDirectory(to)
}

/** Links all layers of the commit-graph chain or none: it only speeds up reads, and maintenance rewrites it. */
async function linkCommitGraph(from: string, to: string) {
  const single = 'commit-graph'
  const folder = 'commit-graphs'
  await linkOrCopy(join(from, single), join(to, single))
  const chain = join(folder, 'commit-graph-chain')
  await mkdir(join(to, folder))
  const layers = (await readdir(join(from, folder)).catch(ignoreMissing([]))).filter((name) => /^graph-[0-9a-f]+\.graph$/.test(name))
  const before = await identityOf(join(from, chain))
  const complete = await inBatches(layers, (name) => linkOrCopy(join(from, folder, name), join(to, folder, name)))
  if (before === null || !complete || !(await linkOrCopy(join(from, chain), join(to, chain))) || before !== (await identityOf(join(from, chain))))
    await rm(join(to, folder), { recursive: true })
  else await syncDirectory(join(to, folder))
  await syncDirectory(to)
}

/** Inode, mtime and size of a file; null if it does not exist. */
async function identityOf(path: string) {
  const info = await stat(path, { bigint: true }).catch(ignoreMissing(null))
  return info && `${info.ino} ${info.mtimeNs} ${info.size}`
}

/** Hard-links a file, or copies it if the file system cannot link; false if it no longer exists. */
export async function linkOrCopy(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP'].includes(code ?? '')) throw error
  }
  return copyDurably(from, to)
}

/** Copies a file, durable on return; false if it no longer exists. */
export async function copyDurably(from: string, to: string): Promise<boolean> {
  try {
    const { atime, mtime } = await stat(from)
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    const file = await open(to, 'r')
    try {
      await file.utimes(atime, mtime)
      await file.sync()
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    return ignoreMissing(false)(error as NodeJS.ErrnoException)
  }
}

/** Runs `work` on all items, a batch at a time; returns whether it returned true for every item. */
export async function inBatches(items: string[], work: (item: string) => Promise<boolean>): Promise<boolean> {
  let all = true
  for (let i = 0; i < items.length; i += BATCH_SIZE) {
    const answers = await Promise.all(items.slice(i, i + BATCH_SIZE).map(work))
    if (answers.includes(false)) all = false
  }
  return all
}

function ignoreMissing<T>(value: T) {
  return (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }
}
