/**
 * Harmless irregularities in headers of old commits are accepted (SEC-151, SEC-152); everything else that `git fsck
 * --strict` reports is not (SEC-87). SEC-87 and SEC-154 contradict each other on unusual modes: git only warns about
 * them, and old public histories contain 100664, so they are accepted.
 */
const TOLERATED_MESSAGES = [
  'badDate',
  'badDateOverflow',
  'badEmail',
  'badTimezone',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
]

/** The git options that tolerate these, for incoming objects or for a check of existing ones. */
export const toleratedFsckConfig = (section: 'receive' | 'fetch' | 'fsck') =>
  TOLERATED_MESSAGES.flatMap((id) => ['-c', `${section === 'fsck' ? '' : `${section}.`}fsck.${id}=ignore`])
