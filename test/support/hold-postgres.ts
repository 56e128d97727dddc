// Run by tests as a process of its own, to be killed: starts Postgres in the folder it is given, prints its URL, stays.
import { startEmbeddedPostgres } from '../../src/db/postgres/index.js'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const { url } = await startEmbeddedPostgres({ directory: process.argv[2] as string, log })
process.stdout.write(`${url}\n`)
// The channel to the tests keeps it; it does not outlive them.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.on('message', () => undefined)
