import type { Context } from '../../../context.js'
import { fileSystemFaults } from '../../../lib/files/file-system.js'
import type { Check } from './fault.js'

/** Guarantees that the file systems of the storages and of the data folder lack (SEC-190). */
export async function* fileSystems({ config }: Context): Check {
  const folders = [['the data folder', config.dataDir], ...Object.entries(config.storages).map(([name, path]) => [`storage ${name}`, path])] as const
  for (const [of, path] of folders)
    for (const text of await fileSystemFaults(path as string)) yield { kind: 'file system', of: `${of}`, text: `${path} ${text}`, repair: null }
}
