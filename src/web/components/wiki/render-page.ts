import type { Caller } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { linksOfReferences } from '../../../services/markdown/references.js'
import { settledSurroundings, withSurroundings } from '../../../services/markdown/relative.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'

export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/wikis`

/** A page, or what is rendered as one. */
export interface ShownPage {
  slug: string
  text: string
  version?: string | undefined
}

/** Renders a page: relative links lead to other pages, pictures are files of the wiki (WB-131). */
export async function renderWikiPage(ctx: Context, caller: Caller, subject: ProjectSubject, { slug, text, version }: ShownPage): Promise<string> {
  const base = ctx.links.prefix + within(subject)
  const html = await ctx.cpu.markdown.html(text, await linksOfReferences(ctx, { caller, project: subject }, text), { isWiki: true, hasMath: true })
  const settled = await settledSurroundings(ctx)
  const page = (path: string) => `${base}/${inUrl(path.replace(/\.(?:md|markdown)$/i, ''))}`
  const file = (path: string) => `${base}/raw/${inUrl(path)}${version === undefined ? '' : `?version_id=${encodeURIComponent(version)}`}`
  const placed = await withSurroundings(ctx.cpu, html, { folder: slug.split('/').slice(0, -1).join('/'), page, file, ...settled })
  return placed.replace(/ (src|srcset|href)="\/uploads\/(?=[0-9a-f]{32}\/)/g, ` $1="${projectLinks(ctx, fullPathOf(subject.project)).home}/uploads/`)
}
