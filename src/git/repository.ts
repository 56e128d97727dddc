import { diffTexts } from './diff/unsaved-changes.js'
import type { GitInstallation } from './installation.js'
import { canMerge, draftConflicted, draftMerge, draftPick, mergeTexts, pickRefusal } from './merge/merge.js'
import { copyObjects } from './objects/copy-objects.js'
import { fileSizes } from './objects/file-sizes.js'
import { draftCommit, draftHistory, writeCommit, writeTag } from './objects/writer.js'
import { quarantineReader, type Reader } from './reading/reader.js'
import { peelIn } from './reading/source.js'
import { writeHead } from './refs/ref-updates.js'
import { dropCommitGraph, dropUnreadableRef, examine, existingObjects } from './storage/examine.js'
import { maintain, repositorySize, unreachable } from './storage/maintenance.js'
import type { GitRepository, Oid, RepositoryKey } from './types.js'
import { archive } from './wire/archive.js'
import { bundle, fetchAll, remoteHead } from './wire/fetch.js'
import { forEachPointer, pointersOf } from './wire/lfs-pointers.js'
import { pushRefs, remoteRefs } from './wire/mirror.js'
import { patch } from './wire/patch.js'
import type { WriteResources } from './write-resources.js'

type Writer = Omit<GitRepository, keyof Reader | 'key' | keyof Wire | keyof Maintenance>
type Wire = Pick<
  GitRepository,
  | 'archive'
  | 'patch'
  | 'advertise'
  | 'uploadPack'
  | 'uploadArchive'
  | 'receivePack'
  | 'remoteHead'
  | 'remoteRefs'
  | 'push'
  | 'fetch'
  | 'copyObjects'
  | 'bundle'
  | 'lfsPointers'
  | 'forEachLfsPointer'
>
type Maintenance = Pick<
  GitRepository,
  'size' | 'maintain' | 'examine' | 'dropUnreadableRef' | 'existingObjects' | 'dropCommitGraph' | 'removeStaleLocks' | 'unreachable'
>

/** One repository, for reading, writing and the wire protocol. Starts no process before the first call. */
export function repositoryOf(installation: GitInstallation, resources: WriteResources, key: RepositoryKey): GitRepository {
  const writable = () => installation.directory(key, 'write')
  const opened = { key, directory: installation.directory(key), writable, reader: installation.reader(key) }
  return {
    ...opened.reader,
    ...writerOf(installation, resources, opened),
    ...wireOf(installation, resources, opened),
    ...maintenanceOf(installation, resources, opened),
  }
}

interface Opened {
  key: RepositoryKey
  directory: string
  /** The directory; throws while the storage must not be written (SEC-188). */
  writable(): string
  reader: Reader
}

function writerOf(
  { resources: { pool, cache, batchProcesses } }: GitInstallation,
  { refUpdates, shared }: WriteResources,
  { directory, writable, reader }: Opened,
): Writer {
  const readObject = (oid: Oid) => batchProcesses.catFile(directory).readKnown(oid)
  const context = { directory, pool, readObject }
  const writing = () => ({ ...context, directory: writable() })
  return {
    fileSizes: (commit, visit) => fileSizes(pool, directory, commit, visit),
    setHeadBranch: (branch) => writeHead(writable(), branch, shared),
    withRefLocked: (ref, oid, work) => refUpdates.withLocked(writable(), ref, oid, work),
    updateRefs: (moves) => refUpdates.update(writable(), moves),
    draftCommit: (draft) => draftCommit(writing(), draft),
    draftHistory: () => draftHistory(writing()),
    draftPick: (draft) => draftPick(writing(), draft),
    pickRefusal: (change) => pickRefusal(context, change),
    async canMerge(into, from) {
      const make = async () => ({ merges: await canMerge(context, into, from, await reader.uniqueMergeBase(into, from)) })
      const answer = await cache.getOrCompute(directory, `merges ${into} ${from}`, () => 50, make)
      return answer?.merges ?? false
    },
    draftConflicted: async (ours, theirs) => draftConflicted(writing(), ours, theirs),
    mergeTexts: (texts, side) => mergeTexts(writing(), texts, side),
    diffTexts: (before, after) => diffTexts(writing(), before, after),
    draftMerge: async (draft, whileWriting) => draftMerge(writing(), draft, await reader.uniqueMergeBase(draft.into, draft.from), whileWriting),
    writeCommit: (commit) => writeCommit(writable(), commit),
    writeTag: (tag) => writeTag(writable(), tag),
  }
}

function wireOf(installation: GitInstallation, { wire, archives, checks }: WriteResources, { directory, writable, reader }: Opened): Wire {
  const { pool } = installation.resources
  const find = peelIn(installation.resources, directory)
  const peel = async (oid: Oid) => (await find(oid))?.oid ?? null
  const openWith = (env: NodeJS.ProcessEnv) => quarantineReader(pool, directory, env)
  return {
    archive: (options) => archive(archives, directory, options),
    patch: (options) => patch(archives, directory, options),
    advertise: (service, request) => wire.advertise(service === 'git-receive-pack' ? writable() : directory, service, request),
    uploadPack: (request) => wire.uploadPack(directory, request, peel),
    uploadArchive: (request) => wire.uploadArchive(archives, directory, request),
    receivePack: (request, policy) => wire.receivePack(writable(), request, policy, openWith),
    remoteHead: (source, signal) => remoteHead(wire.pool, directory, source, signal),
    fetch(source, signal, { bytes = Number.POSITIVE_INFINITY, refspecs = [], below } = {}) {
      const { packBytes, objectBytes } = wire.limits
      const limits = { bytes: Math.min(bytes, packBytes), deadline: IMPORT_DEADLINE_MS, objectBytes, refspecs, below }
      return fetchAll(wire.pool, writable(), source, limits, signal)
    },
    remoteRefs: (source, signal) => remoteRefs(wire.pool, directory, source, signal),
    push: (source, refs, limits) => pushRefs(wire.pool, directory, source, refs, limits),
    bundle: (file, signal) => bundle(wire.pool, directory, file, signal),
    copyObjects: (from, commits, have) =>
      copyObjects(pool, { directory: writable(), refs: reader.refs }, installation.directory(from), commits, have),
    lfsPointers: (commits, have) => pointersOf(pool, directory, commits, have),
    forEachLfsPointer: (visit) => forEachPointer(checks, directory, visit),
  }
}

function maintenanceOf(
  installation: GitInstallation,
  { checks, shared, removeStaleLocksIn }: WriteResources,
  { directory, key }: Opened,
): Maintenance {
  const { pool } = installation.resources
  return {
    size: () => repositorySize(directory),
    maintain: (options) => maintain(pool, directory, options, shared),
    examine: (options) => examine(checks, directory, options),
    async dropUnreadableRef(name) {
      await dropUnreadableRef(directory, name)
      installation.forget(key)
    },
    existingObjects: (oids) => existingObjects(pool, directory, oids),
    async dropCommitGraph() {
      await dropCommitGraph(directory)
      installation.forget(key)
    },
    removeStaleLocks: () => removeStaleLocksIn(directory),
    unreachable: (oids, from) => unreachable(pool, directory, oids, from),
  }
}

const IMPORT_DEADLINE_MS = 1_800_000
