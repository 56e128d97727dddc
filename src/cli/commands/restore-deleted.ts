import type { Command } from 'commander'
import { readConfig } from '../../config.js'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import { StartFault } from '../../lib/start-fault.js'
import type { Deleted } from '../../services/operations/deleted.js'
import { withContext } from '../context.js'
import { print, printJson, table } from '../output.js'

type Kind = 'project' | 'group'

export function projectCommands(program: Command): void {
  commandsFor(program, 'project')
}

export function groupCommands(program: Command): void {
  commandsFor(program, 'group')
}

function commandsFor(program: Command, kind: Kind): void {
  const command = program
    .command(kind)
    .summary(`list and restore deleted ${kind}s`)
    .description(`Deleted ${kind}s that wait for their removal, beside a running service or without one.`)
    .helpCommand(false)
  command
    .command('deleted')
    .description(`List the deleted ${kind}s that can be restored.`)
    .option('--json', 'one JSON object a line')
    .action(({ json }: { json?: boolean }) => list(kind, json))
  command
    .command('restore')
    .description(`Restore a deleted ${kind}.`)
    .argument(`<${kind}>`, 'its id, or the full path that it had')
    .action((named: string) => restore(kind, named))
}

/** Lists what can be restored (PR-30, GR-45). */
async function list(kind: Kind, json?: boolean): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const found = await deleted(ctx, kind)
    if (json) for (const one of found) await printJson(one)
    else
      await print(
        table(
          ['id', 'path', 'deleted', 'removed'],
          found.map(({ id, path, deleted_at, due_at }) => [id, path, deleted_at.toISOString(), due_at.toISOString()]),
        ),
      )
  })
}

/** Restores a project or group (PR-29, GR-45). */
async function restore(kind: Kind, named: string): Promise<void> {
  await withContext(readConfig(), async (ctx) => {
    const [[one, ...others], { restoreProject }, { restoreGroup }] = await Promise.all([
      deleted(ctx, kind, named),
      import('../../services/projects/deletion.js'),
      import('../../services/operations/group-deletion.js'),
    ])
    if (!one) throw notFound(kind === 'project' ? 'Deleted Project' : 'Deleted Group')
    if (others.length > 0)
      throw new StartFault(`several ${kind}s had this path: name one by its id: ${[one, ...others].map(({ id }) => id).join(', ')}`)
    await (kind === 'project' ? restoreProject(ctx, null, one.id) : restoreGroup(ctx, one.id))
    await print(`${kind} ${one.path} is restored\n`)
  })
}

async function deleted(ctx: Context, kind: Kind, named?: string): Promise<Deleted[]> {
  const { listDeleted } = await import('../../services/operations/deleted.js')
  const found: Deleted[] = []
  for await (const one of listDeleted(ctx, kind, named)) found.push(one)
  return found
}
