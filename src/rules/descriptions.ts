/** Maximum lengths of descriptions, in characters (SEC-63); `MAX_DESCRIPTION` is that of all other nouns. */
export const MAX_DESCRIPTION = 1_000_000
export const MAX_PROJECT_DESCRIPTION = 2_000
export const MAX_GROUP_DESCRIPTION = 255
