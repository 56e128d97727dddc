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
import { createLog } from '../log.js'
import { preparePostgres } from './postgres.js'
import { seedFile, seedIn } from './seed/read.js'
import type { World } from './world.js'
import type { WorldSetting } from './worlds.js'

/** Bytes of memory that must be free for the data to be there. */
const ROOM = 512 * 1024 ** 2
const PREFIX = 'roost-test-'
/** Connections of all worlds together. */
const CONNECTIONS = 400

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

/** Serves worlds for tests and a channel that controls them; what they store goes when the service ends. */
export async function serveForTests(options: TestOptions): Promise<void> {
  const log = createLog(settingIn('', options)({ name: options.world, first: true }).logLevel)
  const life = new Lifecycle(log)
  await life.untilStarted(start(options, life))
}

async function start(options: TestOptions, life: Lifecycle): Promise<void> {
  const { signal } = life
  const seed = options.seed === undefined ? undefined : await seedFile(options.seed)
  const [folder] = await Promise.all([ownFolder(life), checkDescriptors(), checkGit()])
  const postgres = startPostgres(folder, life)
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
  const worlds = await openWorlds({ program, life, prepare: prepareWorld }, databaseUrl, settingIn(folder, options), options.clock)
  const control = await openControl(worlds, life)
  const world = await worlds.open(options.world)
  if (seed !== undefined) await fill(world, seed)
  signal.throwIfAborted()
  // From now on: how many servers a machine can hold matters more than the last bit of speed. In a later turn, since
  // the code that is kept for the next start has the flags of this one.
  setImmediate(() => setFlagsFromString('--optimize-for-size'))
  process.stdout.write(`${JSON.stringify({ ...world.line, control })}\n`)
}

/** Fills a world at the start; a reset leads back to it. */
async function fill(world: World, text: string): Promise<void> {
  const { seedStart } = await import('./seed/seed.js')
  try {
    await seedStart(world, await seedIn(text))
  } catch (thrown) {
    throw thrown instanceof Failure ? new StartFault(`the seed cannot be used: ${failureText(thrown.body)}`) : thrown
  }
}

/** Starts a prepared Postgres; `launched` resolves when its process has been started, `url` when it answers. */
function startPostgres(folder: string, life: Lifecycle): { launched: Promise<void>; url: Promise<string> } {
  const directory = join(folder, 'postgres')
  let onLaunch = () => {}
  const launched = new Promise<void>((resolve) => {
    onLaunch = resolve
  })
  const start = async () => {
    await preparePostgres(directory, folder)
    const postgres = await startEmbeddedPostgres({ directory, log: life.log, durable: false, connections: CONNECTIONS, onLaunch })
    life.onClose(() => postgres.stop())
    return postgres.url
  }
  return { launched, url: start() }
}

/** The folder of everything that is stored; removed at the end. */
async function ownFolder(life: Lifecycle): Promise<string> {
  const parent = await memoryFolder(ROOM)
  await removeLeftovers(parent)
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`))
  life.onClose(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
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

const settingIn =
  (folder: string, { port, ssh, clock }: TestOptions) =>
  ({ name, first }: WorldSetting) =>
    readTestConfig({
      folder: join(folder, 'worlds', name),
      port: first ? port : 0,
      ssh: first && ssh,
      token: `roost-test-${randomBytes(12).toString('hex')}`,
      password: randomBytes(12).toString('hex'),
      // signed URLs and credentials are in answers
      ...(clock && { secret: 'a secret that is the same for all test services with a clock' }),
    })
