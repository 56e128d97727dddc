import type { Context } from '../context.js'
import type { AnyJob } from '../jobs/kinds.js'
import { removeArtifacts } from '../services/ci/artifacts/store.js'
import { cancelChildren, mirrorPipeline, sweepBridges } from '../services/ci/bridges/mirror.js'
import { triggerPipeline } from '../services/ci/bridges/trigger.js'
import { archiveLogs } from '../services/ci/builds/archive-logs.js'
import { endStaleBuilds, returnLostBuilds, startDelayed } from '../services/ci/builds/sweeps.js'
import { pushPipelines } from '../services/ci/create.js'
import { stopDueEnvironments, stopRequestReviews, stopReviews } from '../services/ci/environments/stop.js'
import { requestPipeline } from '../services/ci/merge-requests/run.js'
import { assignFreeResources, assignResource } from '../services/ci/resource-groups/assign.js'
import { runDueSchedules, runSchedule } from '../services/ci/schedules/run.js'
import { wikiMaintenance } from '../services/content/wikis.js'
import { invitationMail } from '../services/groups/invitation-mail.js'
import { sendIntegrationMail } from '../services/hooks/integrations/mail.js'
import { deliverHook, dispatchHooks } from '../services/hooks/jobs.js'
import { credentialMail, wrongCodesMail } from '../services/identity/credential-mail.js'
import { accountMail } from '../services/identity/links/mail.js'
import { approvalMail, waitingMail } from '../services/identity/sign-in/sign-up-mail.js'
import { exportGroup } from '../services/imports/group-archives/export.js'
import { importGroupArchive } from '../services/imports/group-archives/import.js'
import { mergeChecks, promptMergeChecks } from '../services/issuables/merge-requests/merging/checks.js'
import { postMerge } from '../services/issuables/merge-requests/merging/post-merge.js'
import { rebase } from '../services/issuables/merge-requests/merging/rebase.js'
import { deferredMerges, dueMergeRequests } from '../services/issuables/merge-requests/merging/resume.js'
import { csvMail } from '../services/mail/csv.js'
import { dispatchMail, sendMail } from '../services/mail/jobs.js'
import { fetchMail } from '../services/mail/replies/fetch.js'
import { refusalMail } from '../services/mail/replies/refusal.js'
import { abuseMail } from '../services/operations/abuse-reports.js'
import { damageMail } from '../services/operations/damage-mail.js'
import { recoveryJobs } from '../services/operations/recovery.js'
import { removeBots, resumeRemoval } from '../services/operations/user-removal.js'
import { removePackageFiles } from '../services/packages/files.js'
import { exportProject, removeExports } from '../services/projects/archives/export.js'
import { importArchive, removeArchives } from '../services/projects/archives/import.js'
import { importJob } from '../services/projects/import.js'
import { pullDueMirrors, pullMirror } from '../services/projects/mirrors/pull.js'
import { pushMirror } from '../services/projects/mirrors/push.js'
import { removeFiles } from '../services/projects/remove.js'
import { moveRepository, removeFormerRepositories } from '../services/projects/storage-moves.js'
import { templateJob } from '../services/projects/template.js'
import { expireTags } from '../services/registry/expiration.js'
import { removeUnusedBlobs } from '../services/registry/manifests.js'
import { maintenance } from '../services/repository/push/maintenance-job.js'

/** The kinds of jobs that this version runs; jobs of other kinds stay queued. */
export const kinds: AnyJob<Context>[] = [
  abuseMail,
  accountMail,
  invitationMail,
  csvMail,
  credentialMail,
  wrongCodesMail,
  waitingMail,
  approvalMail,
  postMerge,
  damageMail,
  deferredMerges,
  deliverHook,
  sendIntegrationMail,
  dueMergeRequests,
  resumeRemoval,
  removeBots,
  importJob,
  templateJob,
  exportProject,
  exportGroup,
  importGroupArchive,
  pushMirror,
  pullMirror,
  pullDueMirrors,
  removeExports,
  importArchive,
  removeArchives,
  mergeChecks,
  moveRepository,
  promptMergeChecks,
  pushPipelines,
  requestPipeline,
  removeArtifacts,
  removePackageFiles,
  removeUnusedBlobs,
  expireTags,
  archiveLogs,
  endStaleBuilds,
  returnLostBuilds,
  startDelayed,
  triggerPipeline,
  mirrorPipeline,
  cancelChildren,
  sweepBridges,
  assignResource,
  assignFreeResources,
  stopDueEnvironments,
  stopReviews,
  stopRequestReviews,
  runSchedule,
  runDueSchedules,
  rebase,
  removeFiles,
  removeFormerRepositories,
  sendMail,
  dispatchMail,
  fetchMail,
  refusalMail,
  dispatchHooks,
  maintenance,
  wikiMaintenance,
  ...recoveryJobs,
]
