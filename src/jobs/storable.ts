/** A text without what Postgres cannot hold: NUL, and halves of surrogate pairs. */
export const storable = (text: string): string => Buffer.from(text.replaceAll('\0', '')).toString()
