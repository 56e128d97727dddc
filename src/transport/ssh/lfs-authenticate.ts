import type { Context } from '../../context.js'
import { readSettings } from '../../services/core/settings.js'
import { type LfsCredentials, type LfsOperation, lfsCredentials } from '../../services/repository/lfs/credentials.js'
import { servesLfs } from '../../services/repository/lfs/objects.js'
import { findRepository, type GitCaller, NO_DOWNLOAD, NO_PUSH, NOT_FOUND, noAccessOver } from '../admission.js'

/** A request of git-lfs over SSH for credentials to use over HTTP. */
export interface LfsCommand {
  path: string
  operation: LfsOperation
}

/** Credentials for the LFS routes of a project, or a refusal as text (GS-9). */
export async function lfsAuthenticate(ctx: Context, caller: GitCaller, { path, operation }: LfsCommand): Promise<LfsCredentials | string> {
  const { source } = caller
  if (!source) return NOT_FOUND.text
  const found = await findRepository(ctx, caller, path)
  if (!found) return NOT_FOUND.text
  const { subject, wiki } = found
  if ((await readSettings(ctx)).enabled_git_access_protocol === 'http') return noAccessOver('ssh')
  if (!subject.can('download_code')) return NO_DOWNLOAD
  if (operation === 'upload' && !(caller.writes && subject.can('push_code'))) return NO_PUSH
  if (wiki || !servesLfs(subject.project)) return 'Git LFS is not enabled for this project.'
  return lfsCredentials(ctx, { source }, subject.project, operation)
}
