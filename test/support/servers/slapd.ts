import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, vi } from 'vitest'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** OpenLDAP's server with these entries (LDIF), which takes passwords over TLS only. Debian's package is `slapd`. */
export async function startSlapd(folder: string, ldif: string) {
  const at = (name: string) => join(folder, name)
  mkdirSync(at('db'))
  writeFileSync(at('entries.ldif'), ldif)
  const subject = ['-subj', '/CN=directory', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', at('key.pem'), '-out', at('ca.pem'), ...subject],
    {
      stdio: 'ignore',
    },
  )
  const schemas = ['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`)
  writeFileSync(
    at('slapd.conf'),
    `${schemas.join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile ${at('ca.pem')}
TLSCertificateKeyFile ${at('key.pem')}
security simple_bind=128
database mdb
suffix "dc=example,dc=org"
directory ${at('db')}
access to attrs=userPassword by anonymous auth
access to * by users read
`,
  )
  execFileSync('/usr/sbin/slapadd', ['-f', at('slapd.conf'), '-l', at('entries.ldif')], { stdio: 'ignore' })
  const port = await freePort()
  const server = spawn('/usr/sbin/slapd', ['-f', at('slapd.conf'), '-h', `ldap://127.0.0.1:${port}`, '-d', '0'], { stdio: 'ignore' })
  await vi.waitFor(async () => expect(await isOpen(port)).toBe(true), 20_000)
  return { url: `ldap://127.0.0.1:${port}`, ca: at('ca.pem'), stop: () => server.kill() }
}
