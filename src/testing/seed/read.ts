import { readFile } from 'node:fs/promises'
import { refused } from '../../failures.js'
import { StartFault } from '../../lib/start-fault.js'

/** The maximum number of YAML aliases: a few lines of nested aliases could expand to gigabytes. */
const MAX_ALIASES = 1_000

/** Parses YAML, which includes JSON. */
export async function parseSeed(text: string): Promise<unknown> {
  const { parse, YAMLParseError } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: MAX_ALIASES, prettyErrors: true })
  } catch (error) {
    if (error instanceof YAMLParseError || error instanceof ReferenceError) throw refused(error.message.split('\n', 1)[0] as string)
    throw error
  }
}

export const readSeedFile = async (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartFault(`cannot read ${path}: ${error.code ?? error.message}`)
  })
