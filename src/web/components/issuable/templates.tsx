import type { ComponentChildren } from 'preact'
import type { ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { nullOnFailure } from '../../../failures.js'
import { readFile } from '../../../services/repository/files.js'
import { listTree } from '../../../services/repository/tree.js'
import { Options } from '../form.js'

const MAX_TEMPLATES = 100
const FOLDERS = { issue: '.gitlab/issue_templates', merge_request: '.gitlab/merge_request_templates' }
type Kind = keyof typeof FOLDERS

/** The names of the templates on the default branch. */
export async function templatesOf(ctx: Context, subject: ProjectSubject, kind: Kind): Promise<string[]> {
  if (!subject.can('download_code') || subject.project.empty_repo) return []
  const found = await nullOnFailure(listTree(ctx, subject, { path: FOLDERS[kind], recursive: false, page: 1, per_page: MAX_TEMPLATES }))
  return (found?.items ?? []).flatMap(({ type, name }) => (type === 'blob' && name.endsWith('.md') ? [name.slice(0, -3)] : []))
}

export async function templateNamed(ctx: Context, subject: ProjectSubject, kind: Kind, name: string): Promise<string | undefined> {
  if (name === '' || name.includes('/') || !subject.can('download_code')) return undefined
  const file = await nullOnFailure(readFile(ctx, subject, `${FOLDERS[kind]}/${name}.md`, subject.project.default_branch))
  return file?.content.toString('utf8')
}

/** The choice of a template, with the other parameters of the page. */
export const TemplateForm = ({
  action,
  names,
  chosen,
  children,
}: {
  action: string
  names: string[]
  chosen: string
  children?: ComponentChildren
}) =>
  names.length > 0 && (
    <form method="get" action={action} class="search">
      {children}
      <select name="issuable_template" aria-label="Template">
        <option value="">No template</option>
        <Options choices={names.map((name) => ({ value: name, label: name }))} chosen={chosen} />
      </select>
      <button type="submit">Use template</button>
    </form>
  )
