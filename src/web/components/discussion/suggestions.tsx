import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import type { PageView } from '../../page.js'
import { PagePart } from '../../page-part.js'
import { ActionButton, FormTag, Hidden, Submit, TextField } from '../form.js'
import { Badge } from '../list.js'
import { HiddenNotice, Rendered } from '../markup.js'
import { selectedSuggestions } from './fields.js'
import type { DiscussionParts, ShownSuggestion, SuggestedLines } from './shown.js'

export function SuggestionBox({
  view,
  at,
  back,
  mayApply,
  shown: { suggestion, rows, hidden },
}: DiscussionParts & { view: PageView; shown: ShownSuggestion }) {
  const applied = suggestion.applied_at !== null
  return (
    <div class="box suggestion">
      <div class="head dim">
        <span class="grow">{t('Suggested change')}</span>
        {applied && <Badge kind="success">{t('applied')}</Badge>}
        {!applied && mayApply && (
          <>
            <div class="check">
              <input
                type="checkbox"
                form="suggestions"
                id={`suggestion_${suggestion.id}`}
                name={fieldsOf(view, selectedSuggestions).ids.name}
                value={suggestion.id}
              />
              <label for={`suggestion_${suggestion.id}`}>{t('Select')}</label>
            </div>
            <ActionButton
              view={view}
              action={`${at}/suggestions`}
              label={t('Apply suggestion')}
              fields={{ 'ids[]': String(suggestion.id), ...(back && { back }) }}
            />
          </>
        )}
      </div>
      <Lines rows={rows} hidden={hidden} />
    </div>
  )
}

const Lines = ({ rows, hidden }: SuggestedLines) => (
  <div class="diff">
    {hidden && <HiddenNotice of={t('This suggestion')} />}
    <PagePart>
      <Rendered class="lines" rows={rows} />
    </PagePart>
  </div>
)

/** What a draft suggests: nobody can apply it yet. */
export const DraftSuggestion = (lines: SuggestedLines) => (
  <div class="box suggestion">
    <div class="head dim">{t('Suggested change')}</div>
    <Lines {...lines} />
  </div>
)

/** The form that applies the suggestions which are selected on the page, as one commit. */
export function SelectedSuggestions({ view, at, back, mayApply, suggestions }: DiscussionParts & { view: PageView }) {
  const open = [...suggestions.values()].flat().filter(({ suggestion }) => suggestion.applied_at === null)
  if (!mayApply || open.length < 2) return null
  const f = fieldsOf(view, selectedSuggestions)
  return (
    <FormTag view={view} action={`${at}/suggestions`} attributes={{ id: 'suggestions' }}>
      {back && <Hidden {...f.back} value={back} />}
      <details>
        <summary>{t('Apply the selected suggestions as one commit')}</summary>
        <TextField {...f.commit_message} label={t('Commit message')} rows={2} hint={t('Empty: the template of the project.')} />
        <Submit label={t('Apply selected suggestions')} class="" />
      </details>
    </FormTag>
  )
}
