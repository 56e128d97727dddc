import { fullPathOf } from '../access/rules.js'
import { afterStorageMove } from '../access/storage-move.js'
import type { Context } from '../context.js'
import { RepositoryMoving } from '../git/errors.js'
import { type PushCommand, type PushPolicy, type TransportRequest, ZERO } from '../git/types.js'
import { maintainWikiSoon } from '../services/content/wikis.js'
import { mergeRequestMessages } from '../services/issuables/merge-requests/writing/push-messages.js'
import { confirmWikiMoves, recordWikiMoves } from '../services/outbox/record.js'
import { acceptPush, type PushIntent } from '../services/repository/push/door.js'
import { newNameFault } from '../services/repository/push/rules.js'
import { quotaRefusal } from '../services/repository/quotas.js'
import { type Admission, findSubject, NOT_FOUND, pushRefusal } from './admission.js'

/** Maximum number of refs in the log line of a push. */
const MAX_LOGGED = 20

/** What the log line of a push needs. */
export interface PushLogging {
  log: Pick<Context['log'], 'info'>
  ip: string
  /** Bytes received so far. */
  bytes: () => number
}

/** How many storage moves a push waits for. */
const MAX_STORAGE_MOVES = 3

/**
 * Receives a push, over HTTP or SSH: the same rules, intents and messages (GH-18 to GH-23, GS-5). A push that starts
 * during a storage move waits for it, and goes to the new storage (SEC-187).
 */
export async function push(ctx: Context, admitted: Admission, request: TransportRequest, logged: PushLogging) {
  let target = admitted
  for (let moves = 0; ; moves++) {
    try {
      return await receive(ctx, target, request, logged)
    } catch (error) {
      if (!(error instanceof RepositoryMoving) || error.begun || moves === MAX_STORAGE_MOVES) throw error
      target = await reloadAfterMove(ctx, target)
    }
  }
}

/** Waits for the storage move to finish, and loads the subject and repository again. */
async function reloadAfterMove(ctx: Context, admitted: Admission): Promise<Admission> {
  const { caller, subject, key } = admitted
  if (!subject || !key) throw new RepositoryMoving()
  const reloaded = await afterStorageMove(ctx, async () => await findSubject(ctx, caller, String(subject.project.id)))
  if (!reloaded) throw new RepositoryMoving()
  const place = { ...key, storage: reloaded.project.storage }
  return { ...admitted, subject: reloaded, key: place, repository: ctx.git.open(place) }
}

async function receive(
  ctx: Context,
  { caller, subject, key, repository, notices }: Admission,
  request: TransportRequest,
  { log, ip, bytes }: PushLogging,
) {
  const { user } = caller
  if (!user || !subject || !key) throw new Error('a push without a user or a project was let in')
  const logPush = (commands: PushCommand[]) => {
    ctx.metrics.push(key.kind)
    const refs = commands.slice(0, MAX_LOGGED).map(({ ref, old, new: to }) => `${ref} ${old.slice(0, 12)}..${to.slice(0, 12)}`)
    log.info(
      { user: user.username, project: fullPathOf(subject.project), kind: key.kind, refs, refs_total: commands.length, bytes: bytes(), ip },
      'push',
    )
  }
  // check current rights: they may have changed while the pack was received (SEC-14)
  const loadCurrent = () => findSubject(ctx, caller, String(subject.project.id))
  if (key.kind === 'wiki') {
    let recorded: number | null = null
    const policy: PushPolicy = {
      verdict: async (commands) => {
        const reloaded = await loadCurrent()
        if (!reloaded?.can('write_wiki')) return reloaded ? pushRefusal(reloaded) : NOT_FOUND.text
        const full = commands.some((command) => command.new !== ZERO) && (await quotaRefusal(ctx, ctx.git.open(key)))
        if (full) return full
        recorded = await recordWikiMoves(ctx.db, subject.project.id, user.id, commands)
        return null
      },
      moved: async (commands) => {
        logPush(commands)
        await confirmWikiMoves(ctx.db, recorded, commands)
        maintainWikiSoon(ctx, subject.project)
        return notices
      },
    }
    return repository.receivePack(request, policy)
  }
  let intent: PushIntent | undefined
  const policy: PushPolicy = {
    nameFault: newNameFault,
    async verdict(commands, quarantine) {
      const reloaded = await loadCurrent()
      if (!reloaded) return NOT_FOUND.text
      const decided = await acceptPush(ctx, reloaded, user.id, commands, quarantine)
      if (typeof decided === 'string') return decided
      intent = decided
      return null
    },
    async moved(commands) {
      logPush(commands)
      await intent?.finish(commands)
      return [...notices, ...(await mergeRequestMessages(ctx, subject, commands))]
    },
  }
  try {
    await repository.receivePack(request, policy)
  } finally {
    await intent?.close()
  }
}
