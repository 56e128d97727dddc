const MAX = 2_147_483_647

/**
 * The number in a path parameter of an access rule; 0, which no row has, for a number too large to be an id (G-49);
 * null for text that is no number.
 */
export function pathNumber(text: string): number | null {
  if (!/^[+-]?\d{1,80}$/.test(text)) return null
  const number = Number(text)
  return number > 0 && number <= MAX ? number : 0
}
