import type { CompiledJob, Matrix, Variable } from './types.js'

/** One of the jobs that `parallel` makes of a job of the file. */
export interface Instance {
  name: string
  parallel: { index: number; total: number } | null
  matrix: Record<string, string> | null
}

/** The jobs of a pipeline that a job of the file becomes (CI-31). */
export function instancesOf({ name, parallel }: Pick<CompiledJob, 'name' | 'parallel'>): Instance[] {
  if (parallel === null) return [{ name, parallel: null, matrix: null }]
  if (typeof parallel === 'number')
    return Array.from({ length: parallel }, (_, at) => ({
      name: `${name} ${at + 1}/${parallel}`,
      parallel: { index: at + 1, total: parallel },
      matrix: null,
    }))
  const all = parallel.flatMap(combinationsOf)
  return all.map((matrix, at) => ({
    name: `${name}: [${Object.values(matrix).join(', ')}]`,
    parallel: { index: at + 1, total: all.length },
    matrix,
  }))
}

/** How many those are. */
export function countOf(parallel: CompiledJob['parallel']): number {
  if (parallel === null) return 1
  if (typeof parallel === 'number') return parallel
  return parallel.reduce((sum, each) => sum + Object.values(each).reduce((product, values) => product * values.length, 1), 0)
}

/** Every combination of values; those of the last variable change first. */
function combinationsOf(matrix: Matrix): Record<string, string>[] {
  return Object.entries(matrix).reduce<Record<string, string>[]>(
    (combinations, [key, values]) => combinations.flatMap((each) => values.map((value) => ({ ...each, [key]: value }))),
    [{}],
  )
}

/** Whether an instance is one of those that `needs: parallel: matrix` names. */
export function isAmong(instance: Record<string, string> | null, matrices: readonly Matrix[]): boolean {
  if (!instance) return false
  const keys = Object.keys(instance)
  return matrices.some((each) => {
    const named = Object.entries(each)
    return named.length === keys.length && named.every(([key, values]) => values.includes(instance[key] ?? '\0'))
  })
}

/** The variables that the runner's environment has of an instance. */
export const variablesOf = ({ parallel }: Instance): Variable[] => [
  { key: 'CI_NODE_TOTAL', value: String(parallel?.total ?? 1) },
  ...(parallel ? [{ key: 'CI_NODE_INDEX', value: String(parallel.index) }] : []),
]

const BLOCK = /\$\[\[\s{0,20}matrix\.([\w-]{1,255})\s{0,20}\]\]/g

/** A selection with `$[[ matrix.X ]]` replaced by the value that the needing job has itself; null if it has none. */
export function selectionFor(instance: Instance, matrices: readonly Matrix[]): Matrix[] | null {
  let isKnown = true
  const replace = (text: string) =>
    text.replace(BLOCK, (_, key: string) => {
      const value = instance.matrix && Object.hasOwn(instance.matrix, key) ? instance.matrix[key] : undefined
      isKnown &&= value !== undefined
      return value ?? ''
    })
  const replaced = matrices.map((each) => Object.fromEntries(Object.entries(each).map(([key, values]) => [key, values.map(replace)])))
  return isKnown ? replaced : null
}
