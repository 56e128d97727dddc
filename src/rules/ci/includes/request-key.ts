import type { IncludeRequest } from '../types.js'

/** Equal for equal requests. */
export const keyOf = (request: IncludeRequest): string => JSON.stringify(request)
