import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The server that created the database, and where the database is. */
export interface Preparation {
  origin: string
  major: number
  home: string
  /** The folder that this record was written in. */
  directory?: string
}

/** How to connect to the running Postgres, and the owner of the lock under which it was started. */
interface Running {
  url: string
  sockets: string
  owner: string
}

const preparationFile = (directory: string) => join(directory, 'server.json')
const runningFile = (directory: string) => join(directory, 'running.json')

export const readPreparation = (directory: string) => readJson<Preparation>(preparationFile(directory))
export const writePreparation = (directory: string, preparation: Preparation) =>
  writeFile(preparationFile(directory), `${JSON.stringify(preparation)}\n`)

export const readRunning = (directory: string) => readJson<Running>(runningFile(directory))
export const writeRunning = (directory: string, running: Running) => writeFile(runningFile(directory), JSON.stringify(running), { mode: 0o600 })
export const removeRunning = (directory: string) => rm(runningFile(directory), { force: true })

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch {
    return undefined
  }
}
