import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { Context } from '../../../../context.js'
import type { Target } from '../../../activity/subscriptions.js'
import type { Page, Paging } from '../../../core/page.js'
import type { UserRefRecord } from '../../../identity/user-ref.js'
import { addTodo, participants, participantsOf, subscribeTo } from '../../participation.js'
import { ISSUABLE_PARAMETERS, PROJECT_PARAMETERS } from '../../readers.js'
import { loadMergeRequest } from '../reading/load.js'
import { requestReaders, requestsFeature } from '../reading/readers.js'

export const targetOf = ({ request: { id, project_id } }: MergeRequestSubject): Target => ({ type: 'MergeRequest', id, project_id })

/** Subscribes the caller to a merge request, or unsubscribes them; null when nothing changes (SB-2, SB-3). */
export const subscribeToMergeRequest = async (ctx: Context, caller: SignedIn, subject: MergeRequestSubject, subscribed: boolean) =>
  subscribeTo(ctx, caller, targetOf(subject), await loadMergeRequest(ctx, caller, subject, subject.request.id), subscribed)

/** Adds a todo on a merge request for the caller; null when they have a pending one (TD-1). */
export const addMergeRequestTodo = (ctx: Context, caller: SignedIn, subject: MergeRequestSubject) => addTodo(ctx, caller, targetOf(subject))

const selectParticipants = participants('MergeRequest', (candidates) => requestReaders(PROJECT_PARAMETERS, ISSUABLE_PARAMETERS, candidates))

/** The participants of a merge request: assignee, reviewer, authors of notes, author, mentioned users (MR-86). */
export const listParticipants = (ctx: Context, { project, request }: MergeRequestSubject, paging: Paging): Promise<Page<UserRefRecord>> =>
  participantsOf(ctx, selectParticipants, { ...project, feature: requestsFeature(project) }, request, paging)
