import { actingAs } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { onlyRow } from '../../db/only-row.js'
import { snippets } from '../../db/schema/index.js'
import { VISIBILITY_LEVEL } from '../../lib/visibility.js'
import { importRelease } from '../content/releases.js'
import { bringAll, type Write } from './bring.js'
import { bringNotesOfPage } from './notes.js'
import { personId } from './people.js'
import { IMPORTER, type Run } from './run.js'
import type { Scope } from './source/dialect.js'
import type { ReleaseRecord, SnippetRecord } from './source/records.js'

/** Brings the releases of tags that have come. */
export async function bringReleases(run: Run, scope: Scope, subject: ProjectSubject): Promise<void> {
  await bringAll(run, 'release', scope, (record) => newRelease(run, record, subject))
}

async function newRelease(run: Run, record: ReleaseRecord, subject: ProjectSubject): Promise<Write> {
  const { key: tag_name, name, description, milestones, links } = record
  const author = actingAs({ ...IMPORTER.user, id: await personId(run, record.author) })
  return async (_, ctx) => {
    const created_at = record.created_at ?? ctx.now()
    const released_at = record.released_at ?? created_at
    await importRelease(ctx, subject, author, { tag_name, name, description, milestones, links, created_at, released_at })
    return null
  }
}

/** Brings the snippets of a project and the notes on them, or the personal ones of a user. */
export async function bringSnippets(run: Run, kind: 'snippet' | 'personal snippet', scope: Scope, projectId: number | null): Promise<void> {
  await bringAll(
    run,
    kind,
    scope,
    (record) => newSnippet(run, record, projectId === null ? null : scope, projectId),
    async (records) => {
      if (projectId !== null) await bringNotesOfPage(run, { kind: 'snippet', type: 'Snippet', scope, projectId, readers: async () => [] }, records)
    },
  )
}

async function newSnippet(run: Run, record: SnippetRecord, scope: Scope | null, project_id: number | null): Promise<Write> {
  const { key, title, file_name, description, visibility, files } = record
  const { client, dialect, headers } = run.source
  const author_id = await personId(run, record.author)
  if (files > 1) await run.ledger.leftOut('snippet file', key, title, `only the first of ${files} files is brought`)
  const path = dialect.snippetPath?.(scope, key) ?? ''
  const content = run.ledger.dry ? '' : (await client.text(path, headers)).text.replaceAll('\0', '\ufffd')
  return async (tx, ctx) => {
    const created_at = record.created_at ?? ctx.now()
    const values = { project_id, author_id, title, file_name, description, content, visibility: VISIBILITY_LEVEL[visibility] }
    const row = { ...values, created_at, updated_at: record.updated_at ?? created_at }
    return onlyRow(await tx.insert(snippets).values(row).returning({ id: snippets.id })).id
  }
}
