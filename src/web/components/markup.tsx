import { renderToString } from 'preact-render-to-string'
import { type HiddenCharacter, partsOfLine } from '../../lib/text/hidden-characters.js'
import { t } from '../language/language.js'
import { Phrase } from '../language/phrase.js'
import { LongText } from '../page-part.js'

/**
 * The only place where markup that is not made of components of the page becomes part of it: what the Markdown renderer
 * and the highlighter made, which escape all texts, and components that were rendered before (WB-8).
 */

/** A rendered text. */
export const Prose = ({ html }: { html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the Markdown renderer, which lets only a list of HTML through
  <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />
)

/** A character that is not seen itself; it is copied with the text around it, the code that is shown for it is not (WB-395). */
const Hidden = ({ char, code, name }: HiddenCharacter) => (
  <span class="hidden-character" role="img" title={`${code} ${name}`} data-code={code}>
    {char}
  </span>
)

/** The text of a line of a program, or of a part of it; `isFirst`: of a file. */
export function CodeText({ text, isFirst = false }: { text: string; isFirst?: boolean | undefined }) {
  const parts = partsOfLine(text, isFirst)
  if (parts.length === 1) return <LongText text={parts[0] as string} />
  return <>{parts.map((part, i) => (typeof part === 'string' ? <LongText key={i} text={part} /> : <Hidden key={i} {...part} />))}</>
}

/** A line of a program, with marks if its language is known. */
export const CodeCell = ({ id, line, html, isFirst }: { id?: string; line: string; html: string | undefined; isFirst: boolean }) =>
  html === undefined ? (
    <td class="code" id={id}>
      <CodeText text={line} isFirst={isFirst} />
    </td>
  ) : (
    // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the highlighter, which escapes HTML
    <td class="code" id={id} dangerouslySetInnerHTML={{ __html: withHidden(html, isFirst) }} />
  )

const withHidden = (html: string, isFirst: boolean) =>
  partsOfLine(html, isFirst)
    .map((part) => (typeof part === 'string' ? part : renderToString(<Hidden {...part} />)))
    .join('')

/** The text of a line of a log, with the classes of its colours. */
export const LogText = ({ html }: { html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the reader of terminal colours, which escapes HTML
  <span dangerouslySetInnerHTML={{ __html: html }} />
)

/** Above lines with hidden characters. */
export const HiddenNotice = ({ of }: { of: string }) => (
  <p class="note hidden-notice">
    <Phrase
      text="{strong} {of} has invisible characters, or such as change the direction of text: it may be read otherwise than it looks. Each is shown by its code."
      strong={<strong>{t('Hidden characters.')}</strong>}
      of={of}
    />
  </p>
)

/** A table of rows that were rendered before the page; `columns`: their classes, where the first row does not make them. */
export const Rendered = ({ rows, class: name, columns }: { rows: string; class: string; columns?: string[] }) => (
  <table class={name}>
    {columns && (
      <colgroup>
        {columns.map((column, i) => (
          <col key={i} {...(column && { class: column })} />
        ))}
      </colgroup>
    )}
    {/* biome-ignore lint/security/noDangerouslySetInnerHtml: made by components, which escape texts */}
    <tbody dangerouslySetInnerHTML={{ __html: rows }} />
  </table>
)
