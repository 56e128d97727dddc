import { open, readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { readConfig } from '../../config.js'
import { StartFault } from '../../lib/start-fault.js'
import type { ImportReport } from '../../services/imports/import-server.js'
import { withContext } from '../context.js'
import { print, printJson, withProgress } from '../output.js'

interface Options {
  token?: string
  tokenStdin?: boolean
  from?: 'v4' | 'gitea' | 'gogs'
  group?: string[]
  project?: string[]
  into?: string
  users?: string
  dryRun?: boolean
  report?: string
  json?: boolean
  quiet?: boolean
}

const ABOUT = `Import users, groups, projects with repositories and wikis, issues, merge requests and more from a server with the v4 API, from Gitea or from Gogs. The service may be running. What is already imported is not changed, so the same command continues an import that ended early.`

const listOf = (path: string, before: string[] = []) => [...before, path]

export function importCommand(program: Command): void {
  program
    .command('import')
    .summary('import everything from another server')
    .description(ABOUT)
    .argument('<url>', 'the URL of the other server')
    .addOption(new Option('--token <token>', 'an access token of an administrator there').conflicts('tokenStdin'))
    .option('--token-stdin', 'read the token from standard input')
    .addOption(new Option('--from <kind>', 'the kind of server, if it is not detected').choices(['v4', 'gitea', 'gogs']))
    .option('--group <path>', 'only this group and everything below it; may be repeated', listOf)
    .option('--project <path>', 'only this project; may be repeated', listOf)
    .option('--into <group>', 'import top-level groups into this local group')
    .option('--users <file>', 'a file that maps users: a username there, = and a username here on each line')
    .option('--dry-run', 'read everything and write nothing')
    .option('--report <file>', 'write the report into this file as JSON as well')
    .option('--json', 'print the report as JSON')
    .option('--quiet', 'print neither a progress bar nor a report')
    .action(importFrom)
}

/** Database connections for writes: notes of several issues and merge requests are imported concurrently. */
const POOL_SIZE = 4

async function importFrom(url: string, options: Options): Promise<void> {
  const { from, group, project, into, dryRun, quiet, json } = options
  const [token, users] = await Promise.all([tokenOf(options), options.users === undefined ? undefined : readUserMap(options.users)])
  // opened first: an import takes hours, and as root this process becomes another user
  const file = options.report === undefined ? null : await openReport(options.report)
  await withContext(
    readConfig(),
    async (ctx) => {
      const { importServer } = await import('../../services/imports/import-server.js')
      const given = { url, token, from, groups: group, projects: project, into, users, dryRun }
      const report = await (quiet ? importServer(ctx, given) : withProgress('projects', (onProgress) => importServer(ctx, { ...given, onProgress })))
      await file?.writeFile(`${JSON.stringify(report, null, 2)}\n`)
      if (json) await printJson(report)
      else if (!quiet) await print(reportText(report))
      const faults = faultsOf(report, [...(project ?? []), ...(group ?? [])])
      for (const fault of faults) process.stderr.write(`roost: ${fault}\n`)
      if (faults.length > 0) process.exitCode = 1
    },
    { poolSize: POOL_SIZE },
  ).finally(() => file?.close())
}

const openReport = (path: string) =>
  open(path, 'w').catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`cannot write ${path} (${error.code})`)
  })

async function tokenOf({ token, tokenStdin }: Options): Promise<string> {
  const given = tokenStdin ? (await text(process.stdin)).trim() : token
  if (!given) throw new StartFault('a token is needed: --token or --token-stdin')
  return given
}

const MAX_LINES = 1_000_000

/** Maps lower-case source usernames to local usernames. Empty lines and lines that start with # are ignored. */
async function readUserMap(file: string): Promise<Map<string, string>> {
  const lines = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new StartFault(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  })
  const map = new Map<string, string>()
  for (const [at, line] of lines.split(/\r?\n/, MAX_LINES).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, there, here] = /^\s*([^\s=]+)\s*=\s*([^\s=]+)\s*$/.exec(line) ?? []
    if (there === undefined || here === undefined) throw new StartFault(`line ${at + 1} of ${file} does not look like: alice = alice.smith`)
    map.set(there.toLowerCase(), here)
  }
  return map
}

const NAMED_KINDS = new Set(['project', 'group', 'one project', 'one group'])

/** Why an import has failed; what is left out of a project is no failure, a named project or group is (SEC-260). */
function faultsOf({ fault, came, left_out }: ImportReport, named: string[]): string[] {
  if (fault !== null) return [`the import has stopped: ${fault}; run the same command again to continue`]
  const wanted = new Set(named.map((path) => path.toLowerCase()))
  const missing = left_out.filter(({ kind, name }) => NAMED_KINDS.has(kind) && wanted.has(name.toLowerCase()))
  if (missing.length > 0) return missing.map(({ name, reason }) => `${name} was not imported: ${reason}`)
  return Object.keys(came).length > 0 ? [] : ['nothing was imported: the other server shows nothing to this token']
}

/** Names that the report shows for each reason. */
const MAX_NAMES_PER_REASON = 5

function reportText({ url, from, dry_run, came, left_out, left_out_count, never }: ImportReport): string {
  const counts = Object.entries(came).map(([kind, count]) => `  ${String(count).padStart(8)}  ${kind}\n`)
  const groups = new Map<string, string[]>()
  for (const { kind, name, reason } of left_out) groups.set(`${kind}: ${reason}`, [...(groups.get(`${kind}: ${reason}`) ?? []), name])
  const left = [...groups].map(([why, names]) => {
    const more = names.length > MAX_NAMES_PER_REASON ? `, and ${names.length - MAX_NAMES_PER_REASON} more` : ''
    return `  ${why}\n    ${names.slice(0, MAX_NAMES_PER_REASON).join(', ')}${more}\n`
  })
  return [
    `${dry_run ? 'would be imported' : 'imported'} from ${url} (${from}):\n`,
    ...(counts.length > 0 ? counts : ['  nothing\n']),
    ...(left.length > 0 ? [`could not be imported (${left_out_count}):\n`, ...left] : []),
    'never imported:\n',
    ...never.map(({ kind, reason }) => `  ${kind}: ${reason}\n`),
  ].join('')
}
