/** A mailbox that messages are taken from. */
export interface ImapSetting {
  host: string
  port: number
  /** TLS from the first byte; otherwise STARTTLS is required. */
  secure: boolean
  /** Never use STARTTLS. */
  ignoreTls: boolean
  /** Whether the server's certificate must be valid. */
  verify: boolean
  user: string
  password: string
  folder: string
  /** The folder that messages go to when they have been taken; undefined: they stay, as read. */
  moveTo: string | undefined
}

/** The most messages that are taken at once. */
const MAX_MESSAGES = 50
const CONNECT_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 60_000

/** A message of a mailbox: its source, or null if that is larger than the limit. */
type Handle = (source: Buffer | null) => Promise<void>

/**
 * Takes the unread messages of a mailbox, oldest first: each is marked as read, or moved, when `handle` has returned.
 * Returns whether there are more. Throws what `handle` throws, and when the server cannot be reached or refuses.
 */
export async function takeMessages(setting: ImapSetting, limit: number, handle: Handle, signal: AbortSignal): Promise<boolean> {
  const { ImapFlow } = await import('imapflow')
  signal.throwIfAborted()
  const { host, port, secure, ignoreTls, verify, user, password, folder, moveTo } = setting
  const client = new ImapFlow({
    host,
    port,
    secure,
    ...(!secure && { doSTARTTLS: !ignoreTls }),
    auth: { user, pass: password },
    tls: { rejectUnauthorized: verify },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    maxLiteralSize: 2 * limit,
  })
  // what goes wrong between commands is thrown by the next one
  client.on('error', () => undefined)
  const stop = () => client.close()
  signal.addEventListener('abort', stop)
  try {
    await client.connect()
    await client.mailboxOpen(folder)
    const found = (await client.search({ seen: false, deleted: false }, { uid: true })) || []
    for (const uid of found.slice(0, MAX_MESSAGES)) {
      signal.throwIfAborted()
      await handle(await sourceOf(client, uid, limit))
      const message = String(uid)
      if (moveTo === undefined) await client.messageFlagsAdd(message, ['\\Seen'], { uid: true })
      else if (!(await client.messageMove(message, moveTo, { uid: true }))) throw new Error(`the mailbox has no folder ${moveTo}`)
    }
    await client.logout()
    return found.length > MAX_MESSAGES
  } finally {
    signal.removeEventListener('abort', stop)
    client.close()
  }
}

async function sourceOf(client: import('imapflow').ImapFlow, uid: number, limit: number): Promise<Buffer | null> {
  const message = String(uid)
  const about = await client.fetchOne(message, { size: true }, { uid: true })
  if (!about || (about.size ?? 0) > limit) return null
  const found = await client.fetchOne(message, { source: true }, { uid: true })
  return found ? (found.source ?? null) : null
}
