import type { Command } from 'commander'
import { print, printJson } from '../output.js'

export function versionCommand(program: Command, version: string): void {
  program
    .command('version')
    .summary('print the version')
    .description('Print the version.')
    .option('--json', 'as JSON, with the version of Node')
    .action(({ json }: { json?: boolean }) => (json ? printJson({ roost: version, node: process.versions.node }) : print(`${version}\n`)))
}
