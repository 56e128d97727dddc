import { fullPathOf, onProjectSignedIn, type ProjectSubject } from '../../../../access/rules.js'
import { bool, orDefault } from '../../../../http/params.js'

/** What the pages of the settings of a project have in common. */
export const manage = onProjectSignedIn('manage_project')
export const titled = (title: string, { project }: ProjectSubject) => `${title} · ${fullPathOf(project)}`
/** A check box, of which nothing is sent if it is not checked. */
export const unchecked = () => orDefault(bool(), false)
