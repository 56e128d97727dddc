const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const CHARACTERS = Object.fromEntries([...Object.entries(ENTITIES).map(([character, entity]) => [entity, character]), ['&#x27;', "'"]])

/** Escapes text for HTML. */
export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)

/** The text of what renderers and sanitisers have escaped. */
export const unescapeHtml = (text: string) => text.replace(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => CHARACTERS[entity] as string)
