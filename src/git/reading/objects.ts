import type { Readable } from 'node:stream'
import { MAX_COMMIT_BYTES } from '../history/history.js'
import { isOid } from '../objects/cat-file.js'
import { readCommitList } from '../objects/commit-list.js'
import { parseSigned, parseTag } from '../objects/object-codec.js'
import { entriesAt, pageBelow } from '../objects/tree.js'
import type { GitRepository, Oid, Tag } from '../types.js'
import type { Guard } from './guard.js'
import type { Source } from './source.js'

export type ObjectReader = Pick<
  GitRepository,
  'commit' | 'commitNamed' | 'commits' | 'signedCommit' | 'tag' | 'objectInfo' | 'blob' | 'blobStart' | 'blobStream' | 'entry' | 'tree' | 'treePage'
>

const MAX_CACHED_BLOB_BYTES = 32 * 1024

export function objectReader(
  { directory, cache, objects, commit, listedCommit, cachedCommit, info, peel, root, entry, trees }: Source,
  guarded: Guard,
): ObjectReader {
  const read = async (oid: Oid) => (await objects().read(oid, Number.POSITIVE_INFINITY))?.content ?? null

  return {
    commit: (oid) => guarded(null, () => commit(oid)),
    commitNamed: (hash) =>
      guarded(null, async () => {
        const oid = hash.toLowerCase()
        if (!isOid(oid)) return objects().abbreviated(oid)
        const object = await peel(oid)
        return object?.type === 'commit' ? object.oid : null
      }),
    commits: (oids) =>
      guarded(
        oids.map(() => null),
        () => readCommitList(oids, cachedCommit, listedCommit),
      ),
    signedCommit: (oid) =>
      guarded(null, async () => {
        const object = await objects().read(oid)
        return object?.type === 'commit' ? parseSigned(object.content) : null
      }),
    tag: (oid) =>
      guarded(null, () =>
        cache.getOrCompute<Tag>(
          directory,
          `tag ${oid}`,
          ({ message }) => 1_200 + message.length * 2,
          async () => {
            const object = await objects().read(oid, MAX_COMMIT_BYTES)
            return object?.type === 'tag' ? parseTag(oid, object.content) : null
          },
        ),
      ),
    objectInfo: (oid) =>
      guarded(null, async () => {
        const found = await info(oid)
        return found && { type: found.type, size: found.size }
      }),
    blob: (oid) =>
      guarded(null, async () => {
        const found = await info(oid)
        if (found?.type !== 'blob') return null
        if (found.size > MAX_CACHED_BLOB_BYTES) return read(oid)
        return cache.getOrCompute<Buffer>(
          directory,
          `blob ${oid}`,
          ({ length }) => length,
          () => read(oid),
        )
      }),
    blobStart: (oid, bytes) =>
      guarded(null, () =>
        cache.getOrCompute<Buffer>(
          directory,
          `first ${bytes} of ${oid}`,
          (start) => start.length,
          async () => {
            const found = await info(oid)
            return found?.type === 'blob' ? startOf(await objects().stream(found), bytes) : null
          },
        ),
      ),
    blobStream: (oid, signal) =>
      guarded(null, async () => {
        const found = await info(oid)
        return found?.type === 'blob' ? { size: found.size, stream: await objects().stream(found, signal) } : null
      }),
    entry: (oid, path) => guarded(null, () => entry(oid, path)),
    tree: (oid, path, { recursive }) =>
      guarded(null, async () => {
        const found = await root(oid)
        return found && entriesAt(trees(), found.tree, path, recursive)
      }),
    treePage: (oid, path, part) =>
      guarded(null, async () => {
        const found = await root(oid)
        return found && pageBelow(trees(), found.tree, path, part)
      }),
  }
}

/** The first bytes of a stream, which is then destroyed. */
async function startOf(stream: Readable, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= bytes) break
  }
  // copied, so that the cached part does not keep the rest in memory
  return Buffer.from(Buffer.concat(chunks).subarray(0, bytes))
}
