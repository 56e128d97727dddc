import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { GitFault } from '../errors.js'

/** A pack; `stem` is its file name without extension. */
export interface Pack {
  stem: string
  count: number
}

const indexOf = (directory: string, stem: string) => join(directory, 'objects', 'pack', `${stem}.idx`)

/** Bytes before the ids in an index of version 2: two words, and the fan-out table. */
const FANOUT_END = 8 + 256 * 4

/** The packs of a repository, according to their indexes. */
export async function packsOf(directory: string): Promise<Pack[]> {
  const names = await readdir(join(directory, 'objects', 'pack'))
  const stems = names.filter((name) => name.endsWith('.idx')).map((name) => name.slice(0, -'.idx'.length))
  return Promise.all(
    stems.map(async (stem) => {
      const head = await part(indexOf(directory, stem), 0, FANOUT_END)
      if (head.readUInt32BE(0) !== 0xff744f63 || head.readUInt32BE(4) !== 2)
        throw new GitFault('index-pack', null, `${stem} has an index of another kind`)
      return { stem, count: head.readUInt32BE(FANOUT_END - 4) }
    }),
  )
}

/** The ids of a pack's objects, twenty bytes each, sorted. */
export const idsIn = (directory: string, { stem, count }: Pack): Promise<Buffer> => part(indexOf(directory, stem), FANOUT_END, count * 20)

async function part(path: string, at: number, length: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
    if (bytesRead < length) throw new GitFault('index-pack', null, `${path} is cut short`)
    return buffer
  } finally {
    await file.close()
  }
}
