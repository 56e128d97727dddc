import type { Context } from '../../../context.js'
import type { GitRepository, Oid } from '../../../git/types.js'
import type { NoteRecord } from '../../../services/notes/list.js'
import type { NoteableSubject } from '../../../services/notes/noteables.js'
import { linesAt, type Suggested } from '../../../services/notes/suggestions.js'
import { repositoryOf } from '../../../services/repository/repositories.js'
import { countsOf, type DiffTable, haveHidden, type Line, linesOf, UnifiedRows } from './diff.js'
import { aColorBudget, type ColorBudget, colorsOf, type Side, textOfBlob } from './diff-colors.js'
import { aBudget, changedWords } from './diff-marks.js'
import { inSteps, shownKeyOf, weightOf } from './diff-tables.js'

type Project = NoteableSubject['project']
type Note = NoteRecord['note']

/** The rows of the lines that a thread was about when it began, which are kept: a page may show a hundred of them. */
export async function excerptRows(ctx: Context, project: Project, { excerpt, position }: Note, budget: ColorBudget): Promise<string> {
  if (!excerpt) return ''
  const { base_sha = null, head_sha = null, old_path = '', new_path = '' } = position ?? {}
  const repository = repositoryOf(ctx, project)
  const given = {
    key: shownKeyOf([project.id, excerpt, base_sha, head_sha, old_path, new_path]),
    lines: () => linesOf(excerpt).filter(({ kind }) => kind !== 'hunk'),
    old: sideAt(repository, base_sha, old_path),
    now: sideAt(repository, head_sha, new_path),
  }
  return (await keptTable(ctx, given, budget)).rows
}

/** The rows of a suggestion; null if the lines that it replaces cannot be read. */
export async function suggestionTable(
  ctx: Context,
  subject: NoteableSubject,
  { position }: Pick<Note, 'position'>,
  suggestion: Suggested,
  budget: ColorBudget,
): Promise<DiffTable> {
  const { content, lines_above, lines_below } = suggestion
  const isApplied = suggestion.applied_at !== null
  const { head_sha = null, new_path = '', new_line = null } = position ?? {}
  const from = Math.max(0, (new_line ?? 1) - 1 - lines_above)
  const key = shownKeyOf([subject.project.id, content, lines_above, lines_below, head_sha, new_path, new_line, isApplied])
  const kept = ctx.caches.diffTables.get(key)
  if (kept) return kept
  const before = await linesAt(ctx, subject, { position }, suggestion)
  const added = content === '' ? [] : content.replace(/\n$/, '').split('\n')
  const lines = [
    ...(before ?? []).map((text, i): Line => ({ kind: 'removed', old: from + i + 1, new: null, text })),
    ...added.map((text, i): Line => ({ kind: 'added', old: null, new: from + i + 1, text })),
  ]
  const file = sideAt(repositoryOf(ctx, subject.project), head_sha, new_path)
  const text = async () => (await file?.text())?.replaceAll('\r\n', '\n') ?? null
  const changed = async () => {
    const all = (await text())?.split('\n')
    return all ? [...all.slice(0, from), ...added, ...all.slice((new_line ?? 1) + lines_below)].join('\n') : null
  }
  const given = { key, lines: () => lines, old: file && { path: new_path, text }, now: file && { path: new_path, text: changed } }
  return keptTable(ctx, given, budget, before !== null || isApplied)
}

/** The most lines of the diff of a text that is being edited. */
const MAX_LINES = 20_000

/** The changes of a text that is not saved yet; null if they take too long to find, or are too many to be shown. */
export async function editTable(
  ctx: Context,
  repository: GitRepository,
  before: { path: string; text: string },
  after: { path: string; text: string },
): Promise<DiffTable | null> {
  const diff = await repository.diffTexts(Buffer.from(before.text), Buffer.from(after.text))
  if (diff === null || diff.split('\n', MAX_LINES + 1).length > MAX_LINES) return null
  const key = shownKeyOf([before.path, after.path, diff, before.text, after.text])
  const side = ({ path, text }: typeof before): Side => ({ path, text: async () => text.replaceAll('\r\n', '\n') })
  return keptTable(ctx, { key, lines: () => linesOf(diff), old: side(before), now: side(after) }, aColorBudget())
}

/** A side of a change that is in a commit. */
function sideAt(repository: GitRepository, commit: Oid | null, path: string): Side | null {
  if (commit === null) return null
  const text = async () => {
    const entry = await repository.entry(commit, path)
    return entry?.type === 'blob' ? textOfBlob(repository, entry.oid) : null
  }
  return { path, text }
}

interface Given {
  key: string
  lines: () => Line[]
  old: Side | null
  now: Side | null
}

async function keptTable(ctx: Context, given: Given, budget: ColorBudget, isKnown = true): Promise<DiffTable> {
  const kept = ctx.caches.diffTables.get(given.key)
  if (kept) return kept
  const { colors, isFinal } = await colorsOf(ctx, given, budget)
  const table = await ctx.cpu.slices.steps(function* () {
    const lines = given.lines()
    const words = yield* changedWords(lines, aBudget())
    const rows = yield* inSteps(lines, (part) => <UnifiedRows lines={part} words={words} colors={colors} />, weightOf({ words, colors }))
    return { ...countsOf(lines), rows, hidden: haveHidden(lines) }
  })
  if (isKnown && isFinal) ctx.caches.diffTables.set(given.key, table)
  return table
}
