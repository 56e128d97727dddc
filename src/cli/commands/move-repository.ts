import type { Command } from 'commander'
import { ConfigFault, readConfig } from '../../config.js'
import { withContext } from '../context.js'
import { print } from '../output.js'

export function moveCommand(program: Command): void {
  program
    .command('move-repository')
    .summary('move repositories to another storage')
    .description(
      'Move the repository and wiki of a project to another storage of STORAGES, while they are in use, and wait until it is done. Beside a running service or without it.',
    )
    .argument('<project>', 'the id or path of a project; with --all the storage whose projects are moved')
    .argument('<storage>', 'where to')
    .option('--all', 'move all projects of a storage')
    .action(moveRepositories)
}

async function moveRepositories(what: string, storage: string, { all }: { all?: boolean }): Promise<void> {
  const config = readConfig()
  for (const name of all ? [what, storage] : [storage])
    if (!Object.hasOwn(config.storages, name))
      throw new ConfigFault(`there is no storage called ${name}: STORAGES has ${Object.keys(config.storages).join(', ')}`)
  await withContext(config, async (ctx) => {
    const { moveOne, projectNamed, projectsIn } = await import('../storage-move.js')
    const ids = all ? await projectsIn(ctx, what) : [await projectNamed(ctx, what)]
    for (const id of ids) await moveOne(ctx, id, storage)
    if (all) await print(`${ids.length} projects were moved to ${storage}\n`)
  })
}
