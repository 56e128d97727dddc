import type { Context } from '../../../context.js'
import { artifactFiles } from './artifacts.js'
import type { Check } from './fault.js'
import { fileSystems } from './file-systems.js'
import { avatars, uploads } from './files.js'
import { leftovers } from './leftovers.js'
import { lfs } from './lfs.js'
import { packageContents } from './packages.js'
import { type DoctorOptions, orphans, repositories } from './repositories.js'
import { counters } from './rows.js'
import { secrets } from './secrets.js'

/**
 * Compares rows with repositories and with each other; the service may be running. Checks that the objects that refs
 * reach exist; with `full` it reads them completely. Leftovers are checked early, because their repair may fix later
 * faults.
 */
export async function* faults(ctx: Context, options: DoctorOptions = {}): Check {
  yield* fileSystems(ctx)
  yield* leftovers(ctx)
  yield* repositories(ctx, options)
  yield* orphans(ctx)
  yield* counters(ctx)
  yield* avatars(ctx)
  yield* uploads(ctx)
  yield* secrets(ctx)
  yield* lfs(ctx, options)
  yield* artifactFiles(ctx)
  yield* packageContents(ctx)
}
