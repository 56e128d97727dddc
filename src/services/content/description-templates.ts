import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { nullOnFailure } from '../../failures.js'
import { readFile } from '../repository/files.js'
import { listTree } from '../repository/tree.js'

const MAX_TEMPLATES = 100
const FOLDERS = { issues: '.gitlab/issue_templates', merge_requests: '.gitlab/merge_request_templates' }
export type DescriptionKind = keyof typeof FOLDERS

/** The names of a project's templates for descriptions, which are files of its default branch. */
export async function listDescriptionTemplates(ctx: Context, subject: ProjectSubject, kind: DescriptionKind): Promise<string[]> {
  if (!subject.can('download_code') || subject.project.empty_repo) return []
  const found = await nullOnFailure(listTree(ctx, subject, { path: FOLDERS[kind], recursive: false, page: 1, per_page: MAX_TEMPLATES }))
  return (found?.items ?? []).flatMap(({ type, name }) => (type === 'blob' && name.endsWith('.md') ? [name.slice(0, -3)] : []))
}

/** Null: there is none, or it is not for the caller. */
export async function findDescriptionTemplate(ctx: Context, subject: ProjectSubject, kind: DescriptionKind, name: string): Promise<string | null> {
  if (name === '' || name.includes('/') || !subject.can('download_code')) return null
  const file = await nullOnFailure(readFile(ctx, subject, `${FOLDERS[kind]}/${name}.md`, subject.project.default_branch))
  return file?.content.toString('utf8') ?? null
}
