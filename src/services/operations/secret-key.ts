import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { gt, sql } from 'drizzle-orm'
import type { Config } from '../../config.js'
import type { Database, Transaction } from '../../db/client.js'
import { installation, processes } from '../../db/schema/index.js'
import { createSecret, type Encryption, encryptionWith, readSecret } from '../../lib/crypto/encryption.js'
import { syncDirectory } from '../../lib/files/durable.js'
import { StartFault } from '../../lib/start-fault.js'
import { type SealedValue, sealedValues } from './sealed-values.js'

/** A key: the encryption with it, and where it comes from. */
interface Key {
  encryption: Encryption
  place: string
  /** The file of a new key that has not yet taken its place. */
  file?: string
}

export interface OpenedKey {
  encryption: Encryption
  /** The content of the owner object in a bucket. */
  bucketOwner: string
}

/** Tells a key from others, without telling anything else about it. */
export const keyCheckOf = (encryption: Encryption) => encryption.sign('check', 'secret key')
/** The name of a key in texts. */
export const keyName = (check: string) => check.slice(0, 8)

export const keyFile = (dataDir: string) => join(dataDir, 'secret.key')
/** The key that a rotation puts in the place of the other. */
export const newKeyFile = (dataDir: string) => join(dataDir, 'secret.key.new')

/** The configured keys: the present one, and that of a rotation that may have been killed. */
async function configuredKeys({ secretKey, newSecretKey, dataDir }: Config): Promise<Key[]> {
  const places: [string | null | undefined, string, string?][] =
    secretKey !== undefined
      ? [
          [secretKey, 'ROOST_SECRET_KEY'],
          [newSecretKey, 'ROOST_NEW_SECRET_KEY'],
        ]
      : [
          [await readSecret(keyFile(dataDir)), keyFile(dataDir)],
          [await readSecret(newKeyFile(dataDir)), newKeyFile(dataDir), newKeyFile(dataDir)],
        ]
  return places.flatMap(([secret, place, file]) =>
    secret ? [{ encryption: encryptionWith(secret), place, ...(file !== undefined && { file }) }] : [],
  )
}

/** Whether a key with this check is configured. */
export const hasKey = async (config: Config, check: string): Promise<boolean> =>
  (await configuredKeys(config)).some(({ encryption }) => keyCheckOf(encryption) === check)

const selectInstallation = (db: Pick<Transaction, 'select'>) => db.select().from(installation)

/**
 * Opens the encryption with the key of this database (SEC-256); a StartFault if that is not configured. A database that
 * has none yet gets the configured one, or a new one.
 */
export async function openEncryption(config: Config, db: Database): Promise<OpenedKey> {
  const [row] = await selectInstallation(db.write)
  const keys = await configuredKeys(config)
  if (!row) return adopt(config, db, keys[0])
  const key = keys.find(({ encryption }) => keyCheckOf(encryption) === row.key_check)
  if (!key) throw wrongKey(config, keys[0], `key ${keyName(row.key_check)}`)
  if (key.file !== undefined) await rename(key.file, keyFile(config.dataDir))
  return { encryption: key.encryption, bucketOwner: row.bucket_owner }
}

async function adopt(config: Config, db: Database, configured: Key | undefined): Promise<OpenedKey> {
  // an older version has recorded no key; one that opens nothing is the wrong one
  let unopened = false
  for await (const value of sealedValues(db.write)) {
    unopened = !configured || !opens(configured.encryption, value)
    if (!unopened) break
  }
  if (unopened) throw wrongKey(config, configured, 'another key')
  const encryption = configured?.encryption ?? encryptionWith(await createSecret(keyFile(config.dataDir)))
  await db.write.insert(installation).values(rowOf(encryption)).onConflictDoNothing()
  // another process may have been first
  const [row] = await selectInstallation(db.write)
  if (row?.key_check !== keyCheckOf(encryption)) throw wrongKey(config, configured, `key ${keyName(row?.key_check ?? '')}`)
  return { encryption, bucketOwner: row.bucket_owner }
}

const rowOf = (encryption: Encryption) => ({
  id: 1,
  key_check: keyCheckOf(encryption),
  bucket_owner: encryption.sign('objects', 'owner of a bucket'),
})

function wrongKey({ secretKey, dataDir }: Config, key: Key | undefined, right: string): StartFault {
  const place = secretKey !== undefined ? 'ROOST_SECRET_KEY' : keyFile(dataDir)
  const found = key ? `${place} is key ${keyName(keyCheckOf(key.encryption))}` : `${place} is not there`
  const remedy =
    secretKey !== undefined
      ? `set ROOST_SECRET_KEY to that one, or leave it unset if that is ${keyFile(dataDir)}`
      : 'restore it from a backup, or set ROOST_SECRET_KEY to that one'
  return new StartFault(`the values in the database are encrypted with ${right}, and ${found}: ${remedy}. If it is lost, run roost secret reset`)
}

export function opens(encryption: Encryption, { sealed, purpose }: SealedValue): boolean {
  try {
    encryption.open(sealed, purpose)
    return true
  } catch {
    return false
  }
}

/** Throws unless the service is stopped: it would go on with the former key. */
async function checkStopped(tx: Transaction): Promise<void> {
  const alive = await tx.select({ id: processes.id }).from(processes).where(gt(processes.alive_until, sql`statement_timestamp()`)).limit(1)
  if (alive.length > 0) throw new StartFault('the service is running, or was killed seconds ago: stop it first')
}

/** The result of a rotation: how many values have the new key, what could not be decrypted, and the name of the key. */
export interface Rotation {
  values: number
  unopened: string[]
  key: string
}

/**
 * Encrypts all values with another key, in one transaction (SEC-258). The new key is in its file before, and takes the
 * place of the other afterwards, by `openEncryption` if this process is killed in between.
 */
export async function rotateKey({ config, db, encryption }: { config: Config; db: Database; encryption: Encryption }): Promise<Rotation> {
  const { dataDir, secretKey, newSecretKey } = config
  if (secretKey !== undefined && newSecretKey === undefined)
    throw new StartFault('ROOST_SECRET_KEY is the present key: set ROOST_NEW_SECRET_KEY to the one that shall follow, for this command')
  const next = encryptionWith(newSecretKey ?? (await readSecret(newKeyFile(dataDir))) ?? (await createSecret(newKeyFile(dataDir))))
  if (keyCheckOf(next) === keyCheckOf(encryption)) throw new StartFault('the new key is the present one')
  const rotation = await db.transaction(async (tx) => {
    await checkStopped(tx)
    const [row] = await selectInstallation(tx).for('update')
    if (row?.key_check !== keyCheckOf(encryption)) throw new StartFault('another process has changed the key')
    const unopened: string[] = []
    let values = 0
    for await (const value of sealedValues(tx)) {
      if (!opens(encryption, value)) {
        unopened.push(value.of)
        continue
      }
      await value.replace(tx, next.seal(encryption.open(value.sealed, value.purpose), value.purpose))
      values++
    }
    await tx.update(installation).set({ key_check: keyCheckOf(next) })
    return { values, unopened, key: keyName(keyCheckOf(next)) }
  })
  if (secretKey !== undefined) return rotation
  await rename(newKeyFile(dataDir), keyFile(dataDir))
  await syncDirectory(dataDir)
  return rotation
}

/** Makes the configured key that of the database although another one is; returns its name and what it cannot decrypt. */
export async function resetKey(config: Config, db: Database): Promise<Rotation> {
  const [key] = await configuredKeys(config)
  const encryption = key?.encryption ?? encryptionWith(await createSecret(keyFile(config.dataDir)))
  const check = keyCheckOf(encryption)
  return db.transaction(async (tx) => {
    await checkStopped(tx)
    await tx
      .insert(installation)
      .values(rowOf(encryption))
      .onConflictDoUpdate({ target: installation.id, set: { key_check: check } })
    const unopened: string[] = []
    let values = 0
    for await (const value of sealedValues(tx)) {
      if (opens(encryption, value)) values++
      else unopened.push(value.of)
    }
    return { values, unopened, key: keyName(check) }
  })
}
