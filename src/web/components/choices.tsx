import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Plain } from '../page.js'

export interface Choice {
  /** With the prefix of the service. */
  to: string
  text: ComponentChildren
  /** What is said beside it. */
  note?: string | undefined
  /** Where the reader is already. */
  current?: boolean
}

interface Group {
  label: string
  choices: Choice[]
}

const Groups = ({ groups, status }: { groups: Group[]; status: string }) => (
  <>
    {groups
      .filter(({ choices }) => choices.length > 0)
      .map(({ label, choices }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of a list box, not of fields
        <div key={label} role="group" aria-label={label}>
          {choices.map(({ to, text, note, current }) => (
            <a key={to} href={to} role="option" tabindex={-1} aria-selected="false" class={current ? 'here' : undefined}>
              <span class="grow">{text}</span>
              {note && <span class="dim">{note}</span>}
            </a>
          ))}
        </div>
      ))}
    <p>{status}</p>
  </>
)

/** What the script offers below a field while something is typed, in groups, with what is announced (WB-561). */
export const choicesAnswer = (groups: Group[], status: string) =>
  new Plain('text/html; charset=utf-8', renderToString(<Groups groups={groups} status={status} />))
