import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import { fullPathOf, onProject, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import { notFound } from '../../../failures.js'
import type { Commit } from '../../../git/types.js'
import { bool, oneOf, opt, str } from '../../../http/params.js'
import { hasBytes, pathOfBytes } from '../../../lib/text/byte-path.js'
import { languageOf } from '../../../lib/text/highlight/highlighter.js'
import { isFeatureOn } from '../../../services/core/instance-features.js'
import { findUsersByAddress } from '../../../services/identity/user-ref.js'
import { isMarkdown } from '../../../services/markdown/relative.js'
import { IGNORED_REVISIONS, ignoredRevisions } from '../../../services/repository/blame.js'
import { sizeOfPointer } from '../../../services/repository/raw.js'
import { sizeText } from '../../components/facts.js'
import { Author, anyHidden, CopyButton, Lines, LineTable, PathLinks, shortId } from '../../components/files/code.js'
import { momentOf, titleOf } from '../../components/files/commit.js'
import { CsvTable } from '../../components/files/csv.js'
import { Icon } from '../../components/icon.js'
import { CodeCell, HiddenNotice, Prose } from '../../components/markup.js'
import { Time } from '../../components/time.js'
import { plural, t, text } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { type PageView, page, Redirect } from '../../page.js'
import { MAX_EDITED } from './committing.js'
import { FindFile, RefSwitch } from './finders.js'
import { Outline } from './outline.js'
import { renderFile } from './readme.js'
import { changesSoon, entryAt, type Place, placeOf, refreshed } from './revision.js'

/** Larger files, and those with more lines, are shown by their raw text alone. */
const MAX_BYTES = 1024 * 1024
const MAX_LINES = 20_000
const DRAWING = /\.svg$/i
const IMAGE = /\.(?:png|jpe?g|gif|webp|bmp|ico|avif)$/i

/** The content of a file as it can be shown. */
type Shown =
  | {
      kind: 'text'
      lines: string[]
      hidden: boolean
      marked?: string[] | null
      rich?: ComponentChildren
      outline?: ComponentChildren
      plain: boolean
    }
  | { kind: 'image' }
  | { kind: 'link'; to: string; target: string | null }
  | { kind: 'none'; why: string }

async function contentOf({ cpu }: Context, { repository, commit, path }: Place, entry: { oid: string; mode: string }, size: number): Promise<Shown> {
  if (entry.mode === '120000') {
    const to = pathOfBytes((await repository.blobStart(entry.oid, MAX_LINK)) ?? Buffer.alloc(0))
    const target = targetOf(path, to)
    return { kind: 'link', to, target: target !== null && (await repository.entry(commit.oid, target)) ? target : null }
  }
  if (IMAGE.test(path) || (DRAWING.test(path) && size > MAX_BYTES)) return { kind: 'image' }
  if (size > MAX_BYTES) return { kind: 'none', why: t('This file is too large to be shown ({size}).', { size: sizeText(size) }) }
  const content = await repository.blob(entry.oid)
  if (!content) throw notFound()
  const stored = sizeOfPointer(content)
  if (stored !== null) return { kind: 'none', why: t('This file is stored with Git LFS ({size}).', { size: sizeText(stored) }) }
  const { text, plain } = textOf(content)
  if (text === null) return { kind: 'none', why: t('This is a binary file ({size}).', { size: sizeText(size) }) }
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
  if (lines.at(-1) === '') lines.pop()
  return lines.length > MAX_LINES
    ? { kind: 'none', why: t('This file has too many lines to be shown ({count}).', { count: lines.length }) }
    : { kind: 'text', lines, plain, hidden: await cpu.slices.steps(() => anyHidden(lines)) }
}

/** A target of a symbolic link is a path. */
const MAX_LINK = 4_096

/** The text of a file in UTF-8, or in UTF-16 with its mark; null for any other bytes. Only plain UTF-8 can be edited. */
function textOf(content: Buffer): { text: string | null; plain: boolean } {
  const mark = content.subarray(0, 2).toString('latin1')
  if (mark === '\xff\xfe') return { text: new TextDecoder('utf-16le').decode(content), plain: false }
  if (mark === '\xfe\xff') return { text: new TextDecoder('utf-16be').decode(content), plain: false }
  if (content.subarray(0, 8_000).includes(0)) return { text: null, plain: false }
  const text = content.toString('utf8')
  return { text, plain: content.length <= MAX_EDITED && content.equals(Buffer.from(text)) }
}

/** Where a symbolic link leads within the repository; null if that is elsewhere. */
function targetOf(path: string, to: string): string | null {
  if (to.startsWith('/')) return null
  const parts = path.split('/').slice(0, -1)
  for (const part of to.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return null
    } else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.length > 0 ? parts.join('/') : null
}

const TABLE = /\.(?:csv|tsv)$/i

const markedLines = async (ctx: Context, { project }: ProjectSubject, path: string, text: string) =>
  (await isFeatureOn(ctx, 'code_highlighting', project)) ? ctx.cpu.highlighter.lines(text, languageOf(path)) : null

/** What is at the path of a page, and where else to look for a file. */
async function fileAt(ctx: Context, subject: ProjectSubject, view: PageView, path: string) {
  const place = await placeOf(ctx, subject, view, path)
  const entry = await entryAt(place)
  return { place, entry }
}

interface ToolbarProps {
  place: Place
  project: string
  /** Which of the views of the file is open. */
  current: 'Code' | 'Blame'
  isText: boolean
  children?: ComponentChildren
}

/** Where the file is, its views, and what can be done with it. */
const Toolbar = ({ place: { links, ref, path, ...place }, project, current, isText, children }: ToolbarProps) => (
  <div class="toolbar code-bar">
    <RefSwitch place={{ links, ref, path, ...place }} page="blob" />
    <PathLinks links={links} project={project} revision={ref} path={path} last="blob" />
    <span class="last line">
      <nav class="group" aria-label={t('Views of the file')}>
        {(
          [
            [text('Code'), links.blob(ref, path), true],
            [text('Blame'), links.blame(ref, path), isText],
            [text('History'), links.commits(ref, path), true],
          ] as const
        ).map(
          ([label, to, isShown]) =>
            isShown && (
              <a key={label} class="button" href={to} {...(label === current && { 'aria-current': 'page' })}>
                {t(label)}
              </a>
            ),
        )}
      </nav>
      <a class="button" href={links.raw(ref, path)}>
        {t('Raw')}
      </a>
      <FindFile place={{ links, ref }} />
      {children}
    </span>
  </div>
)

export const blobPage = page({
  at: 'P/-/blob/*',
  access: onProject('download_code'),
  input: z.object({ path: str(), viewer: opt(oneOf(['simple', 'rich', 'auxiliary'])), plain: opt(bool()) }),
  async show({ ctx, caller, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { links, ref, path, commit, repository } = place
    // the API prints the address of a README whether there is one or not
    if (path === 'README.md' && !(await repository.entry(commit.oid, path))) return new Redirect(links.tree(ref).slice(view.links.prefix.length))
    const entry = await entryAt(place)
    if (entry?.type !== 'blob') return new Redirect(links.tree(ref, path).slice(view.links.prefix.length))
    const size = (await repository.objectInfo(entry.oid))?.size ?? 0
    const [hasTable, hasDrawing] = [TABLE.test(path), DRAWING.test(path)]
    const hasRich = isMarkdown(path) || hasTable || hasDrawing
    const isRich = hasRich && input.viewer !== 'simple' && !input.plain
    const [shown, { changes, isComplete }] = await Promise.all([
      contentOf(ctx, place, entry, size),
      changesSoon(ctx, subject, commit.oid, path.split('/').slice(0, -1).join('/')),
    ])
    const change = changes.get(path)
    if (shown.kind === 'text') {
      const text = shown.lines.join('\n')
      if (isRich && hasTable) shown.rich = <CsvTable text={text} separator={/\.tsv$/i.test(path) ? '\t' : ','} />
      else if (isRich && hasDrawing) shown.rich = <Picture place={place} />
      else if (isRich) {
        const html = await renderFile(ctx, caller, subject, place, text)
        shown.rich = <Prose html={html} />
        shown.outline = <Outline html={html} />
      } else shown.marked = await markedLines(ctx, subject, path, text)
    }
    return {
      title: `${path} · ${fullPathOf(subject.project)}`,
      card: { text: subject.project.description },
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={path}>
          <Toolbar place={place} project={subject.project.path} current="Code" isText={shown.kind === 'text'}>
            {place.branch !== null && !hasBytes(path) && subject.can('push_code') && <ChangeMenu place={place} shown={shown} />}
          </Toolbar>
          <div class="box file">
            <div class="head">
              <span class="grow line" id="last-change" {...(change ? {} : refreshed(view, isComplete))}>
                {change && (
                  <>
                    <strong>{change.author.name}</strong>
                    <a href={links.commit(change.oid)} class="title cut">
                      {titleOf(change)}
                    </a>
                    <span class="dim">
                      <Time at={momentOf(change.committer)} />
                    </span>
                  </>
                )}
              </span>
              <span class="line dim">
                <span>
                  {shown.kind === 'text' && `${plural(shown.lines.length, '{count} line', '{count} lines')}, `}
                  {sizeText(size)}
                  {entry.mode === '100755' && t(', executable')}
                </span>
                {hasRich && shown.kind === 'text' && (
                  <a class="button" href={links.blob(ref, path) + (isRich ? '?plain=1' : '')}>
                    {isRich ? t('Source') : t('Rendered')}
                  </a>
                )}
                {shown.kind === 'text' && (
                  <>
                    <CopyButton label={t('Copy the file')} from={links.raw(ref, path)} />
                    <CopyLines />
                  </>
                )}
                {ref !== commit.oid && (
                  <a class="button ghost" href={links.blob(commit.oid, path)} data-key="y">
                    {t('Permalink')}
                  </a>
                )}
              </span>
              {shown.kind === 'text' && shown.outline}
            </div>
            <Content shown={shown} place={place} />
          </div>
        </ProjectLayout>
      ),
    }
  },
})

/** What can be done with a file on a branch. */
const ChangeMenu = ({ place: { links, ref, path }, shown }: { place: Place; shown: Shown }) => (
  <>
    {shown.kind === 'text' && shown.plain && (
      <a class="button" href={links.edit(ref, path)}>
        <Icon name="pencil" />
        {t('Edit')}
      </a>
    )}
    <details class="menu end">
      <summary class="button square" aria-label={t('Change this file')}>
        <Icon name="ellipsis" />
      </summary>
      <div class="items">
        {shown.kind !== 'link' && <a href={links.replace(ref, path)}>{t('Replace')}</a>}
        <a href={links.rename(ref, path)}>{t('Rename or move')}</a>
        <a href={links.remove(ref, path)} class="danger">
          {t('Delete')}
        </a>
      </div>
    </details>
  </>
)

/** Shown by the script while lines are chosen. */
const CopyLines = () => (
  <button type="button" class="copy" data-copy-lines hidden>
    {t('Copy lines')}
  </button>
)

const Picture = ({ place: { links, ref, path } }: { place: Place }) => (
  <p class="picture">
    <img src={links.raw(ref, path)} alt={path.split('/').at(-1)} loading="lazy" />
  </p>
)

function Content({ shown, place }: { shown: Shown; place: Place }) {
  const { links, ref, path } = place
  switch (shown.kind) {
    case 'text':
      if (shown.lines.length === 0) return <p class="empty">{t('This file is empty.')}</p>
      if (shown.rich !== undefined) return shown.rich
      return (
        <>
          {shown.hidden && <HiddenNotice of={t('This file')} />}
          <Lines lines={shown.lines} marked={shown.marked ?? null} />
        </>
      )
    case 'image':
      return <Picture place={place} />
    case 'link':
      return (
        <p class="note">
          <Phrase
            text="Symbolic link to {to}"
            to={shown.target === null ? <code>{shown.to}</code> : <a href={links.blob(ref, shown.target)}>{shown.to}</a>}
          />
        </p>
      )
    case 'none':
      return (
        <p class="note">
          {shown.why} <a href={links.raw(ref, path)}>{t('Open or download it.')}</a>
        </p>
      )
  }
}

export const blamePage = page({
  at: 'P/-/blame/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str(), ignore_revs: opt(bool()) }),
  async show({ ctx, subject, input, view }) {
    const { place, entry } = await fileAt(ctx, subject, view, input.path)
    const { links, ref, path, commit, repository } = place
    if (entry?.type !== 'blob') return new Redirect(links.tree(ref, path).slice(view.links.prefix.length))
    const size = (await repository.objectInfo(entry.oid))?.size ?? 0
    const shown = await contentOf(ctx, place, entry, size)
    if (shown.kind !== 'text') return new Redirect(links.blob(ref, path).slice(view.links.prefix.length))
    const marked = await markedLines(ctx, subject, path, shown.lines.join('\n'))
    const ignored = await ignoredRevisions(ctx, subject)
    const leavesOut = ignored !== null && input.ignore_revs !== false
    const { groups, truncated } = await repository.blame(commit.oid, path, { deadline: BLAME_MS, ...(leavesOut && { ignored }) })
    const blameOf = (revision: string, file: string, without = input.ignore_revs !== false) =>
      `${links.blame(revision, file)}${without ? '' : '?ignore_revs=false'}`
    const oids = [...new Set(groups.map(({ oid }) => oid))]
    const commits = new Map((await repository.commits(oids)).flatMap((one) => (one ? [[one.oid, one] as const] : [])))
    const users = await findUsersByAddress(
      ctx,
      [...commits.values()].map(({ author }) => author.email),
    )
    const starts = new Map(groups.map((group) => [group.start, group]))
    return {
      title: `${t('Blame of {path}', { path })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="code" heading={t('Blame of {path}', { path })}>
          <Toolbar place={place} project={subject.project.path} current="Blame" isText />
          <div class="box file">
            <p class="head">
              <span class="grow">
                {plural(shown.lines.length, '{count} line', '{count} lines')}, {sizeText(size)}
                {truncated && (
                  <span class="dim">
                    {' · '}
                    {t('not all lines: it took too long')}
                  </span>
                )}
                {ignored !== null && (
                  <span class="dim">
                    {' · '}
                    {leavesOut ? `${t('without the commits of')} ` : `${t('with the commits of')} `}
                    <a href={links.blob(subject.project.default_branch, IGNORED_REVISIONS)}>{IGNORED_REVISIONS}</a>
                    {' · '}
                    <a href={blameOf(ref, path, !leavesOut)}>{leavesOut ? t('Show them') : t('Leave them out')}</a>
                  </span>
                )}
              </span>
            </p>
            {shown.hidden && <HiddenNotice of={t('This file')} />}
            <LineTable
              lines={shown.lines}
              class="lines blame"
              row={(line, i) => {
                const group = starts.get(i + 1)
                const change = group && commits.get(group.oid)
                const previous = group?.previous
                return (
                  <tr id={`L${i + 1}`} key={i + 1} class={group ? 'first' : ''}>
                    {group && (
                      <td class={`by ${change ? ageOf(change, view.now) : ''}`} rowspan={group.count}>
                        {change && (
                          <div class="line">
                            <Author view={view} commit={change} users={users} />
                            <a href={links.commit(change.oid)} class="grow cut dim" title={`${change.author.name}: ${titleOf(change)}`}>
                              {titleOf(change)}
                            </a>
                            <span class="when dim">
                              <Time at={momentOf(change.author)} />
                            </span>
                            {previous && (
                              <a
                                href={blameOf(previous.oid, previous.path)}
                                class="before"
                                aria-label={t('Blame before {shortId}', { shortId: shortId(change.oid) })}
                              >
                                <Icon name="history" />
                              </a>
                            )}
                          </div>
                        )}
                      </td>
                    )}
                    {!group && truncated && !groups.some(({ start, count }) => i + 1 >= start && i + 1 < start + count) && <td class="by" />}
                    <td class="number">
                      <a href={`#L${i + 1}`}>{i + 1}</a>
                    </td>
                    <CodeCell line={line} html={marked?.[i]} isFirst={i === 0} />
                  </tr>
                )
              }}
            />
          </div>
        </ProjectLayout>
      ),
    }
  },
})

/** Days up to which a change is as young as its class says: the younger, the stronger the mark at its side. */
const AGES = [30, 180, 365, 3 * 365]

function ageOf({ author }: Commit, now: Date): string {
  const days = (now.getTime() / 1000 - author.seconds) / 86_400
  const age = AGES.findIndex((limit) => days < limit)
  return `age-${age < 0 ? AGES.length : age}`
}

/** Milliseconds that a blame may take; the lines found until then are shown. */
const BLAME_MS = 10_000
