import type { IssueSubject } from '../../../../access/issues.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import { homeOfProject } from '../../../links.js'

export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/issues`
export const addressOf = (subject: IssueSubject) => `${within(subject)}/${subject.issue.iid}`
