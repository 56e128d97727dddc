import { LongText } from '../page-part.js'

/**
 * The only place where markup that is not made of components of the page becomes part of it: what the Markdown renderer
 * and the highlighter made, which escape all texts, and components that were rendered before (WB-8).
 */

/** A rendered text. */
export const Prose = ({ html }: { html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the Markdown renderer, which escapes HTML
  <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />
)

/** A line of a program, with marks if its language is known. */
export const CodeCell = ({ id, line, html }: { id?: string; line: string; html: string | undefined }) =>
  html === undefined ? (
    <td class="code" id={id}>
      <LongText text={line} />
    </td>
  ) : (
    // biome-ignore lint/security/noDangerouslySetInnerHtml: made by the highlighter, which escapes HTML
    <td class="code" id={id} dangerouslySetInnerHTML={{ __html: html }} />
  )

/** A table of rows that were rendered before the page. */
export const Rendered = ({ rows, class: name }: { rows: string; class: string }) => (
  <table class={name}>
    {/* biome-ignore lint/security/noDangerouslySetInnerHtml: made by components, which escape texts */}
    <tbody dangerouslySetInnerHTML={{ __html: rows }} />
  </table>
)
