import { clearable, documentedWith, str } from './params.js'
import type { JsonSchema } from './wire.js'

/**
 * Texts that records validate, with a JSON schema for the reference and for the fields of pages; imported as
 * `documented`. The schema checks nothing: a title of 300 characters passes, and the record refuses it with the message
 * of the API. It is at least as permissive as the rule of the record.
 */

/** A text that is not blank. */
export const filled = (more: JsonSchema = {}) => documentedWith(str(), { pattern: '\\S', minLength: 1, ...more })

const MAX_TITLE = 255
export const title = () => filled({ maxLength: MAX_TITLE })
/** A short text, which may be blank. */
export const short = () => documentedWith(str(), { maxLength: MAX_TITLE })

/** What Git rejects in ref names (BR-15): some characters, and some parts. */
const REF_CHARACTERS = '[^\\u0000-\\u0020\\u007f~^:?*\\[\\\\]+'
const REF_PARTS = '(?![./])(?!.*(\\.\\.|@\\{|//|/\\.|\\.lock/|\\.lock$|[./]$))'
/** The name of an existing branch or tag. */
export const REF_NAME: JsonSchema = { type: 'string', pattern: `^${REF_PARTS}${REF_CHARACTERS}$` }

const MAX_REF = 244
/** The name of a new tag. */
export const newTag = () => documentedWith(str(), { pattern: `^(?!-|refs/)${REF_PARTS}${REF_CHARACTERS}$`, maxLength: MAX_REF })
/** The name of a new branch, which must not look like an object id or a special name of Git (BR-15, SEC-83). */
export const newBranch = () =>
  documentedWith(str(), {
    pattern: `^(?!-|refs/|@$|HEAD$|[0-9A-Fa-f]{40}([0-9A-Fa-f]{24})?$)${REF_PARTS}${REF_CHARACTERS}$`,
    maxLength: MAX_REF,
  })

const ENDINGS = '\\.[Gg][Ii][Tt]|\\.[Aa][Tt][Oo][Mm]'
const PATH_CHARACTERS = '[A-Za-z0-9_.][A-Za-z0-9_.-]*'
const MAX_NAME = 255
/** A username, or the path of a group (AC-17, GR-24). */
export const namespacePath = () => documentedWith(str(), { pattern: `^(?!.*(\\.|${ENDINGS})$)${PATH_CHARACTERS}$`, maxLength: MAX_NAME })
/** The path of a project, which may end in a dot (AC-18). */
export const projectPath = () => documentedWith(str(), { pattern: `^(?!\\.{1,2}$)(?!.*(${ENDINGS})$)${PATH_CHARACTERS}$`, maxLength: MAX_NAME })

/**
 * Not all programs that read schemas support character classes for letters, digits and emoji of all scripts, so these
 * patterns list the ASCII characters that are rejected.
 */
const NO_LETTER = '\\u0000-/:-@\\[-\\^`{-\\u007f'
const NOT_IN_NAMES = '\\u0000-\\u001f!-,/:-@\\[-\\^`{-\\u007f'
/** The name of a project (AC-19). */
export const projectName = () => documentedWith(str(), { pattern: `^[^${NO_LETTER}][^${NOT_IN_NAMES}]*$`, maxLength: MAX_NAME })
/** The name of a group (GR-27). */
export const groupName = () => documentedWith(str(), { pattern: `^(?=.*[^ ])[^${NOT_IN_NAMES}]+$`, maxLength: MAX_NAME })

/** An e-mail address as in U-23. */
export const email = () => documentedWith(str(), { format: 'email', pattern: '^\\s*[^\\s@]+@[^\\s@]+\\s*$', maxLength: 254 })

/** An address of the web. */
export const webUrl = () => documentedWith(str(), { format: 'uri', pattern: '^\\s*https?://[^\\s/\\\\?#@]+([/?#]\\S*)?\\s*$', maxLength: 2048 })

/** A password as in U-23. */
export const newPassword = () => documentedWith(str(), { minLength: 8, maxLength: 128 })

/** A public key line with the base64 of its type: exact for types of fixed size, otherwise only its beginning. */
const KEYS = [
  'ssh-ed25519[ \\t]+AAAAC3NzaC1lZDI1NTE5AAAAI[A-P][A-Za-z0-9+/]{42}',
  'ecdsa-sha2-nistp256[ \\t]+AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBB[A-P][A-Za-z0-9+/]{84}[AEIMQUYcgkosw048]=?',
  'ecdsa-sha2-nistp384[ \\t]+AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhB[A-P][A-Za-z0-9+/]{127}[AQgw](==)?',
  'ecdsa-sha2-nistp521[ \\t]+AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFB[A-P][A-Za-z0-9+/]{175}[AQgw](==)?',
  '(ssh-rsa[ \\t]+AAAAB3NzaC1yc2EAAAA|ssh-dss[ \\t]+AAAAB3NzaC1kc3MAAA|sk-[a-z0-9@.-]+[ \\t]+AAAA)[A-Za-z0-9+/]{60,}={0,2}',
]
const MAX_KEY = 5_000
/** An SSH key as `ssh-keygen` writes it into its `.pub` file (K-5 to K-10). */
export const sshKey = () => documentedWith(str(), { pattern: `^\\s*(${KEYS.join('|')})([ \\t].*)?\\s*$`, maxLength: MAX_KEY })

/** The title of a label, without commas (LB-3). */
export const labelTitle = () => documentedWith(str(), { pattern: '^\\s*[^,\\s]([^,]*)$', maxLength: MAX_NAME })
/** `#rgb`, `#rrggbb`, or the name of a colour in CSS (LB-3). */
export const color = () => documentedWith(str(), { pattern: '^\\s*(#[0-9A-Fa-f]{3}|#[0-9A-Fa-f]{6}|[A-Za-z]{3,20})\\s*$' })

const NO_CONTROLS = '[^\\u0000-\\u001f\\u007f-\\u009f]'
/** The title of a wiki page, which becomes the path of a file (WK-7). */
export const wikiTitle = () =>
  documentedWith(str(), {
    pattern: `^(?!.*[^/]//)(?!(.*[/\\\\])?(\\.{1,2}/|\\.\\.\\\\))${NO_CONTROLS}*[^/\\s\\u0000-\\u001f\\u007f-\\u009f]${NO_CONTROLS}*$`,
    maxLength: MAX_TITLE,
  })

/** The name and e-mail address of an author, which become part of a line in the commit (C-43, SEC-100). */
export const authorName = () => documentedWith(str(), { pattern: '^[^<>\\r\\n]*[^<>\\s][^<>\\r\\n]*$', maxLength: MAX_NAME })
export const authorEmail = () => documentedWith(str(), { format: 'email', pattern: '^\\s*[^\\s@<>]+@[^\\s@<>]+\\s*$', maxLength: 254 })

/** The URL of a link, which a browser may follow (SEC-64). */
export const webAddress = () =>
  documentedWith(str(), { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+([/?#]\\S*)?$', maxLength: 2_048 })
/** An absolute path of plain names (RL-3). */
export const filePath = () => documentedWith(str(), { pattern: '^((/[A-Za-z0-9_][A-Za-z0-9_.+-]*)+)?$', maxLength: MAX_NAME })

/** A URL that Git can clone (OT-10). */
export const importUrl = () =>
  documentedWith(str(), { format: 'uri', pattern: '^([Hh][Tt][Tt][Pp][Ss]?|[Gg][Ii][Tt])://[^/\\s]\\S*$', maxLength: 2_048 })
/** A URL that Git can push to, with a user and password if it asks for them (PM-2). */
export const mirrorUrl = () =>
  documentedWith(str(), { format: 'uri', pattern: '^([Hh][Tt][Tt][Pp][Ss]?)://[^/\\s?#]+(/[^\\s?#]*)?$', maxLength: 2_048 })
/** A branch name in which `*` stands for any text, or an empty text (HK-2). */
export const branchFilter = () => documentedWith(clearable(), { pattern: `^(${REF_PARTS}[^\\u0000-\\u0020\\u007f~^:?\\[\\\\]+)?$`, maxLength: 1_000 })
