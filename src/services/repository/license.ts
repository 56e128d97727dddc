import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { type License, licenseFile, licenseOfText } from '../../rules/licenses.js'
import { repositoryOf } from './repositories.js'

export interface ProjectLicense {
  license: License
  /** The file that holds it. */
  path: string
}

/** How much of the file is read; longer texts are recognised by their titles. */
const MAX_BYTES = 16_384

/**
 * The licence of a project, from the file in the root of the default branch (PR-60); null without one, or if the caller
 * may not read the code. What is read is cached by object id, so that a repeated call starts no git.
 */
export async function licenseOf(ctx: Context, { project, can }: ProjectSubject): Promise<ProjectLicense | null> {
  if (project.empty_repo || !can('download_code')) return null
  const repository = repositoryOf(ctx, project)
  const head = await repository.ref(`refs/heads/${project.default_branch}`)
  const files = head ? await repository.tree(head, '', { recursive: false }) : null
  const file = licenseFile((files ?? []).filter(({ type, mode }) => type === 'blob' && mode !== '120000'))
  const start = file && (await repository.blobStart(file.oid, MAX_BYTES))
  return start ? { license: licenseOfText(start.toString()), path: file.path } : null
}
