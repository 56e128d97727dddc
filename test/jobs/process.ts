// Run by tests as a separate process, to be killed: works on the jobs of a database until then.
import { openDatabase } from '../../src/db/client.js'
import { createWorker } from '../../src/jobs/worker.js'
import { lockingKinds } from './kinds.js'

const url = process.argv[2] as string
const db = await openDatabase(url, { log: { info: () => undefined, warn: () => undefined } })
const locking = await lockingKinds(url)
await createWorker({ db, kinds: locking.kinds, ctx: () => undefined, onEnd: () => undefined, onFault: console.error }).start()
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.on('message', () => undefined)
