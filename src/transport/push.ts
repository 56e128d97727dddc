import { fullPathOf } from '../access/rules.js'
import type { Context } from '../context.js'
import { type PushCommand, type PushPolicy, type TransportRequest, ZERO } from '../git/types.js'
import { keepUpWikiSoon } from '../services/content/wikis.js'
import { confirmWikiMoves, recordWikiMoves } from '../services/core/hook-changes.js'
import { mergeRequestMessages } from '../services/issuables/merge-requests/writing/push-messages.js'
import { acceptPush, type PushIntent } from '../services/repository/push/door.js'
import { quotaRefusal } from '../services/repository/quotas.js'
import { type Admitted, findSubject, NOT_FOUND } from './admission.js'

/** Refs of one push that the log names. */
const MAX_LOGGED = 20

/** What the log says of a push, in addition to what moved. */
export interface PushLog {
  log: Pick<Context['log'], 'info'>
  ip: string
  /** Bytes received so far. */
  bytes: () => number
}

/** Takes a push in, over HTTP or SSH: the same rules, intents and messages (GH-18 to GH-23, GS-5). */
export async function push(
  ctx: Context,
  { caller, subject, key, repository, notices }: Admitted,
  request: TransportRequest,
  { log, ip, bytes }: PushLog,
) {
  const { user } = caller
  if (!user || !subject || !key) throw new Error('a push without a user or a project was let in')
  const tell = (commands: PushCommand[]) => {
    ctx.metrics.push(key.kind)
    const refs = commands.slice(0, MAX_LOGGED).map(({ ref, old, new: to }) => `${ref} ${old.slice(0, 12)}..${to.slice(0, 12)}`)
    log.info(
      { user: user.username, project: fullPathOf(subject.project), kind: key.kind, refs, refs_total: commands.length, bytes: bytes(), ip },
      'push',
    )
  }
  if (key.kind === 'wiki') {
    let told: number | null = null
    const policy: PushPolicy = {
      verdict: async (commands) => {
        const full = commands.some((command) => command.new !== ZERO) && (await quotaRefusal(ctx, ctx.git.open(key)))
        if (full) return full
        told = await recordWikiMoves(ctx.db, subject.project.id, user.id, commands)
        return null
      },
      moved: async (commands) => {
        tell(commands)
        await confirmWikiMoves(ctx.db, told, commands)
        keepUpWikiSoon(ctx, subject.project)
        return notices
      },
    }
    return repository.receivePack(request, policy)
  }
  let intent: PushIntent | undefined
  const policy: PushPolicy = {
    async verdict(commands, quarantine) {
      // the rights as they are now: they may have changed while the pack arrived (SEC-14)
      const fresh = await findSubject(ctx, caller, String(subject.project.id))
      if (!fresh) return NOT_FOUND.text
      const decided = await acceptPush(ctx, fresh, user.id, commands, quarantine)
      if (typeof decided === 'string') return decided
      intent = decided
      return null
    },
    async moved(commands) {
      tell(commands)
      await intent?.finish(commands)
      return [...notices, ...(await mergeRequestMessages(ctx, subject, commands))]
    },
  }
  try {
    await repository.receivePack(request, policy)
  } finally {
    await intent?.settle()
  }
}
