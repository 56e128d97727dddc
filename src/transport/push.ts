import { actingAs } from '../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../access/rules.js'
import { afterStorageMove } from '../access/storage-move.js'
import type { Context, Move } from '../context.js'
import { RepositoryMoving } from '../git/errors.js'
import { type PushCommand, type PushPolicy, type TransportRequest, ZERO } from '../git/types.js'
import { type PushOptions, readPushOptions } from '../rules/push-options.js'
import { MAX_PIPELINES_OF_A_PUSH } from '../services/ci/create.js'
import { sealPushVariables } from '../services/ci/push-variables.js'
import { maintainWikiSoon } from '../services/content/wikis.js'
import { readOnlyNow } from '../services/core/maintenance.js'
import { mergeRequestMessages } from '../services/issuables/merge-requests/writing/push-messages.js'
import { applyMergeRequestOptions } from '../services/issuables/merge-requests/writing/push-options.js'
import { confirmWikiMoves, recordWikiMoves } from '../services/outbox/record.js'
import { acceptPush, type PushIntent } from '../services/repository/push/door.js'
import { newNameFault } from '../services/repository/push/rules.js'
import { quotaRefusal } from '../services/repository/quotas.js'
import { type Admission, findSubject, type GitCaller, NOT_FOUND, pushRefusal } from './admission.js'

/** Maximum number of refs in the log line of a push. */
const MAX_LOGGED = 20

/** What the log line of a push needs. */
export interface PushLogging {
  log: Pick<Context['log'], 'info'>
  ip: string
  /** Bytes received so far. */
  bytes: () => number
}

/** A deploy key has no rights but on the code. */
const NO_USER = 'A deploy key opens and changes no merge requests'

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
    ctx.monitoring.metrics.push(key.kind)
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
    let warnings: string[] = []
    const policy: PushPolicy = {
      verdict: async (commands, _, given) => {
        if (readPushOptions(given).mergeRequest) warnings = warningLines(['A wiki has no merge requests'])
        const [reloaded, readOnly] = await Promise.all([loadCurrent(), readOnlyNow(ctx)])
        if (readOnly !== null) return readOnly
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
        return [...notices, ...warnings]
      },
    }
    return repository.receivePack(request, policy)
  }
  let intent: PushIntent | undefined
  let options = readPushOptions([])
  let variables = sealPushVariables(ctx, subject.project.id, [])
  let current = subject
  const movesOf = (commands: PushCommand[]): Move[] => {
    if (options.skipsCi) return commands.map((command) => ({ ...command, skip_ci: true }))
    const ci_variables = commands.length <= MAX_PIPELINES_OF_A_PUSH ? variables.sealed : undefined
    return commands.map((command) => ({ ...command, ...(ci_variables !== undefined && { ci_variables }) }))
  }
  const policy: PushPolicy = {
    nameFault: newNameFault,
    async verdict(commands, quarantine, given) {
      const [reloaded, readOnly] = await Promise.all([loadCurrent(), readOnlyNow(ctx)])
      if (!reloaded) return NOT_FOUND.text
      // a push that began before the service became read-only (WB-180)
      if (readOnly !== null) return readOnly
      current = reloaded
      options = readPushOptions(given)
      variables = sealPushVariables(ctx, reloaded.project.id, options.variables)
      const decided = await acceptPush(ctx, reloaded, user.id, movesOf(commands), quarantine)
      if (typeof decided === 'string') return decided
      intent = decided
      return null
    },
    async moved(commands) {
      logPush(commands)
      await intent?.finish(movesOf(commands))
      // a first push has made its branch the default one
      const then = current.project.empty_repo ? await loadCurrent() : current
      return then
        ? [...notices, ...(await messagesAfter(ctx, caller, then, movesOf(commands), { ...options, warnings: variables.warnings }))]
        : notices
    },
  }
  try {
    await repository.receivePack(request, policy)
  } finally {
    await intent?.close()
  }
}

const warningLines = (warnings: string[]) => (warnings.length > 0 ? ['', 'WARNINGS:', ...warnings, ''] : [])

/** Carries out the options of a push that are about merge requests; returns warnings, and where merge requests are. */
async function messagesAfter(
  ctx: Context,
  { user, level }: GitCaller,
  subject: ProjectSubject,
  moves: Move[],
  { mergeRequest, warnings: given }: PushOptions & { warnings: string[] },
): Promise<string[]> {
  const caller = user && !level ? actingAs(user) : null
  const warnings = mergeRequest === null ? [] : caller ? await applyMergeRequestOptions(ctx, caller, subject, moves, mergeRequest) : [NO_USER]
  return [...warningLines([...given, ...warnings]), ...(await mergeRequestMessages(ctx, caller, subject, moves))]
}
