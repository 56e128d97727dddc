import { readXml } from './xml.js'

/** Lines of one report that are kept. */
const MAX_LINES = 300_000

/** How often lines ran, by path: pairs of a line and its hits. */
export type LineHits = Record<string, [number, number][]>

/**
 * How often lines ran by a report of Cobertura (CI-253), under the name that each file has there, and below the folders of
 * `sources` where these are in the project, whose name ends the path of the folder where the job ran.
 */
export function readCobertura(files: readonly string[], project: string): LineHits {
  const found = new Map<string, Map<number, number>>()
  let left = MAX_LINES
  for (const file of files) {
    const sources: string[] = []
    let inSource = false
    let lines: Map<number, number>[] = []
    readXml(file, {
      open(name, attributes) {
        inSource = name === 'source'
        if (name === 'class') lines = pathsOf(attributes['filename'] ?? '', sources, project).map((path) => linesOf(found, path))
        if (name !== 'line' || lines.length === 0) return
        const [number, hits] = [Number(attributes['number']), Number(attributes['hits'])]
        if (!Number.isSafeInteger(number) || !Number.isSafeInteger(hits)) return
        left -= lines.length
        if (left < 0) throw new Error(`the report has more than ${MAX_LINES} lines`)
        for (const each of lines) each.set(number, (each.get(number) ?? 0) + hits)
      },
      text(text) {
        if (inSource && sources.length < 100) sources.push(text.trim())
      },
      close(name) {
        if (name === 'source') inSource = false
        if (name === 'class') lines = []
      },
    })
  }
  return Object.fromEntries([...found].map(([path, hits]) => [path, [...hits]]))
}

function linesOf(found: Map<string, Map<number, number>>, path: string): Map<number, number> {
  const lines = found.get(path) ?? new Map<number, number>()
  found.set(path, lines)
  return lines
}

const clean = (path: string) => path.replace(/^(?:\.?\/)+/, '').replace(/\/+/g, '/')

function pathsOf(filename: string, sources: readonly string[], project: string): string[] {
  if (filename === '') return []
  const below = (path: string) => {
    const at = path.lastIndexOf(`/${project}/`)
    return at < 0 ? null : path.slice(at + project.length + 2)
  }
  if (filename.startsWith('/')) return [below(filename) ?? clean(filename)]
  const folders = sources.flatMap((source) => (source.startsWith('/') ? (below(`${source}/`) ?? []) : source))
  return [...new Set([filename, ...folders.map((folder) => `${folder}/${filename}`)].map(clean))]
}
