import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'

const PROGRAMS = ['/usr/sbin/dovecot', '/usr/local/sbin/dovecot', '/usr/bin/dovecot']
/** The account of mails where root starts the server, which refuses to give mails to root. */
const MAIL_USER = 65_534

export interface ImapMailbox {
  /** The URL with TLS from the start, whose certificate is self-signed. */
  url: string
  /** The URL with STARTTLS. */
  plain: string
  deliver(source: string): void
  /** The flags of the messages in a folder, as in maildir names: `S` is read. */
  flags(folder?: string): string[]
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

/** Starts Dovecot with one mailbox for the tests of a file. */
export async function dovecot(): Promise<ImapMailbox> {
  const program = PROGRAMS.find(existsSync) ?? expect.fail('Dovecot is needed for this test (apt-get install dovecot-imapd)')
  const folder = mkdtempSync(join(tmpdir(), 'dovecot-'))
  const { uid: own, username } = userInfo()
  const uid = own === 0 ? MAIL_USER : own
  // its login process refuses to be root's
  const loginUser = own === 0 ? String(execFileSync('id', ['-nu', String(MAIL_USER)])).trim() : username
  const mail = join(folder, 'mail')
  for (const below of ['new', 'cur', 'tmp', '.Taken', '.Taken/new', '.Taken/cur', '.Taken/tmp']) mkdirSync(join(mail, below), { recursive: true })
  const [imaps, imap] = [await freePort(), await freePort()]
  const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes', '-newkey', 'rsa:2048']
  execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  chmodSync(folder, 0o755)
  if (own === 0)
    for (const name of [mail, ...readdirSync(mail, { recursive: true }).map((each) => join(mail, String(each)))]) chownSync(name, uid, uid)
  writeFileSync(
    join(folder, 'dovecot.conf'),
    `protocols = imap
base_dir = ${folder}/run
state_dir = ${folder}/run
log_path = ${folder}/log
default_internal_user = ${username}
default_login_user = ${loginUser}
default_internal_group =
first_valid_uid = 1
ssl = yes
ssl_cert = <${certificate}
ssl_key = <${key}
disable_plaintext_auth = yes
mail_location = maildir:${mail}
passdb {
  driver = static
  args = password=a/secret
}
userdb {
  driver = static
  args = uid=${uid} gid=${uid} home=${folder}
}
service imap-login {
  chroot =
  inet_listener imap {
    address = 127.0.0.1
    port = ${imap}
  }
  inet_listener imaps {
    address = 127.0.0.1
    port = ${imaps}
    ssl = yes
  }
}
service anvil {
  chroot =
}
`,
  )
  const child = spawn(program, ['-F', '-c', join(folder, 'dovecot.conf')], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve))
  afterAll(async () => {
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  let count = 0
  const options = 'tls.rejectUnauthorized=false'
  return {
    url: `imaps://replies:a%2Fsecret@127.0.0.1:${imaps}?${options}`,
    plain: `imap://replies:a%2Fsecret@127.0.0.1:${imap}?${options}`,
    deliver(source) {
      const name = `${Date.now()}.${process.pid}_${++count}.localhost`
      writeFileSync(join(mail, 'tmp', name), source)
      if (own === 0) chownSync(join(mail, 'tmp', name), uid, uid)
      writeFileSync(join(mail, 'new', name), readFileSync(join(mail, 'tmp', name)))
      if (own === 0) chownSync(join(mail, 'new', name), uid, uid)
      rmSync(join(mail, 'tmp', name))
    },
    flags: (below = '') => ['new', 'cur'].flatMap((part) => readdirSync(join(mail, below, part))).map((name) => name.split(':2,')[1] ?? ''),
  }
}
