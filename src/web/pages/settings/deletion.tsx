import { z } from 'zod'
import { invalidRecord } from '../../../failures.js'
import * as documented from '../../../http/documented.js'
import { bool, orDefault } from '../../../http/params.js'
import { formerPath } from '../../../rules/path.js'
import { Field, FormTag, Hidden, Submit } from '../../components/form.js'
import { fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import type { PageView } from '../../page.js'

interface ConfirmedProps {
  view: PageView
  action: string
  fullPath: string
  label: string
  /** Deletes at once what can be restored otherwise. */
  now?: boolean
}

export const confirmation = z.object({ full_path: orDefault(documented.filled(), ''), permanently_remove: orDefault(bool(), false) })

/** A button that deletes a project or group, which its path must be typed for. */
export const Confirmed = ({ view, action, fullPath, label, now }: ConfirmedProps) => {
  const f = fieldsOf(view, confirmation)
  return (
    <FormTag view={view} action={action} method="DELETE">
      {now && <Hidden {...f.permanently_remove} value="true" />}
      <Field
        {...f.full_path}
        label={t('Confirm with the path')}
        hint={<Phrase text="Type {fullPath}." fullPath={<code>{fullPath}</code>} />}
        autocomplete="off"
      />
      <Submit label={label} class="danger" />
    </FormTag>
  )
}

/** Refuses another path than that of what is to be deleted. */
export function checkTyped(given: string, fullPath: string): void {
  if (given.trim() !== fullPath && given.trim() !== formerPath(fullPath)) throw invalidRecord({ full_path: [t('is another one')] })
}
