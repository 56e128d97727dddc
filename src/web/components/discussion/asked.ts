import type { ParameterBag } from '../../../http/form.js'
import type { PageView } from '../../page.js'
import type { DiscussionParts } from './shown.js'

type Asked = { name: 'edit_note' | 'edit_draft' | 'react' | 'reply'; of: number | string }

/** The page with one of the forms that stand on it only when they are asked for (WB-340); null: without them. */
export function pageWith({ view, at, back }: Pick<DiscussionParts, 'at' | 'back'> & { view: PageView }, form: Asked | null): string {
  // a form that was refused has the address that it was sent to
  const [path = '', query = ''] = (back ?? (view.submitted ? at : view.address)).split('?', 2)
  const parameters = new URLSearchParams(query)
  for (const each of ['edit_note', 'edit_draft', 'react', 'reply']) parameters.delete(each)
  const number = view.submitted?.values['page']
  if (typeof number === 'string') parameters.set('page', number)
  if (form) parameters.set(form.name, String(form.of))
  return `${view.links.prefix}${path}${parameters.size > 0 ? `?${parameters}` : ''}`
}

/** Whether it was this form that was refused: many forms of a page have fields of the same name. */
export const wasSent = ({ submitted }: PageView, isThis: (values: ParameterBag) => boolean) => submitted !== null && isThis(submitted.values)

export const unsent = (view: PageView): PageView => ({ ...view, submitted: null })
