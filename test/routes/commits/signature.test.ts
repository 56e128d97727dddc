import { readFileSync } from 'node:fs'
import { eq } from 'drizzle-orm'
import { generateKey, readKey } from 'openpgp'
import { beforeAll, describe, expect, it } from 'vitest'
import { emails, gpgKeys, sshKeys, users } from '../../../src/db/schema/index.js'
import { readSshSignature } from '../../../src/lib/crypto/ssh-signature.js'
import { testApp } from '../../support/app.js'
import { aProject, aUser, type TestProject, type TestUser } from '../../support/factories.js'
import type { TestRepository } from '../../support/git.js'
import { bareOf } from '../../support/repositories.js'

/** Made with OpenSSH's ssh-keygen and with GnuPG: keys, and their signatures over the text of one commit. */
const made = JSON.parse(readFileSync('test/support/keys/signatures.json', 'utf8')) as {
  text: string
  ssh: { type: string; key: string; signature: string; forFiles: string }[]
  gpg: { by: 'primary' | 'sub'; key: string; signature: string }[]
}
const COMMITTER = 'signer@example.com'

const t = testApp()
let signer: TestUser
let project: TestProject
let bare: TestRepository

beforeAll(async () => {
  signer = await aUser(t.ctx, { email: COMMITTER })
  project = await aProject(t.ctx, { visibility: 'public', files: { 'a.txt': 'a' } })
  bare = bareOf(t, project)
  // what the commits refer to
  bare.gitBytes(['hash-object', '-w', '-t', 'tree', '--stdin'])
})

/** Writes the commit with a signature, as Git does: a header whose further lines begin with a space. */
function signedCommit(signature: string, text = made.text): string {
  const header = `gpgsig ${signature.trim().replaceAll('\n', '\n ')}\n`
  const object = text.replace('\n\n', `\n${header}\n`)
  return bare.gitBytes(['hash-object', '-w', '-t', 'commit', '--stdin'], object).toString().trim()
}
const get = (sha: string, caller: TestUser | null = null) => t.api('get', `${project.path}/repository/commits/${sha}/signature`, caller)
const status = async (sha: string) => (await get(sha).expect(200)).body.verification_status
const NONE = { message: '404 Signature Not Found' }

describe('GET /projects/:id/repository/commits/:sha/signature (RE-11)', () => {
  it('404 for a commit without a signature, with one of another kind, or that is not there', async () => {
    expect((await get('main').expect(404)).body).toEqual(NONE)
    expect((await get(signedCommit('-----BEGIN SIGNED MESSAGE-----\nx\n-----END SIGNED MESSAGE-----')).expect(404)).body).toEqual(NONE)
    expect((await get('0'.repeat(40)).expect(404)).body).toEqual({ message: '404 Commit Not Found' })
  })

  it.each(made.ssh)('SSH $type: the stored key of the committer', async ({ key, signature, forFiles }) => {
    const sha = signedCommit(signature)
    expect(await status(sha)).toBe('unknown_key')
    const { body: stored } = await t.api('post', '/user/keys', signer).send({ title: 'signs', key }).expect(201)
    const { id, title, created_at } = stored
    expect((await get(sha).expect(200)).body).toEqual({
      signature_type: 'SSH',
      verification_status: 'verified',
      key: { id, title, key: stored.key, created_at },
    })
    // another text, another purpose
    expect(await status(signedCommit(signature, made.text.replace('signed', 'forged')))).toBe('unverified')
    expect(await status(signedCommit(forFiles))).toBe('unverified')
    await t.ctx.db.write
      .update(sshKeys)
      .set({ expires_at: new Date(1_700_000_000_000) })
      .where(eq(sshKeys.id, id))
    expect(await status(sha)).toBe('unverified_key')
    await t.api('delete', `/user/keys/${id}`, signer).expect(204)
    const other = await aUser(t.ctx)
    await t.api('post', '/user/keys', other).send({ title: 'theirs', key }).expect(201)
    expect(await status(sha)).toBe('other_user')
  })

  it.each(made.gpg)('GPG, by the $by key: the stored key of the committer', async ({ key, signature }) => {
    const sha = signedCommit(signature)
    expect((await get(sha).expect(200)).body).toMatchObject({ signature_type: 'PGP', verification_status: 'unknown_key', gpg_key_id: null })
    const [stored] = (await t.api('post', '/user/gpg_keys', signer).send({ key }).expect(201)).body
    const [row] = await t.ctx.db.write.select().from(gpgKeys).where(eq(gpgKeys.id, stored.id))
    expect((await get(sha).expect(200)).body).toEqual({
      signature_type: 'PGP',
      verification_status: 'verified',
      gpg_key_id: stored.id,
      gpg_key_primary_keyid: row?.primary_keyid,
      gpg_key_user_name: 'Signer',
      gpg_key_user_email: COMMITTER,
      gpg_key_subkey_id: null,
    })
    expect(await status(signedCommit(signature, made.text.replace('signed', 'forged')))).toBe('unverified')
    // SEC-129: an address that is not confirmed counts for nothing
    await t.ctx.db.write.update(users).set({ confirmed_at: null }).where(eq(users.id, signer.id))
    expect(await status(sha)).toBe('unverified_key')
    await t.ctx.db.write.update(users).set({ confirmed_at: new Date() }).where(eq(users.id, signer.id))
    await t.api('delete', `/user/gpg_keys/${stored.id}`, signer).expect(204)
  })

  it.each(made.gpg)('GPG, by the $by key: of the committer under another address, and of another user', async ({ key, signature }) => {
    const owner = await aUser(t.ctx)
    const [{ id }] = (await t.api('post', '/user/gpg_keys', owner).send({ key }).expect(201)).body
    const sha = signedCommit(signature)
    expect(await status(sha)).toBe('unverified_key')
    // the key's address becomes the owner's, and the committer's is another
    await t.ctx.db.write.update(users).set({ email: 'former@example.com' }).where(eq(users.id, signer.id))
    await t.ctx.db.write.insert(emails).values({ user_id: owner.id, email: COMMITTER, confirmed_at: new Date() })
    expect(await status(sha)).toBe('verified')
    await t.ctx.db.write.delete(emails).where(eq(emails.user_id, owner.id))
    await t.ctx.db.write.update(users).set({ email: COMMITTER }).where(eq(users.id, signer.id))
    await t.api('delete', `/user/gpg_keys/${id}`, owner).expect(204)
  })

  it('GPG: a subkey that another user has put into their key signs for its own key alone', async () => {
    const sub = made.gpg.find(({ by }) => by === 'sub')
    if (!sub) throw new Error('no key')
    const sha = signedCommit(sub.signature)
    const thief = await aUser(t.ctx)
    const { publicKey } = await generateKey({ userIDs: [{ name: 'Thief', email: COMMITTER }], format: 'object' })
    publicKey.subkeys.push(...(await readKey({ armoredKey: sub.key })).subkeys)
    await t.api('post', '/user/gpg_keys', thief).send({ key: publicKey.armor() }).expect(201)
    expect(await status(sha)).not.toBe('verified')
    await t.ctx.db.write.insert(emails).values({ user_id: thief.id, email: COMMITTER, confirmed_at: new Date() })
    expect(await status(sha)).toBe('unverified')
    await t.ctx.db.write.delete(emails).where(eq(emails.user_id, thief.id))
    await t.api('post', '/user/gpg_keys', signer).send({ key: sub.key }).expect(201)
    expect((await get(sha).expect(200)).body).toMatchObject({ verification_status: 'verified', gpg_key_user_name: 'Signer' })
  })

  it('an invalid signature is unverified, and hostile ones cause no error', async () => {
    const hostile = [
      '-----BEGIN PGP SIGNATURE-----\n\nnothing\n-----END PGP SIGNATURE-----',
      '-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----',
      `-----BEGIN SSH SIGNATURE-----\n${Buffer.from('SSHSIG\0\0\0\x01\xff\xff\xff\xff', 'latin1').toString('base64')}\n-----END SSH SIGNATURE-----`,
    ]
    for (const signature of hostile) expect(await status(signedCommit(signature))).toBe('unverified')
    await get(signedCommit(`-----BEGIN PGP SIGNATURE-----\n${'x\n'.repeat(20_000)}-----END PGP SIGNATURE-----`)).expect(404)
  })

  it('is for those who may read the code', async () => {
    const hidden = await aProject(t.ctx, { guest: signer, files: { 'a.txt': 'a' } })
    const at = `${hidden.path}/repository/commits/main/signature`
    await t.api('get', at, null).expect(404)
    await t.api('get', at, signer).expect(403)
    expect((await t.api('get', at, hidden.creator).expect(404)).body).toEqual(NONE)
  })
})

it('a signature that was cut anywhere is not read, or covers nothing', () => {
  for (const { signature } of made.ssh) {
    const [, ...lines] = signature.trim().split('\n')
    const bytes = Buffer.from(lines.slice(0, -1).join(''), 'base64')
    for (let end = 0; end < bytes.length; end += 3) {
      const cut = `-----BEGIN SSH SIGNATURE-----\n${bytes.subarray(0, end).toString('base64')}\n-----END SSH SIGNATURE-----`
      expect(readSshSignature(cut)?.covers(Buffer.from(made.text), 'git') ?? false).toBe(false)
    }
  }
})
