import { actingAs } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { onlyRow } from '../../db/only-row.js'
import { snippets } from '../../db/schema/index.js'
import { VISIBILITY_LEVEL } from '../../rules/visibility.js'
import { importRelease } from '../content/releases.js'
import { importList, type Write } from './items.js'
import { importNotesOfPage } from './notes.js'
import { IMPORTER, type Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { ReleaseRecord, SnippetRecord } from './source/records.js'
import { personId } from './users.js'

/** Imports releases. Their tags must have been fetched. */
export async function importReleases(run: Run, scope: Scope, subject: ProjectSubject): Promise<void> {
  await importList(run, 'release', scope, (record) => prepareRelease(run, record, subject))
}

async function prepareRelease(run: Run, record: ReleaseRecord, subject: ProjectSubject): Promise<Write> {
  const { key: tag_name, name, description, milestones, links } = record
  const author = actingAs({ ...IMPORTER.user, id: await personId(run, record.author) })
  return async (_, ctx) => {
    const created_at = record.created_at ?? ctx.now()
    const released_at = record.released_at ?? created_at
    await importRelease(ctx, subject, author, { tag_name, name, description, milestones, links, created_at, released_at })
    return null
  }
}

/** Imports the snippets of a project with their notes, or a user's personal snippets. */
export async function importSnippets(run: Run, kind: 'snippet' | 'personal snippet', scope: Scope, projectId: number | null): Promise<void> {
  await importList(
    run,
    kind,
    scope,
    (record) => prepareSnippet(run, record, projectId === null ? null : scope, projectId),
    async (records) => {
      if (projectId !== null) await importNotesOfPage(run, { kind: 'snippet', type: 'Snippet', scope, projectId, readers: async () => [] }, records)
    },
  )
}

async function prepareSnippet(run: Run, record: SnippetRecord, scope: Scope | null, project_id: number | null): Promise<Write> {
  const { key, title, file_name, description, visibility, files } = record
  const { client, dialect, headers } = run.source
  const author_id = await personId(run, record.author)
  if (files > 1) await run.ledger.reportLeftOut('snippet file', key, title, `only the first of ${files} files is imported`)
  const path = dialect.snippetPath?.(scope, key) ?? ''
  const content = run.ledger.dry ? '' : (await client.text(path, headers)).text.replaceAll('\0', '\ufffd')
  return async (tx, ctx) => {
    const created_at = record.created_at ?? ctx.now()
    const values = { project_id, author_id, title, file_name, description, content, visibility: VISIBILITY_LEVEL[visibility] }
    const row = { ...values, created_at, updated_at: record.updated_at ?? created_at }
    return onlyRow(await tx.insert(snippets).values(row).returning({ id: snippets.id })).id
  }
}
