import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure } from '../../failures.js'
import { escapeHtml } from '../../lib/text/html.js'
import { latestPipeline } from './pipelines.js'

const COLOURS: Record<string, string> = { passed: '#1a7431', failed: '#b3261e', running: '#0b5cad', pending: '#875400' }
const COVERED = [
  [90, '#1a7431'],
  [75, '#557a00'],
  [0, '#b3261e'],
] as const
const GREY = '#586469'

/** A picture of the state or the coverage of the newest pipeline of a branch; `unknown` for who may not read it. */
export async function badgeOf(ctx: Context, subject: ProjectSubject, ref: string, kind: 'pipeline' | 'coverage'): Promise<string> {
  const mayRead = subject.can('read_pipeline') || (subject.project.public_jobs && subject.can('download_code'))
  const pipeline = mayRead ? await latestPipeline(ctx, subject, ref).catch(nullIfMissing) : null
  if (kind === 'coverage') {
    const coverage = pipeline?.coverage ?? null
    const colour = coverage === null ? GREY : (COVERED.find(([from]) => coverage >= from)?.[1] ?? GREY)
    return draw('coverage', coverage === null ? 'unknown' : `${coverage.toFixed(2)}%`, colour)
  }
  const state = pipeline ? (pipeline.status === 'success' ? 'passed' : pipeline.status) : 'unknown'
  return draw('pipeline', state, COLOURS[state] ?? GREY)
}

const nullIfMissing = (error: unknown) => {
  if (error instanceof Failure && error.kind === 'not_found') return null
  throw error
}

function draw(label: string, text: string, colour: string): string {
  const [left, right] = [label, text].map((each) => 7 * each.length + 12) as [number, number]
  const title = escapeHtml(`${label}: ${text}`)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${title}"><title>${title}</title>
<rect width="${left + right}" height="20" rx="4" fill="#3b4448"/><path d="M${left} 0h${right - 4}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H${left}z" fill="${colour}"/>
<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11"><text x="${left / 2}" y="14">${escapeHtml(label)}</text><text x="${left + right / 2}" y="14">${escapeHtml(text)}</text></g></svg>
`
}
