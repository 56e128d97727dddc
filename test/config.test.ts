import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigFault, configWarnings, readConfig } from '../src/config.js'

describe('readConfig', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      baseUrl: undefined,
      databaseUrl: undefined,
      dataDir: resolve('data'),
      admin: { username: 'root', password: undefined, token: undefined },
      storages: { default: resolve('data/repositories') },
      version: '13.12.0',
      defaultBranch: 'main',
      trustedProxies: [],
      argon2: { memory: 19_456, passes: 2 },
    })
  })

  it('takes an empty variable as absent and freezes the result', () => {
    const config = readConfig({ PORT: '', BASE_URL: '' })
    expect(config.port).toBe(8080)
    expect(Object.isFrozen(config) && Object.isFrozen(config.admin) && Object.isFrozen(config.storages)).toBe(true)
  })

  it('has SSH on port 2222 unless another or none is named', () => {
    expect(readConfig({}).ssh).toEqual({ host: '127.0.0.1', port: 2222, named: false, publicHost: undefined, publicPort: undefined })
    expect(readConfig({ SSH_PORT: '2222', HOST: '0.0.0.0' }).ssh).toMatchObject({ host: '0.0.0.0', port: 2222, named: true })
    expect(readConfig({ SSH_PORT: '0', SSH_HOST: '::1', SSH_PUBLIC_HOST: 'h', SSH_PUBLIC_PORT: '22' }).ssh).toEqual({
      host: '::1',
      port: 0,
      named: true,
      publicHost: 'h',
      publicPort: 22,
    })
    expect(readConfig({ SSH_PORT: '' }).ssh.port).toBeNull()
  })

  it('makes paths absolute and drops the slash at the end of the base URL', () => {
    const config = readConfig({ DATA_DIR: 'd', STORAGES: 'fast=/srv/a, slow=b', BASE_URL: 'https://git.example.com/roost/' })
    expect(config.dataDir).toBe(resolve('d'))
    expect(config.storages).toEqual({ fast: '/srv/a', slow: resolve('b') })
    expect(config.baseUrl).toBe('https://git.example.com/roost')
  })

  describe('of single sign-on', () => {
    const folder = mkdtempSync(join(tmpdir(), 'roost-config-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'sign-on.yml')
    const read = (text: string, environment: Record<string, string> = {}) => {
      writeFileSync(path, text)
      return readConfig({ ROOST_SIGN_ON: path, ...environment }).signOn
    }
    const openid = (more = '') => `openid_connect: [{name: one, issuer: "https://id.example", client_id: me, ${more}}]`
    const ldap = (more = '') => `ldap: [{name: two, url: "ldaps://h", user_dn: "uid=%{username},dc=x", ${more}}]`

    it('reads providers, with secrets from the environment and from files (WB-40)', () => {
      expect(readConfig({}).signOn).toEqual({ openid_connect: [], ldap: [] })
      expect(read('')).toEqual({ openid_connect: [], ldap: [] })
      writeFileSync(join(folder, 'secret'), 'from a file\n')
      expect(read(openid('client_secret: {env: THE_SECRET}'), { THE_SECRET: 'x' }).openid_connect).toMatchObject([
        { name: 'one', client_secret: 'x', scopes: ['openid', 'profile', 'email'], claims: { groups: 'groups' }, create_accounts: false },
      ])
      expect(read(openid(`client_secret: {file: "${join(folder, 'secret')}"}`)).openid_connect[0]?.client_secret).toBe('from a file')
      expect(read(ldap()).ldap).toMatchObject([{ filter: '(uid=%{username})', attributes: { email: 'mail' }, start_tls: false }])
      expect(read('header: {username: X-User, from: [10.0.0.0/8]}').header).toMatchObject({ name: 'header', from: ['10.0.0.0/8'] })
    })

    it.each([
      ['a: [', 'names a file that is not YAML'],
      ['openid: []', ': Unrecognized key: "openid"'],
      [openid('name: "A b"').replace('name: one, ', ''), ': openid_connect.0.name is not of lower-case letters, digits and _'],
      [openid('client_secret: {env: NONE_SUCH}'), ': openid_connect.0.client_secret names the environment variable NONE_SUCH, which is not set'],
      [openid('client_secret: {file: /none}'), ': openid_connect.0.client_secret names a file that has no secret: /none'],
      [openid('client_secret: 1'), ': openid_connect.0.client_secret is neither a text nor {env: NAME} nor {file: PATH}'],
      [openid().replace('https:', 'http:'), ': openid_connect.0.issuer is not an https URL'],
      [openid('groups: {required: []}'), ': openid_connect.0.groups.required is empty'],
      [`${openid()}\n${ldap().replace('two', 'one')}`, ': the name one is there twice'],
      [ldap('base: "dc=x"'), ': ldap.0 needs either user_dn or base'],
      [ldap('start_tls: true'), ': ldap.0 has start_tls and an ldaps URL'],
      [ldap('ca: /none'), ': ldap.0.ca names a file without a PEM certificate: /none'],
      ['header: {username: X-User, from: []}', ': header.from is empty'],
      ['header: {username: X-User, from: [example.com]}', ': header.from.0 is not an address or network'],
    ])('names what is wrong in the file: %s (WB-40)', (text, fault) => {
      expect(() => read(text)).toThrow(ConfigFault)
      expect(() => read(text)).toThrow(/^ROOST_SIGN_ON /)
      expect(() => read(text)).toThrow(fault)
    })

    it('says that the file cannot be read (WB-40)', () => {
      expect(() => readConfig({ ROOST_SIGN_ON: '/none' })).toThrow('ROOST_SIGN_ON names a file that cannot be read: /none')
    })
  })

  it('reads the mail server and the sender, and asks for STARTTLS where there is a password (ML-1)', () => {
    expect(readConfig({}).mail).toBeUndefined()
    const mail = (url: string, from = 'roost@example.com') => readConfig({ SMTP_URL: url, MAIL_FROM: from }).mail
    expect(mail('smtp://localhost')).toEqual({
      ...{ host: 'localhost', port: 25, secure: false, requireTls: false, ignoreTls: false, verify: true, credentials: undefined },
      from: { name: '', address: 'roost@example.com' },
    })
    expect(mail('smtps://me%40x:p%2F@mail.example.com', '"The Service" <roost@example.com>')).toMatchObject({
      ...{ port: 465, secure: true, requireTls: false, credentials: { user: 'me@x', password: 'p/' } },
      from: { name: 'The Service', address: 'roost@example.com' },
    })
    expect(mail('smtp://me:p@[::1]:587')).toMatchObject({ host: '::1', port: 587, requireTls: true })
    expect(mail('smtp://me:p@h?ignoreTLS=true&tls.rejectUnauthorized=false')).toMatchObject({ requireTls: false, ignoreTls: true, verify: false })
    expect(mail('smtp://h?requireTLS=true')).toMatchObject({ requireTls: true })
  })

  it.each([
    ['SMTP_URL', 'http://mail.example.com'],
    ['SMTP_URL', 'mail.example.com'],
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'smtp://h/path'],
    ['SMTP_URL', 'smtp://h?pool=true'],
    ['SMTP_URL', 'smtp://h?requireTLS=maybe'],
    ['SMTP_URL', 'smtp://h?requireTLS=true&ignoreTLS=true'],
    ['SMTP_URL', 'smtp://:p@h'],
    ['SMTP_URL', 'smtp://%ff@h'],
    ['MAIL_FROM', 'unknown'],
    ['MAIL_FROM', 'A <a@b'],
    ['MAIL_FROM', 'a@b, c@d'],
    ['MAIL_FROM', 'a@b\nBcc: c@d'],
  ])('refuses %s=%j in one line that names it', (name, value) => {
    const given = { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'roost@example.com', [name]: value }
    expect(() => readConfig(given)).toThrow(new RegExp(`^${name} [^\\n]+$`))
  })

  it('needs both of SMTP_URL and MAIL_FROM', () => {
    for (const given of [{ SMTP_URL: 'smtp://localhost' }, { MAIL_FROM: 'roost@example.com' }])
      expect(() => readConfig(given)).toThrow('SMTP_URL and MAIL_FROM are needed together')
  })

  it('reads the address of answers, and the mailbox that has them (ML-621, ML-628)', () => {
    const mail = { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'roost@example.com', ROOST_REPLY_ADDRESS: 'reply+%{key}@example.com' }
    expect([readConfig({}).replies, readConfig(mail).replies]).toEqual([undefined, { before: 'reply+', after: '@example.com', mailbox: undefined }])
    const mailbox = (url: string) => readConfig({ ...mail, IMAP_URL: url }).replies?.mailbox
    expect(mailbox('imaps://me%40x:p%2F@mail.example.com')).toEqual({
      ...{ host: 'mail.example.com', port: 993, secure: true, ignoreTls: false, verify: true },
      ...{ user: 'me@x', password: 'p/', folder: 'INBOX', moveTo: undefined },
    })
    expect(mailbox('imap://me:p@h:1430/Roost%2FReplies?moveTo=Done%20ones&ignoreTLS=true&tls.rejectUnauthorized=false')).toMatchObject({
      ...{ port: 1430, secure: false, ignoreTls: true, verify: false, folder: 'Roost/Replies', moveTo: 'Done ones' },
    })
    for (const [name, value] of [
      ['ROOST_REPLY_ADDRESS', 'reply@example.com'],
      ['ROOST_REPLY_ADDRESS', 'a-much-too-long-name+%{key}@example.com'],
      ['IMAP_URL', 'https://h'],
      ['IMAP_URL', 'imaps://h'],
      ['IMAP_URL', 'imaps://me@h'],
      ['IMAP_URL', 'imaps://me:p@h?pool=true'],
      ['IMAP_URL', 'imaps://me:p@h?ignoreTLS=maybe'],
      ['IMAP_URL', 'imaps://me:%ff@h'],
    ] as const)
      expect(() => readConfig({ ...mail, IMAP_URL: 'imaps://me:p@h', [name]: value })).toThrow(new RegExp(`^${name} [^\\n]+$`))
    expect(() => readConfig({ IMAP_URL: 'imaps://me:p@h' })).toThrow('IMAP_URL is set, and ROOST_REPLY_ADDRESS is not')
    expect(() => readConfig({ ROOST_REPLY_ADDRESS: mail.ROOST_REPLY_ADDRESS })).toThrow('ROOST_REPLY_ADDRESS is set, and SMTP_URL is not')
  })

  it('makes room in memory for the largest body', () => {
    const limits = (MiB: number) => readConfig({ ROOST_MAX_BODY_BYTES: String(MiB * 1_048_576) }).limits
    expect(limits(100).bodyMemory).toBe(256 * 1_048_576)
    expect(limits(400).bodyMemory).toBe(400 * 1_048_576)
  })

  it.each([
    ['PORT', '80a'],
    ['PORT', '70000'],
    ['PORT', '-1'],
    ['HOST', 'a b'],
    ['SSH_PORT', 'on'],
    ['SSH_PUBLIC_PORT', '0'],
    ['SSH_PUBLIC_HOST', 'git@h'],
    ['BASE_URL', 'git.example.com'],
    ['BASE_URL', 'ftp://git.example.com'],
    ['BASE_URL', 'http://h/?a=1'],
    ['DATABASE_URL', 'mysql://h/d'],
    ['LOG_LEVEL', 'loud'],
    ['STORAGES', 'default'],
    ['STORAGES', 'a=/x,a=/y'],
    ['ROOST_ADMIN_USERNAME', '-root'],
    ['ROOST_ADMIN_EMAIL', 'unknown'],
    ['ROOST_ADMIN_PASSWORD', 'short'],
    ['ROOST_ADMIN_TOKEN', 'short'],
    ['ROOST_VERSION', '10.5'],
    ['ROOST_DEFAULT_BRANCH', 'a..b'],
    ['ROOST_DEFAULT_BRANCH', '.a'],
    ['ROOST_DEFAULT_BRANCH', 'a.lock'],
    ['ROOST_TRUSTED_PROXIES', 'proxy'],
    ['ROOST_DATABASE_UNNAMED_STATEMENTS', 'maybe'],
    ['ROOST_BODY_MEMORY_BYTES', '1048576'],
    ['ROOST_MAX_CONNECTIONS', '0'],
    ['ROOST_ARGON2_MEMORY', '7'],
    ['ROOST_ARGON2_PASSES', '0'],
  ])('names %s when it is %j', (name, value) => {
    const read = () => readConfig({ [name]: value })
    expect(read).toThrow(ConfigFault)
    expect(read).toThrow(new RegExp(`^${name} [^\n]+$`))
  })

  it('never repeats a secret in its message', () => {
    expect(() => readConfig({ ROOST_ADMIN_PASSWORD: 'hunter2' })).toThrow(/^(?!.*hunter2)/)
    expect(() => readConfig({ DATABASE_URL: 'hunter2' })).toThrow(/^(?!.*hunter2)/)
  })
})

describe('configWarnings', () => {
  const warnings = (environment: Record<string, string>) => configWarnings(readConfig(environment), environment)

  it('names variables that look like settings and have no effect, and the one that is meant', () => {
    expect(warnings({ ROOST_WORKRES: '3', ROOST_BASE_URL: 'https://x', DATADIR: '/srv', Smtp_Url: 'smtp://x', METRICS_KEY: 'x' })).toEqual([
      'ROOST_WORKRES is no setting of this version and has no effect',
      'ROOST_BASE_URL is no setting of this version and has no effect',
      'DATADIR is no setting of this version and has no effect; DATA_DIR is meant',
      'Smtp_Url is no setting of this version and has no effect; SMTP_URL is meant',
      'METRICS_KEY is no setting of this version and has no effect',
    ])
  })

  it('does not warn of settings, variables of other programs, and those of the test server', () => {
    expect(warnings({ ROOST_WORKERS: '2', SSH_AUTH_SOCK: '/x', MAIL: '/x', PATH: '/bin', ROOST_TEST_CONTROL: 'x', ROOST_PROGRAM: 'roost' })).toEqual(
      [],
    )
  })

  it('says where links lead while the service listens to other machines without a base URL', () => {
    for (const HOST of ['0.0.0.0', '::']) {
      expect(warnings({ HOST })).toEqual([expect.stringContaining('set BASE_URL')])
      expect(warnings({ HOST, BASE_URL: 'https://git.example.com' })).toEqual([])
    }
    expect(warnings({ HOST: '192.0.2.1' })).toEqual([])
  })
})
