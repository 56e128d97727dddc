/**
 * Odd headers of old commits, which do no harm, are accepted (SEC-151, SEC-152); everything else `git fsck --strict`
 * objects to is not (SEC-87). For odd modes SEC-87 contradicts SEC-154: Git itself only warns about them, and old
 * public histories contain 100664, so they are accepted.
 */
const TOLERATED = [
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

/** The settings for that, for incoming objects or for a check of existing ones. */
export const tolerated = (section: 'receive' | 'fetch' | 'fsck') =>
  TOLERATED.flatMap((id) => ['-c', `${section === 'fsck' ? '' : `${section}.`}fsck.${id}=ignore`])
