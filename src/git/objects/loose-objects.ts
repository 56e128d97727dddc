import { randomBytes } from 'node:crypto'
import * as files from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'
import { mapConcurrently } from '../../lib/async/concurrency.js'
import { syncDirectory, writeNewFile } from '../../lib/files/durable.js'
import type { Oid } from '../types.js'
import type { ObjectType } from './cat-file.js'
import type { StagedObject } from './object-buffer.js'

const compress = promisify(deflate)
const decompress = promisify(inflate)

/** Objects that are written at a time. */
const CONCURRENT = 8

const wrapped = (type: ObjectType, content: Buffer) => Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])

/** Writes objects into a repository with isomorphic-git; they and their names are on the disk on return. */
export async function writeObjects(directory: string, objects: StagedObject[]): Promise<void> {
  if (objects.length === 0) return
  // loaded by the first change: the start does not need it
  const { default: git } = await import('isomorphic-git')
  await mapConcurrently(CONCURRENT, objects, async ({ oid, type, content }) => {
    // deflated beside the event loop: its own compression takes three times as long
    const object = await compress(wrapped(type, content))
    await git.writeObject({ fs: DURABLE, gitdir: directory, type, object, format: 'deflated', oid })
  })
  const folder = join(directory, 'objects')
  const folders = new Set(objects.map(({ oid }) => join(folder, oid.slice(0, 2))))
  await mapConcurrently(CONCURRENT, [folder, ...folders], syncDirectory)
}

/** How often a folder of objects is made anew, because a repack beside removes those that are empty. */
const MAX_ATTEMPTS = 10

/**
 * The file system for isomorphic-git. A file gets its name when its bytes are on the disk; until then it has one that
 * `git gc` cleans up after a kill.
 */
const DURABLE = {
  promises: {
    ...files,
    /** Makes the folder of an object, but never a repository that is missing (SEC-156). */
    async writeFile(path: string, content: Buffer) {
      const folder = dirname(path)
      const temporary = join(folder, `tmp_obj_${randomBytes(6).toString('hex')}`)
      try {
        for (let attempt = 1; ; attempt++) {
          try {
            await writeNewFile(temporary, content, 0o444)
            break
          } catch (error) {
            if (codeOf(error) !== 'ENOENT' || attempt === MAX_ATTEMPTS) throw error
            await files.mkdir(folder).catch((fault) => codeOf(fault) === 'EEXIST' || Promise.reject(fault))
          }
        }
        await files.rename(temporary, path)
      } catch (error) {
        await files.rm(temporary, { force: true })
        throw error
      }
    },
    /** isomorphic-git would make all folders of a path. */
    async mkdir() {},
    /**
     * Nothing exists, so an object that is already there is replaced. It is as young as the change then, so pruning
     * leaves it alone (SEC-164), and whoever wrote it before may not have synced its folder yet.
     */
    async stat() {
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    },
  },
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

/** Writes an object into a temporary object directory, without syncing it. */
export async function writeLoose(objects: string, { oid, type, content }: StagedObject): Promise<void> {
  const folder = join(objects, oid.slice(0, 2))
  await files.mkdir(folder, { recursive: true })
  await files.writeFile(join(folder, oid.slice(2)), await compress(wrapped(type, content)))
}

/** All loose objects in an object directory except known ones. */
export async function readLoose(objects: string, known: Set<Oid>): Promise<StagedObject[]> {
  const folders = (await files.readdir(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const names = await Promise.all(folders.map(async (folder) => (await files.readdir(join(objects, folder))).map((name) => folder + name)))
  const oids = names.flat().filter((oid) => /^[0-9a-f]{40}$/.test(oid) && !known.has(oid))
  return Promise.all(
    oids.map(async (oid) => {
      const bytes = (await decompress(await files.readFile(join(objects, oid.slice(0, 2), oid.slice(2))))) as Buffer
      const header = bytes.indexOf(0)
      const [type] = bytes.toString('latin1', 0, header).split(' ')
      return { oid, type: type as ObjectType, content: bytes.subarray(header + 1) }
    }),
  )
}
