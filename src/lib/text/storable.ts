/** Removes what Postgres cannot store in a text: NUL, and unpaired surrogates. */
export const storable = (text: string): string => Buffer.from(text.replaceAll('\0', '')).toString()
