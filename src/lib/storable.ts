/** Removes what Postgres cannot store in a text: NUL, and unpaired surrogates. */
export const storable = (text: string): string => Buffer.from(text.replaceAll('\0', '')).toString()

/** The same in all texts and keys of a value of JSON. */
export function storableJson<T>(value: T): T {
  if (typeof value === 'string') return storable(value) as T
  if (Array.isArray(value)) return value.map(storableJson) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [storable(key), storableJson(each)])) as T
}
