/** Odd headers of old commits, which do no harm, pass (SEC-151, SEC-152); all else `git fsck --strict` objects to does not (SEC-87). Odd modes are SEC-87 against SEC-154: Git itself only remarks on them, and old public histories hold 100664, so they pass. */
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

/** The settings for that, for what comes in or for a check of what is there. */
export const tolerated = (section: 'receive' | 'fetch' | 'fsck') =>
  TOLERATED.flatMap((id) => ['-c', `${section === 'fsck' ? '' : `${section}.`}fsck.${id}=ignore`])
