import type { Run } from './run.js'

interface Named {
  key: string
  full_path: string
  name: string
}

/** The name of a group or project; if it is invalid here, its characters are replaced, which is reported. */
export async function usableName(
  run: Run,
  kind: 'group' | 'project',
  { key, full_path, name }: Named,
  faultsOf: (name: string) => string[],
): Promise<string> {
  const plain = name.replace(/[^\p{L}\p{N}\p{M}\p{Pd}_. -]/gu, '_').replace(/^[^\p{L}\p{N}_]/u, '_')
  const usable = [name, plain].find((each) => faultsOf(each).length === 0)
  if (usable === undefined) return name
  if (usable !== name)
    await run.ledger.reportLeftOut(`name of a ${kind}`, key, `${full_path}: ${name}`, 'has characters that are not allowed here: they are replaced')
  return usable
}
