import { type MergeRequestSubject, onMergeRequest } from '../../../access/merge-requests.js'
import type { ProjectSubject } from '../../../access/rules.js'
import { homeOfProject } from '../../links.js'

/** The address of one merge request. */
export const AT = 'P/-/merge_requests/:merge_request_iid'
export const read = onMergeRequest('read_merge_request')

export const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/merge_requests`
export const addressOf = (subject: MergeRequestSubject) => `${within(subject)}/${subject.request.iid}`
