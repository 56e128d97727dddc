import { headingsIn } from '../../../lib/text/markdown-contents.js'
import { t } from '../../language/language.js'

/** Fewer headings are seen without one. */
const LEAST = 3
const MAX_LINKS = 200

/** The contents of a rendered text as a menu in the head of its file (WB-500). */
export function Outline({ html }: { html: string }) {
  const headings = headingsIn(html)
  if (headings.length < LEAST) return null
  const top = Math.min(...headings.map(({ level }) => level))
  return (
    <details class="menu end contents">
      <summary>{t('Contents')}</summary>
      <nav class="items" aria-label={t('Contents')}>
        {headings.slice(0, MAX_LINKS).map(({ level, id, text }) => (
          <a key={id} href={`#${id}`} data-level={level - top + 1}>
            {text}
          </a>
        ))}
      </nav>
    </details>
  )
}
