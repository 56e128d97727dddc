// A process that tests start in order to kill it: starts Postgres in the given folder, prints its URL and stays.
import { startEmbeddedPostgres } from '../../src/db/postgres/index.js'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { url } = await startEmbeddedPostgres({ directory: process.argv[2] as string, log })
process.stdout.write(`${url}\n`)
// The IPC channel to the tests keeps this process alive, and ends it with them.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.on('message', () => undefined)
