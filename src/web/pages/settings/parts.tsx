import { invalidRecord } from '../../../failures.js'
import { formerPath } from '../../../rules/path.js'
import { Field, FormTag, Submit } from '../../components/form.js'
import type { PageView } from '../../page.js'

interface ConfirmedProps {
  view: PageView
  action: string
  fullPath: string
  label: string
  /** Deletes at once what can be restored otherwise. */
  now?: boolean
}

/** A button that deletes a project or group, which its path must be typed for. */
export const Confirmed = ({ view, action, fullPath, label, now }: ConfirmedProps) => (
  <FormTag view={view} action={action} method="DELETE">
    {now && <input type="hidden" name="permanently_remove" value="true" />}
    <Field
      view={view}
      name="full_path"
      label="Confirm with the path"
      hint={
        <>
          Type <code>{fullPath}</code>.
        </>
      }
      autocomplete="off"
      required
    />
    <Submit label={label} class="danger" />
  </FormTag>
)

/** Refuses another path than that of what is to be deleted. */
export function checkTyped(given: string, fullPath: string): void {
  if (given.trim() !== fullPath && given.trim() !== formerPath(fullPath)) throw invalidRecord({ full_path: ['is another one'] })
}
