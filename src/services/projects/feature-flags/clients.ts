import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import { countBadToken } from '../../../access/authenticate.js'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import {
  featureFlagClients,
  featureFlagScopes,
  featureFlagStrategies,
  featureFlags,
  featureFlagUserLists,
  projects,
} from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { unauthenticated } from '../../../failures.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import { isInScope } from '../../../rules/ci/environment-scope.js'
import { unsealed } from '../../core/unsealed.js'
import { auditFlags, changingFlags } from './shared.js'

/** Binds an encrypted token to its project. */
export const clientPurpose = ({ project_id }: { project_id: number }) => `feature flag token of project ${project_id}`

/** The token of the clients of a project; null if there is none, or it cannot be decrypted (SEC-257). */
export async function clientToken(ctx: Context, { project }: ProjectSubject): Promise<string | null> {
  const [found] = await ctx.db.write.select().from(featureFlagClients).where(eq(featureFlagClients.project_id, project.id))
  return found?.sealed ? unsealed(ctx, found.sealed, clientPurpose({ project_id: project.id })) : null
}

/** Gives the clients of a project another token; the former one opens nothing any more (FF-10). */
export async function resetClientToken(ctx: Context, subject: ProjectSubject): Promise<void> {
  const project_id = subject.project.id
  const token = newSecret(ctx.random)
  const values = { sealed: ctx.encryption.seal(token, clientPurpose({ project_id })), digest: digestOf(token), created_at: ctx.now() }
  await changingFlags(ctx, subject, async (tx) => {
    await tx
      .insert(featureFlagClients)
      .values({ project_id, ...values })
      .onConflictDoUpdate({ target: featureFlagClients.project_id, set: values })
    await auditFlags(ctx, tx, subject, 'feature_flag_token_reset', {})
  })
}

/** A credential of a program that asks for flags. */
export interface FlagClient {
  project: number
  /** The token. */
  instance: string | undefined
}

const selectClient = statement('project of a client of feature flags', (db) =>
  db
    .select({ project_id: featureFlagClients.project_id })
    .from(featureFlagClients)
    .innerJoin(projects, eq(projects.id, featureFlagClients.project_id))
    .where(
      and(
        eq(featureFlagClients.project_id, sql.placeholder('project')),
        eq(featureFlagClients.digest, sql.placeholder('digest')),
        isNull(projects.marked_for_deletion_at),
      ),
    ),
)

/** Admits a program with the token of the project, else 401 (FF-10). */
export async function checkFlagClient(ctx: Context, { project, instance }: FlagClient): Promise<void> {
  const [found] = instance ? await selectClient(ctx.db, null).execute({ project, digest: digestOf(instance) }) : []
  if (found) return
  if (instance) await countBadToken(ctx, ctx.origin?.address ?? '')
  throw unauthenticated()
}

/** A flag as clients get it: with the strategies of their environment. */
export interface ClientFlag {
  name: string
  description: string | null
  active: boolean
  strategies: { name: string; parameters: Record<string, string> }[]
}

const selectForClient = statement('feature flags for a client', (db) =>
  db
    .select({
      flag: featureFlags,
      strategy: featureFlagStrategies,
      user_xids: featureFlagUserLists.user_xids,
      scopes: sql<string[]>`array(select c.environment_scope from ${featureFlagScopes} c where c.strategy_id = ${featureFlagStrategies.id})`,
    })
    .from(featureFlags)
    .innerJoin(featureFlagStrategies, eq(featureFlagStrategies.feature_flag_id, featureFlags.id))
    .leftJoin(featureFlagUserLists, eq(featureFlagUserLists.id, featureFlagStrategies.user_list_id))
    .where(eq(featureFlags.project_id, sql.placeholder('project')))
    .orderBy(asc(featureFlags.id), asc(featureFlagStrategies.id)),
)

/** The flags of a project that have a strategy for an environment, the oldest first (FF-11). */
export async function flagsForClient(ctx: Context, project: number, environment: string): Promise<ClientFlag[]> {
  const flags = new Map<number, ClientFlag>()
  for (const { flag, strategy, user_xids, scopes } of await selectForClient(ctx.db, null).execute({ project })) {
    if (!scopes.some((environment_scope) => isInScope({ environment_scope }, environment))) continue
    const { name, description, active } = flag
    const known = flags.get(flag.id) ?? { name, description, active, strategies: [] }
    known.strategies.push(
      strategy.name === 'gitlabUserList'
        ? { name: 'userWithId', parameters: { userIds: user_xids ?? '' } }
        : { name: strategy.name, parameters: strategy.parameters },
    )
    flags.set(flag.id, known)
  }
  return [...flags.values()]
}
