import { eq, sql } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { projectLanguages, projects } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import type { GitRepository, Oid } from '../../git/types.js'

/** Which language a file counts for, by its name: null for data, prose and unknown files. */
export interface LanguageTable {
  of(path: string): string | null
}

/**
 * Extensions that several languages share but that nearly always mean one, or a kind that is not counted. For all
 * others the language that lists it first counts.
 */
const USUAL: Record<string, string | null> = {
  '.as': 'ActionScript',
  '.asm': 'Assembly',
  '.bas': 'BASIC',
  '.cl': 'OpenCL',
  '.cls': 'TeX',
  '.cs': 'C#',
  '.d': 'D',
  '.es': 'JavaScript',
  '.ex': 'Elixir',
  '.f': 'Fortran',
  '.for': 'Fortran',
  '.frag': 'GLSL',
  '.fs': 'F#',
  '.g': 'GAP',
  '.gd': 'GDScript',
  '.gs': 'JavaScript',
  '.h': 'C',
  '.hh': 'C++',
  '.html': 'HTML',
  '.inc': 'PHP',
  '.j': 'Objective-J',
  '.jq': 'jq',
  '.l': 'Lex',
  '.lisp': 'Common Lisp',
  '.lsp': 'Common Lisp',
  '.m': 'Objective-C',
  '.m4': 'M4',
  '.md': null,
  '.ml': 'OCaml',
  '.mo': 'Modelica',
  '.nu': 'Nushell',
  '.php': 'PHP',
  '.pl': 'Perl',
  '.pm': 'Perl',
  '.pp': 'Puppet',
  '.pro': 'QMake',
  '.r': 'R',
  '.re': 'Reason',
  '.rs': 'Rust',
  '.s': 'Assembly',
  '.sc': 'Scala',
  '.scm': 'Scheme',
  '.spec': 'Python',
  '.sql': null,
  '.st': 'Smalltalk',
  '.t': 'Perl',
  '.tpl': 'Smarty',
  '.ts': 'TypeScript',
  '.v': 'Verilog',
}

/** Files that are not written in the project: vendored code, and generated files. */
const NOT_OWN = /(^|\/)(node_modules|bower_components|vendor|vendors|third[-_]?party|Godeps|\.yarn)\/|\.min\.(js|css)$|(^|\/)(dist|docs?)\//

interface Described {
  readonly name: string
  readonly type: string
  /** The language that it counts for. */
  readonly group?: string
  readonly extensions?: readonly string[]
  readonly filenames?: readonly string[]
}

let loading: Promise<LanguageTable> | undefined

/**
 * The table, built on first use from Linguist's data: programming and markup languages by file name, then by extension.
 */
export function languageTable(): Promise<LanguageTable> {
  loading ??= load()
  return loading
}

async function load(): Promise<LanguageTable> {
  const data: Readonly<Record<string, Described>> = await import('linguist-languages')
  const counted = Object.values(data).filter(({ type }) => type === 'programming' || type === 'markup')
  const byFilename = new Map<string, string>()
  const byExtension = new Map<string, string | null>()
  const add = (extension: string, name: string | null) => {
    if (!byExtension.has(extension)) byExtension.set(extension, name)
  }
  for (const [extension, name] of Object.entries(USUAL)) add(extension, name)
  for (const { name, group = name, extensions, filenames } of counted) {
    if (extensions?.[0]) add(extensions[0].toLowerCase(), group)
    for (const filename of filenames ?? []) if (!byFilename.has(filename)) byFilename.set(filename, group)
  }
  // extensions that come first in data and prose languages: `.json`, `.md`
  const others = new Set(
    Object.values(data)
      .filter((language) => !counted.includes(language))
      .flatMap(({ extensions }) => extensions?.slice(0, 1) ?? []),
  )
  for (const { name, group = name, extensions } of counted)
    for (const extension of extensions ?? []) if (!others.has(extension)) add(extension.toLowerCase(), group)
  return {
    of(path) {
      if (NOT_OWN.test(path)) return null
      const file = path.slice(path.lastIndexOf('/') + 1)
      const known = byFilename.get(file)
      if (known !== undefined) return known
      // the longest known extension: `.html.erb` before `.erb`
      for (let at = file.indexOf('.'); at >= 0; at = file.indexOf('.', at + 1)) {
        const found = byExtension.get(file.slice(at).toLowerCase())
        if (found !== undefined) return found
      }
      return null
    },
  }
}

/**
 * Counts the languages of the default branch and stores them with the project, unless they are stored for this very
 * commit (PU-7). Part of maintenance: no reader waits for it.
 */
export async function updateLanguages(ctx: Context, projectId: number, repository: GitRepository, head: Oid | null): Promise<void> {
  if (head === null) {
    await ctx.db.write.delete(projectLanguages).where(eq(projectLanguages.project_id, projectId))
    return
  }
  const [known] = await ctx.db.write
    .select({ commit: projectLanguages.commit })
    .from(projectLanguages)
    .where(eq(projectLanguages.project_id, projectId))
  if (known?.commit === head) return
  const table = await languageTable()
  const bytes = new Map<string, number>()
  const whole = await repository.fileSizes(head, (path, size) => {
    const language = size > 0 ? table.of(path) : null
    if (language !== null) bytes.set(language, (bytes.get(language) ?? 0) + size)
  })
  if (!whole) return
  const row = { commit: head, bytes: Object.fromEntries(bytes) }
  await ctx.db.write.execute(sql`insert into ${projectLanguages} (project_id, commit, bytes)
    select p.id, ${row.commit}, ${JSON.stringify(row.bytes)}::jsonb from ${projects} p where p.id = ${projectId}
    on conflict (project_id) do update set commit = excluded.commit, bytes = excluded.bytes`)
}

const kept = statement('languages of a project', (db) =>
  db
    .select({ bytes: projectLanguages.bytes })
    .from(projectLanguages)
    .where(eq(projectLanguages.project_id, sql.placeholder('project'))),
)

/** The languages with their percentage of the bytes, the largest first (PR-5). */
export async function languagesOf(ctx: Context, projectId: number): Promise<Record<string, number>> {
  const [row] = await kept(ctx.db, null).execute({ project: projectId })
  const counted = Object.entries(row?.bytes ?? {}).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  const total = counted.reduce((sum, [, bytes]) => sum + bytes, 0)
  return Object.fromEntries(counted.map(([name, bytes]) => [name, Math.round((bytes / total) * 10_000) / 100]))
}
