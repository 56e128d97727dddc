import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { checkDescriptors, checkGit } from '../cli/host.js'
import { Lifecycle } from '../cli/lifecycle.js'
import { loadProgram } from '../cli/open-service.js'
import { readTestConfig } from '../config.js'
import { startEmbeddedPostgres } from '../db/postgres/index.js'
import { Failure, failureText } from '../failures.js'
import { memoryFolder } from '../lib/files/memory-folder.js'
import { isRunning } from '../lib/is-running.js'
import { StartFault } from '../lib/start-fault.js'
import { createLog, logWarnings } from '../log.js'
import { preparePostgres } from './postgres.js'
import { parseSeed, readSeedFile } from './seed/read.js'
import type { World } from './world.js'
import type { WorldRequest } from './worlds.js'

/** Free memory that is needed to store the data in memory. */
const MIN_FREE_MEMORY_BYTES = 512 * 1024 ** 2
const PREFIX = 'roost-test-'
/** Connections of all worlds together. */
const MAX_CONNECTIONS = 400

export interface TestOptions {
  /** Of the first world; 0: a free one. */
  port: number
  /** The name of the first world. */
  world: string
  /** Whether the first world serves SSH as well. */
  ssh: boolean
  /** Where the clocks of the worlds stand; undefined: they are the machine's. */
  clock?: Date | undefined
  /** Of a seed file for the first world. */
  seed?: string | undefined
}

/** Serves worlds for tests and their control channel; all data is removed at the end. */
export async function serveForTests(options: TestOptions): Promise<void> {
  const log = createLog(configIn('', options)({ name: options.world, first: true }).logLevel)
  logWarnings(log)
  const lifecycle = new Lifecycle(log)
  await lifecycle.untilStarted(start(options, lifecycle))
}

async function start(options: TestOptions, lifecycle: Lifecycle): Promise<void> {
  const { signal } = lifecycle
  const seed = options.seed === undefined ? undefined : await readSeedFile(options.seed)
  const [folder] = await Promise.all([createDataFolder(lifecycle), checkDescriptors(), checkGit()])
  const postgres = startPostgres(folder, lifecycle)
  // the program is loaded while Postgres gets ready
  await Promise.race([postgres.launched, postgres.url])
  const [databaseUrl, program, { openWorlds }, { openControl }, { prepareWorld }] = await Promise.all([
    postgres.url,
    loadProgram(),
    import('./worlds.js'),
    import('./control.js'),
    import('./extensions.js'),
  ])
  signal.throwIfAborted()
  if (options.clock) await (await import('../db/test-clock.js')).useTestClocks(databaseUrl)
  const worlds = await openWorlds({ program, lifecycle, prepare: prepareWorld }, databaseUrl, configIn(folder, options), options.clock)
  const control = await openControl(worlds, lifecycle)
  const world = await worlds.open(options.world)
  if (seed !== undefined) await seedFirstWorld(world, seed)
  signal.throwIfAborted()
  // From now on: how many servers a machine can hold matters more than the last bit of speed. In a later turn, since
  // the code that is kept for the next start has the flags of this one.
  setImmediate(() => setFlagsFromString('--optimize-for-size'))
  process.stdout.write(`${JSON.stringify({ ...world.info, control })}\n`)
}

/** Seeds the first world; a reset restores this state. */
async function seedFirstWorld(world: World, text: string): Promise<void> {
  const { seedStart } = await import('./seed/seed.js')
  try {
    await seedStart(world, await parseSeed(text))
  } catch (thrown) {
    throw thrown instanceof Failure ? new StartFault(`the seed cannot be used: ${failureText(thrown.body)}`) : thrown
  }
}

/** Starts a prepared Postgres; `launched` resolves when its process has been started, `url` when it answers. */
function startPostgres(folder: string, lifecycle: Lifecycle): { launched: Promise<void>; url: Promise<string> } {
  const directory = join(folder, 'postgres')
  let onLaunch = () => {}
  const launched = new Promise<void>((resolve) => {
    onLaunch = resolve
  })
  const start = async () => {
    await preparePostgres(directory, folder)
    const postgres = await startEmbeddedPostgres({
      directory,
      log: lifecycle.log,
      durable: false,
      compact: true,
      connections: MAX_CONNECTIONS,
      onLaunch,
    })
    lifecycle.onClose(() => postgres.stop())
    return postgres.url
  }
  return { launched, url: start() }
}

/** Creates the folder of all data, which is removed at the end. */
async function createDataFolder(lifecycle: Lifecycle): Promise<string> {
  const parent = await memoryFolder(MIN_FREE_MEMORY_BYTES)
  await removeLeftovers(parent)
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
  lifecycle.onClose(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  // as root Postgres runs under another account, which must be able to enter
  await chmod(folder, 0o711)
  await mkdir(join(folder, 'worlds'), { mode: 0o700 })
  return folder
}

/** Removes the folders of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)-`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 }).catch(() => {})
  }
}

const configIn =
  (folder: string, { port, ssh, clock }: TestOptions) =>
  ({ name, first }: WorldRequest) =>
    readTestConfig({
      folder: join(folder, 'worlds', name),
      port: first ? port : 0,
      ssh: first && ssh,
      token: `roost-test-${randomBytes(12).toString('hex')}`,
      password: randomBytes(12).toString('hex'),
      // signed URLs and credentials are in answers
      ...(clock && { secret: 'a secret that is the same for all test services with a clock' }),
    })
