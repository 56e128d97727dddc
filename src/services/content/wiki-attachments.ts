import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { refused, tooLarge } from '../../failures.js'
import { readSettings } from '../core/settings.js'
import { inlineType, safeName } from '../projects/uploads.js'
import { createWikiRepository } from '../repository/repositories.js'
import { commitToWiki } from './wikis.js'

/** A file that was committed to a wiki. */
export interface WikiAttachment {
  name: string
  path: string
  branch: string
  /** Whether Markdown embeds it in place of linking to it. */
  isShown: boolean
}

const MEBIBYTE = 1024 * 1024

/** Commits a file to the wiki of a project, in a folder of its own (WK-6). */
export async function attachToWiki(
  ctx: Context,
  { project }: ProjectSubject,
  caller: SignedIn,
  { file, branch }: { file: { filename: string; data: Buffer }; branch?: string | undefined },
): Promise<WikiAttachment> {
  const { max_attachment_size } = await readSettings(ctx)
  if (file.data.length > max_attachment_size * MEBIBYTE) throw tooLarge()
  const name = safeName(file.filename)
  const path = `uploads/${ctx.random.bytes('upload', 16).toString('hex')}/${name}`
  await createWikiRepository(ctx, project)
  const message = `Upload attachment ${name}`
  const used = await commitToWiki(ctx, project, caller, { message, branch, change: () => [{ action: 'create', path, content: file.data }] })
  if (used === null) throw refused('You can only create or edit files when you are on a branch')
  return { name, path, branch: used, isShown: inlineType(name) !== null }
}
