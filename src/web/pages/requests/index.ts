import type { Form, Page } from '../../page.js'
import { anotherReview, requestAttributes, requestTime } from './attribute-forms.js'
import { requestChangesPage } from './changes/show.js'
import { conflictsForm, conflictsPage } from './conflicts.js'
import { editMergeRequestPage, newMergeRequestForm, newMergeRequestPage, requestChange } from './create.js'
import { mergeRequestsPage, requestsChange, requestsExport } from './list.js'
import {
  mergeCancellation,
  requestApproval,
  requestMerge,
  requestPick,
  requestReady,
  requestRebase,
  requestRevert,
  requestTasks,
  requestUnapproval,
  sourceBranchRemoval,
  sourceBranchRestoration,
} from './merging.js'
import { requestPipelineForm, requestPipelinesPage } from './pipelines.js'
import {
  draftChange,
  draftRemoval,
  lineComment,
  requestNotes,
  reviewRemoval,
  reviewSending,
  suggestionsForm,
  threadPage,
  threadResolution,
  viewedMark,
} from './reviewing.js'
import { mergeRequestPage, mergeWidget, requestCommitsPage } from './show.js'

/** The pages and forms of this family; one that is exported and not listed fails a test. */
export const requests: readonly (Page | Form)[] = [
  requestChangesPage,
  conflictsPage,
  conflictsForm,
  newMergeRequestPage,
  newMergeRequestForm,
  editMergeRequestPage,
  requestChange,
  mergeRequestsPage,
  requestsChange,
  requestsExport,
  requestReady,
  requestMerge,
  mergeCancellation,
  requestRebase,
  requestApproval,
  requestUnapproval,
  requestTasks,
  sourceBranchRemoval,
  sourceBranchRestoration,
  requestRevert,
  requestPick,
  ...requestNotes,
  lineComment,
  threadPage,
  threadResolution,
  draftChange,
  draftRemoval,
  reviewRemoval,
  reviewSending,
  viewedMark,
  suggestionsForm,
  requestAttributes,
  requestTime,
  anotherReview,
  mergeRequestPage,
  mergeWidget,
  requestCommitsPage,
  requestPipelinesPage,
  requestPipelineForm,
]
