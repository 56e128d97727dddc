// What bounds the language (CI-40); docs/ci.md lists the same numbers.

/** Bytes of one file, and of all files of a configuration. */
export const MAX_FILE_BYTES = 1_048_576
export const MAX_ALL_BYTES = 4_194_304
/** Nesting of values, also of those that anchors and references put together. */
export const MAX_DEPTH = 100
/** What a configuration weighs with anchors, `extends` and references replaced: characters, and 8 for each value. */
export const MAX_WEIGHT = 8_388_608
/** Files that may be included, and rounds of questions for them: how deep they may be nested. */
export const MAX_INCLUDES = 100
export const MAX_INCLUDE_ROUNDS = 20
/** Milliseconds for all files. */
export const MAX_INCLUDE_TIME = 30_000
/** Nesting of `extends`, of `!reference`, and of lists in scripts and rules. */
export const MAX_NESTING = 10
export const MAX_JOB_NAME = 255
/** Jobs of one pipeline. */
export const MAX_JOBS = 2_000
/** Jobs that `parallel` makes of one. */
export const MAX_PARALLEL = 200
export const MAX_NEEDS = 50
export const MAX_EXTERNAL_NEEDS = 5
export const MAX_TAGS = 50
export const MAX_CACHES = 4
/** Files of `cache: key: files`. */
export const MAX_KEY_FILES = 10
/** Patterns of one `changes` or `exists`. */
export const MAX_PATTERNS = 50
/** Comparisons of paths and patterns for one condition: beyond it `changes` and `exists` hold. */
export const MAX_COMPARISONS = { changes: 50_000, exists: 10_000 }
/** Tokens of an expression. */
export const MAX_TOKENS = 100
/** Characters of a pattern, and of a text that it is looked for in. */
export const MAX_PATTERN = 1_000
export const MAX_TRIGGER_INCLUDES = 3
/** Seconds: a week, and a month. */
export const MAX_START_IN = 604_800
export const MAX_TIMEOUT = 2_592_000
/** Errors that are reported of one configuration. */
export const MAX_ERRORS = 100
