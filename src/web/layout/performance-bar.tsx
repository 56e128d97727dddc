import type { CallDetails } from '../../lib/async/call-times.js'
import { t } from '../language/language.js'
import { Phrase } from '../language/phrase.js'

/** What a page has cost until it was rendered, in milliseconds. */
export interface CallCosts {
  ms: number
  git_ms: number
  database_ms: number
  details: CallDetails
}

const msText = (ms: number) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

/** The bar at the bottom of pages, for those who may see it (WB-200). */
export function PerformanceBar({ costs: { ms, git_ms, database_ms, details } }: { costs: CallCosts }) {
  const { git, database, hits, misses } = details
  return (
    <aside class="performance" aria-label={t('Performance of this page')}>
      <span>
        <Phrase text="{ms} in all" ms={<b>{msText(ms)}</b>} />
      </span>
      <Waits title={t('Postgres')} ms={database_ms} waits={database} one="statement" />
      <Waits title={t('Git')} ms={git_ms} waits={git} one="process" many="processes" />
      <span>
        <Phrase text="{hits} of {all} cached" hits={<b>{hits}</b>} all={hits + misses} />
      </span>
    </aside>
  )
}

interface WaitsProps {
  title: string
  ms: number
  waits: CallDetails['git']
  one: string
  many?: string
}

function Waits({ title, ms, waits: { count, first }, one, many = `${one}s` }: WaitsProps) {
  const text = (
    <>
      {title} <b>{msText(ms)}</b>, {count} {count === 1 ? one : many}
    </>
  )
  if (count === 0) return <span>{text}</span>
  return (
    <details>
      <summary>{text}</summary>
      <ol>
        {first.map(({ what, ms: took }, at) => (
          <li key={at}>
            <span class="took">{msText(took)}</span> <code>{what}</code>
          </li>
        ))}
      </ol>
      {count > first.length && (
        <p>
          <Phrase text="{count} more are not listed." count={count - first.length} />
        </p>
      )}
    </details>
  )
}
